//! The computer and operating system in front of a drive: the time that a worker's thread spends on each request.
//!
//! A thread does one thing at a time. If a request takes 10 us, a quarter to a third of that is the thread's own time,
//! which alone explains how many requests a second one thread reaches. A CPU that waits enters an idle state, so a thread that slept
//! long wakes late: behind flash more than behind 3D XPoint. Noise makes it spend more than usual, or not run at all for
//! a while.
//!
//! It models neither caches (the model is driven past the page cache, as with direct=1) nor threads that share a CPU.

use iogauge_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::noise::NoiseSpec;

/// Time that a thread spends on requests under one family of engines, ns. All in `[0, 1e9]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineCosts {
    /// For a submission call, with any number of requests.
    pub call_ns: Nanos,
    /// For each request of the call. The drive gets the request at the end of this time.
    pub request_ns: Nanos,
    /// For each completion, before the thread can issue again.
    pub reap_ns: Nanos,
}

/// A state of a CPU without work. It saves power, and takes time to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IdleSpec {
    /// How long a thread must sleep for its CPU to enter the state, ns.
    pub after_ns: Nanos,
    /// How much later the thread wakes, ns, in `[0, 1e9]`.
    pub exit_ns: Nanos,
}

/// The time that a thread spends. All in ns, in `[0, 1e9]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Costs of pvsync2 and psync, which make one request at a time.
    pub sync: EngineCosts,
    /// Costs of libaio and io_uring, and of Windows's overlapped I/O.
    pub queued: EngineCosts,
    /// From the drive's completion until a sleeping thread runs: interrupt, wake-up, switch.
    pub wake_ns: Nanos,
    /// Idle states that add to that, the lightest first.
    #[serde(default)]
    pub idle: Vec<IdleSpec>,
    /// From the drive's completion until a polling thread sees it.
    pub poll_ns: Nanos,
    /// Mean lateness of a sleep until an instant; exponential.
    pub timer_late_ns: Nanos,
    /// Whether waiting threads poll instead of sleeping, even without hipri in the job.
    pub polls: bool,
    /// Disturbances that add to these times.
    pub noise: Vec<NoiseSpec>,
}

impl Machine {
    /// Creates a machine that takes no time, so that a run shows the drive alone.
    pub fn ideal() -> Self {
        Self::default()
    }

    /// # Errors
    /// The parameter that is out of its range, and its value.
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
        for (index, state) in self.idle.iter().enumerate() {
            if state.exit_ns > 1_000_000_000 {
                let exit_ns = state.exit_ns;
                return Err(format!(
                    "idle.{index}.exit_ns is {exit_ns}, not in [0, 1e9]"
                ));
            }
            if index > 0 && state.after_ns <= self.idle[index - 1].after_ns {
                return Err(format!(
                    "idle.{index}.after_ns is {}, not more than that of the lighter state before it",
                    state.after_ns
                ));
            }
        }
        self.noise.iter().try_for_each(NoiseSpec::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_states_come_in_order() {
        let state = |after_ns| IdleSpec {
            after_ns,
            exit_ns: 1_000,
        };
        let said = |idle| {
            let machine = Machine {
                idle,
                ..Machine::ideal()
            };
            machine.check()
        };
        assert_eq!(said(vec![state(1_000), state(20_000)]), Ok(()));
        assert!(
            said(vec![state(20_000), state(1_000)])
                .unwrap_err()
                .contains("idle.1.after_ns is 1000")
        );
    }
}
