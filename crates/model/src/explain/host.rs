//! What a worker's thread notes of its requests: the computer's parts, and the drive's between them.

use iogauge_core::{Direction, Nanos};

use super::book::{Ledger, Spent};
use super::part::Part;
use super::sums::Sums;

/// The ledgers of a thread's requests, and their sums.
#[derive(Debug)]
pub(crate) struct HostBook {
    /// By slot.
    ledgers: Box<[Spent]>,
    /// When the thread looked for completions last, for how long it was waking up or polling before that, and for how
    /// long its CPU left an idle state before it woke up.
    looks: Nanos,
    notice: Nanos,
    exit: Nanos,
    /// By direction.
    sums: [Sums; Direction::ALL.len()],
}

impl HostBook {
    /// Creates an empty book for a thread with at most `depth` requests in flight.
    pub(crate) fn new(depth: usize) -> Self {
        Self {
            ledgers: vec![Spent::since(0); depth].into(),
            looks: 0,
            notice: 0,
            exit: 0,
            sums: Default::default(),
        }
    }

    /// Notes that the call that began at `start` passes a request on at `now`. Without noise it takes `usual`.
    #[cold]
    pub(crate) fn submitted(&mut self, slot: u32, start: Nanos, now: Nanos, usual: Nanos) {
        let mut spent = Spent::since(start);
        spent.until(Part::Submit, (start + usual).min(now) as f64);
        spent.until(Part::Noise, now as f64);
        self.ledgers[slot as usize] = spent;
    }

    /// Notes what the request spent its time on in the drive, which returned it at `at`.
    #[cold]
    pub(crate) fn returned(&mut self, slot: u32, at: Nanos, inside: Option<Spent>) {
        let spent = &mut self.ledgers[slot as usize];
        if let Some(inside) = inside {
            spent.append(Part::Entry, &inside);
        }
        debug_assert_eq!(spent.noted_until(), at as f64);
    }

    /// Notes that the thread looks for completions at `now`, after its CPU left an idle state for `exit` and it woke up
    /// or polled for `notice`.
    #[cold]
    pub(crate) fn looks(&mut self, now: Nanos, exit: Nanos, notice: Nanos) {
        (self.looks, self.exit, self.notice) = (now, exit, notice);
    }

    /// Notes that the thread took a completion at `done`; counts it if it is `measured`.
    #[cold]
    pub(crate) fn done(&mut self, slot: u32, direction: Direction, done: Nanos, measured: bool) {
        let spent = &mut self.ledgers[slot as usize];
        let wakes = self.looks.saturating_sub(self.notice);
        spent.until(Part::Reap, wakes.saturating_sub(self.exit) as f64);
        spent.until(Part::IdleExit, wakes as f64);
        spent.until(Part::Notice, self.looks as f64);
        spent.until(Part::Noise, done as f64);
        debug_assert_eq!(spent.total(), done - spent.began());
        if measured {
            self.sums[direction as usize].add(spent);
        }
    }

    /// Returns the sums by direction.
    pub(crate) fn sums(&self) -> &[Sums; Direction::ALL.len()] {
        &self.sums
    }
}
