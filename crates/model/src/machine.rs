//! The computer and operating system in front of a drive: what a worker's thread pays for each request.
//!
//! A thread does one thing at a time. At 10 us a request, what it pays is half of the measurement, and it alone
//! explains why one thread reaches so many requests a second and no more. Source: models.md ("the host is its own
//! parameter vector").

use iogauge_core::Nanos;
use serde::Deserialize;

/// What a thread pays, ns. All in `[0, 1e9]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// For a call that submits, whatever it carries.
    pub submit_call_ns: Nanos,
    /// For each request that the call carries; the drive sees it at the end of this.
    pub submit_request_ns: Nanos,
    /// From the drive's completion until a sleeping thread runs: interrupt, wake-up, switch.
    pub wake_ns: Nanos,
    /// From the drive's completion until a thread that is already looking sees it.
    pub poll_ns: Nanos,
    /// For each completion that it takes, before it can issue again.
    pub reap_request_ns: Nanos,
    /// Threads that wait poll instead of sleeping.
    pub polls: bool,
}

impl Machine {
    /// A machine that costs nothing: what the drive alone would show.
    pub const IDEAL: Self = Self {
        submit_call_ns: 0,
        submit_request_ns: 0,
        wake_ns: 0,
        poll_ns: 0,
        reap_request_ns: 0,
        polls: false,
    };

    /// From the drive's completion until a thread that waits for it goes on.
    #[inline]
    pub(crate) fn notice_ns(&self) -> Nanos {
        if self.polls {
            self.poll_ns
        } else {
            self.wake_ns
        }
    }
}
