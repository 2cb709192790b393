//! The events inside a drive, ordered by instant and, at one instant, by the order in which they were added.
//!
//! An event is packed into one word, so the heap moves three words for each and allocates none. Instants are not
//! negative, so they compare as their bits do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, u64)>>,
    made: u64,
}

impl Agenda {
    /// Adds `event` at `at`.
    #[inline]
    pub(super) fn push(&mut self, at: f64, event: Event) {
        debug_assert!(at >= 0.0);
        self.heap
            .push(Reverse((at.to_bits(), self.made, event.pack())));
        self.made += 1;
    }

    /// Returns when the next event happens.
    #[inline]
    pub(super) fn next(&self) -> Option<f64> {
        self.heap
            .peek()
            .map(|Reverse((at, ..))| f64::from_bits(*at))
    }

    /// Takes the next event if it happens by `now`.
    #[inline]
    pub(super) fn take(&mut self, now: f64) -> Option<(f64, Event)> {
        if self.next()? > now {
            return None;
        }
        let Reverse((at, _, word)) = self.heap.pop()?;
        Some((f64::from_bits(at), Event::unpack(word)))
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
        assert_eq!(agenda.take(5.0), None);
        assert_eq!(agenda.take(6.0), Some((5.25, Event::Idle)));
        for event in events {
            assert_eq!(agenda.take(6.0), Some((5.5, event)));
        }
        assert_eq!(agenda.next(), None);
    }
}
