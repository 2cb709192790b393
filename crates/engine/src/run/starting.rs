//! When a stage starts: as soon as its threads can wake, or at an instant of the host's clock.

use std::sync::atomic::Ordering;

use iogauge_core::Nanos;
use iogauge_core::time::MILLISECOND;

use crate::clock::{Anchor, Clock};
use crate::run::events::StopFlags;
use crate::wait::sleep_until_monotonic;

/// Time from the opening of the gate to the first request, in which every thread wakes.
const LEAD: Nanos = 2 * MILLISECOND;

/// The same for a start at an instant: enough on a machine where many processes start at it. The clocks are compared
/// when the gate opens, so they can drift apart by 10 us until the start.
const OPENS_EARLY: Nanos = 20 * MILLISECOND;

/// When a stage starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// On the run's clock.
    pub at: Nanos,
    /// How that clock relates to the host's about then.
    pub anchor: Anchor,
}

impl Start {
    /// Returns the start of a stage whose threads are at the gate, in time to open it: `start_at_ns`, an instant of the
    /// host's CLOCK_MONOTONIC, or the earliest possible instant after it. Returns `None` if the run is stopped before.
    pub fn await_opening(
        clock: Clock,
        start_at_ns: Option<Nanos>,
        stop_flags: &StopFlags,
    ) -> Option<Start> {
        let instant = start_at_ns.unwrap_or(0);
        let is_stopped = || stop_flags.stop.load(Ordering::Relaxed);
        if !sleep_until_monotonic(instant.saturating_sub(OPENS_EARLY), is_stopped) {
            return None;
        }
        let anchor = clock.anchor();
        Some(Start {
            at: anchor.from_monotonic(instant).max(clock.now() + LEAD),
            anchor,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;

    fn opening(start_at_ns: Option<Nanos>) -> Start {
        Start::await_opening(Clock::get(), start_at_ns, &StopFlags::default()).unwrap()
    }

    #[test]
    fn a_start_is_at_its_instant() {
        let instant = monotonic_ns() + 3_600_000 * MILLISECOND;
        let flags = StopFlags::default();
        flags.stop.store(true, Ordering::Relaxed);
        assert!(Start::await_opening(Clock::get(), Some(instant), &flags).is_none());
        let instant = monotonic_ns() + 40 * MILLISECOND;
        let start = opening(Some(instant));
        // A busy machine may be too late for it, and is never early.
        assert!(start.anchor.to_monotonic(start.at) >= instant);
        assert!(monotonic_ns() >= instant - OPENS_EARLY);
    }

    #[test]
    fn a_start_in_the_past_leaves_the_threads_time_to_wake() {
        let clock = Clock::get();
        for start_at_ns in [None, Some(0), Some(monotonic_ns())] {
            let before = clock.now();
            assert!(opening(start_at_ns).at >= before + LEAD);
        }
    }
}
