//! The events inside a drive, ordered by instant and, at one instant, by the order in which they were added.
//!
//! An event is packed into one word, so the heap moves three words for each and allocates none. Instants are not
//! negative, so they compare as their bits do. Writes arrive one after the other, so most of their events come in order
//! and need no heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The controller passes on the request in a slot.
    Command { slot: u32 },
    /// A die has read a page for the request in a slot: the bytes may go to the channel.
    Read { slot: u32, channel: u32, bytes: u32 },
    /// The controller has the bytes for the request in a slot: they may go to the link.
    Out { slot: u32, bytes: u32 },
    /// All data that a write needs has arrived.
    Arrived { slot: u32 },
    /// A die has finished an operation, unless reads delayed it.
    Die { die: u32 },
    /// The last write may be long enough ago for idle work.
    Idle,
}

const SLOT_BITS: u32 = 20;
const CHANNEL_BITS: u32 = 13;
const BYTES_BITS: u32 = 28;

/// Most requests in flight.
pub(super) const MOST_SLOTS: usize = 1 << SLOT_BITS;

impl Event {
    #[inline]
    fn pack(self) -> u64 {
        let word = |kind: u64, slot: u32, channel: u32, bytes: u32| {
            let upper = (u64::from(bytes) << CHANNEL_BITS | u64::from(channel)) << SLOT_BITS;
            (upper | u64::from(slot)) << 3 | kind
        };
        match self {
            Self::Command { slot } => word(0, slot, 0, 0),
            Self::Read {
                slot,
                channel,
                bytes,
            } => word(1, slot, channel, bytes),
            Self::Out { slot, bytes } => word(2, slot, 0, bytes),
            Self::Arrived { slot } => word(3, slot, 0, 0),
            Self::Die { die } => word(4, die, 0, 0),
            Self::Idle => word(5, 0, 0, 0),
        }
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        let field = |shift: u32, bits: u32| (word >> shift) as u32 & ((1 << bits) - 1);
        let slot = field(3, SLOT_BITS);
        let channel = field(3 + SLOT_BITS, CHANNEL_BITS);
        let bytes = field(3 + SLOT_BITS + CHANNEL_BITS, BYTES_BITS);
        match word & 7 {
            0 => Self::Command { slot },
            1 => Self::Read {
                slot,
                channel,
                bytes,
            },
            2 => Self::Out { slot, bytes },
            3 => Self::Arrived { slot },
            4 => Self::Die { die: slot },
            _ => Self::Idle,
        }
    }
}

/// The events, the earliest first.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Arrivals of writes that come in order: instants, numbers and slots.
    arrivals: VecDeque<(u64, u64, u32)>,
    /// The others: instants, numbers and packed events.
    heap: BinaryHeap<Reverse<(u64, u64, u64)>>,
    made: u64,
    /// The instant of the next event, as bits, and its number.
    next: (u64, u64),
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            arrivals: VecDeque::new(),
            heap: BinaryHeap::new(),
            made: 0,
            next: NEVER,
        }
    }
}

/// Later than every event.
const NEVER: (u64, u64) = (u64::MAX, u64::MAX);

impl Agenda {
    /// Adds `event` at `at`.
    #[inline]
    pub(super) fn push(&mut self, at: f64, event: Event) {
        debug_assert!(at >= 0.0);
        let at = at.to_bits();
        match event {
            Event::Arrived { slot } if self.arrivals.back().is_none_or(|last| last.0 <= at) => {
                self.arrivals.push_back((at, self.made, slot));
            }
            _ => self.heap.push(Reverse((at, self.made, event.pack()))),
        }
        if at < self.next.0 {
            self.next = (at, self.made);
        }
        self.made += 1;
    }

    /// Returns when the next event happens.
    #[inline]
    pub(super) fn next(&self) -> Option<f64> {
        (self.next != NEVER).then(|| f64::from_bits(self.next.0))
    }

    /// Takes the next event if it happens by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: f64) -> Option<(f64, Event)> {
        let (at, number) = self.next;
        if at > now.to_bits() {
            return None;
        }
        let event = match self.arrivals.front() {
            Some(&(_, made, slot)) if made == number => {
                self.arrivals.pop_front();
                Event::Arrived { slot }
            }
            _ => Event::unpack(self.heap.pop()?.0.2),
        };
        let arrival = self.arrivals.front().map_or(NEVER, |next| (next.0, next.1));
        let other = self.heap.peek().map_or(NEVER, |next| (next.0.0, next.0.1));
        self.next = arrival.min(other);
        Some((f64::from_bits(at), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_then_of_addition() {
        let events = [
            Event::Command { slot: 1_048_575 },
            Event::Read {
                slot: 7,
                channel: 4095,
                bytes: 1 << 20,
            },
            Event::Out {
                slot: 3,
                bytes: (1 << 28) - 1,
            },
            Event::Arrived { slot: 9 },
            Event::Die { die: 4095 },
            Event::Idle,
        ];
        let mut agenda = Agenda::default();
        events.iter().for_each(|&event| agenda.push(5.5, event));
        agenda.push(5.25, Event::Idle);
        agenda.push(5.25, Event::Arrived { slot: 1 });
        assert_eq!(agenda.take(5.0), None);
        assert_eq!(agenda.take(6.0), Some((5.25, Event::Idle)));
        assert_eq!(agenda.take(6.0), Some((5.25, Event::Arrived { slot: 1 })));
        for event in events {
            assert_eq!(agenda.take(6.0), Some((5.5, event)));
        }
        assert_eq!(agenda.next(), None);
    }
}
