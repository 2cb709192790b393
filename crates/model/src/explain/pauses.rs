//! Recent pauses of a server, so that a request that waits behind one knows for what.

use super::book::Ledger;
use super::part::Part;

/// Pauses that requests may still wait for, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Vec<(f64, f64)>);

impl Pauses {
    /// Adds a pause. Requests come at `now` or later.
    pub(crate) fn add(&mut self, now: f64, from: f64, until: f64) {
        self.0.retain(|&(_, ended)| ended > now);
        self.0.push((from, until));
    }

    /// Notes that a request waits for the server until `begins`: in `queue`, and in its pauses meanwhile.
    #[inline]
    pub(crate) fn wait(&self, queue: Part, begins: f64, spent: &mut impl Ledger) {
        for &(from, until) in &self.0 {
            spent.until(queue, from.min(begins));
            spent.until(Part::Stall, until.min(begins));
        }
        spent.until(queue, begins);
    }
}
