//! The computer and operating system in front of a drive: what a worker's thread pays for each request.
//!
//! A thread does one thing at a time. At 10 us a request, what it pays is half of the measurement, and it alone
//! explains why one thread reaches so many requests a second and no more. Rarely it pays more than usual, or does not run
//! at all for a while; that is the noise.
//!
//! What it does not do: caches (a model is driven past the page cache, as with direct=1), and threads that share a CPU.

use iogauge_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::noise::NoiseSpec;

/// What requests cost a thread under one family of engines, ns. All in `[0, 1e9]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineCosts {
    /// For a call that submits, whatever it carries.
    pub call_ns: Nanos,
    /// For each request that the call carries; the drive sees it at the end of this.
    pub request_ns: Nanos,
    /// For each completion that it takes, before it can issue again.
    pub reap_ns: Nanos,
}

/// What a thread pays. All times in ns, in `[0, 1e9]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Of pvsync2 and psync, which do one request at a time.
    pub sync: EngineCosts,
    /// Of libaio and io_uring, and of Windows's overlapped I/O.
    pub queued: EngineCosts,
    /// From the drive's completion until a sleeping thread runs: interrupt, wake-up, switch.
    pub wake_ns: Nanos,
    /// From the drive's completion until a thread that is already looking sees it.
    pub poll_ns: Nanos,
    /// How much later than requested a sleep until an instant ends, in the mean; exponential.
    pub timer_late_ns: Nanos,
    /// Threads that wait poll instead of sleeping, whether or not the job asks for it (hipri).
    pub polls: bool,
    /// What comes on top now and then.
    pub noise: Vec<NoiseSpec>,
}

impl Machine {
    /// A machine that costs nothing: what the drive alone would show.
    pub fn ideal() -> Self {
        Self::default()
    }

    /// # Errors
    /// Which parameter is out of its range, and what that is.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("sync.call_ns", self.sync.call_ns),
            ("sync.request_ns", self.sync.request_ns),
            ("sync.reap_ns", self.sync.reap_ns),
            ("queued.call_ns", self.queued.call_ns),
            ("queued.request_ns", self.queued.request_ns),
            ("queued.reap_ns", self.queued.reap_ns),
            ("wake_ns", self.wake_ns),
            ("poll_ns", self.poll_ns),
            ("timer_late_ns", self.timer_late_ns),
        ] {
            if value > 1_000_000_000 {
                return Err(format!("{name} is {value}, not in [0, 1e9]"));
            }
        }
        self.noise.iter().try_for_each(NoiseSpec::check)
    }
}
