//! Recent pauses of a server, so that a request that waits behind one knows for what.

use super::book::Ledger;
use super::part::Part;

/// Pauses that requests may still wait for, in the order of time.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// What the server does meanwhile.
    part: Part,
    recent: Vec<(f64, f64)>,
}

impl Pauses {
    /// Creates an empty list of pauses in which the server does `part`.
    pub(crate) fn of(part: Part) -> Self {
        Self {
            part,
            recent: Vec::new(),
        }
    }

    /// Adds a pause. Requests come at `now` or later.
    pub(crate) fn add(&mut self, now: f64, from: f64, until: f64) {
        self.recent.retain(|&(_, ended)| ended > now);
        self.recent.push((from, until));
    }

    /// Notes that a request waits for the server until `begins`: in `queue`, and in its pauses meanwhile.
    #[inline]
    pub(crate) fn wait(&self, queue: Part, begins: f64, spent: &mut impl Ledger) {
        for &(from, until) in &self.recent {
            spent.until(queue, from.min(begins));
            spent.until(self.part, until.min(begins));
        }
        spent.until(queue, begins);
    }
}
