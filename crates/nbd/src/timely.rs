//! Returns each request when it is due, although the drive may know its end before.

use iogauge_core::Nanos;
use iogauge_model::{Access, Drive, Pending, Returned};

/// A drive that returns each request when it is due.
pub(crate) struct Timely<D> {
    drive: D,
    /// Requests whose end was known when they were submitted.
    known: Pending<u64>,
}

impl<D: Drive> Timely<D> {
    pub(crate) fn new(drive: D) -> Self {
        Self {
            drive,
            known: Pending::default(),
        }
    }

    /// Takes a request at `now`, which never decreases between calls of any method.
    pub(crate) fn submit(&mut self, now: Nanos, access: Access) {
        if let Some(at) = self.drive.submit(now, access) {
            self.known.push(access.ticket, at);
        }
    }

    /// Returns when to call [`Timely::advance`] next.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        [self.known.next(), self.drive.next_event()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Appends the requests that the drive has finished by `now`.
    pub(crate) fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        self.drive.advance(now, returned);
        self.known.return_by(now, returned);
    }
}
