//! Detects that the entire process was stopped.
//!
//! A thread inside a blocking call cannot tell a slow drive from a stopped process. The collecting thread beats every
//! few milliseconds. Missed beats show that the whole process was stopped (SIGSTOP, a suspended machine, a hypervisor
//! that took the CPUs), and the requests in flight at the time are flagged.

use std::sync::atomic::{AtomicU64, Ordering};

use iogauge_core::Nanos;
use iogauge_core::time::MILLISECOND;

/// How often the collecting thread beats.
pub const BEAT: Nanos = 20 * MILLISECOND;

/// A beat this late is a stall, not a busy CPU.
const STALL: Nanos = 200 * MILLISECOND;

/// The last beat, and the last stall between two beats.
#[derive(Debug, Default)]
pub struct Heartbeat {
    last: AtomicU64,
    stall_from: AtomicU64,
    stall_to: AtomicU64,
}

impl Heartbeat {
    /// Begins to beat at `now`. The time before is not a stall.
    pub fn begin(&self, now: Nanos) {
        self.last.store(now, Ordering::Relaxed);
    }

    /// Notes that the collecting thread is alive at `now`.
    pub fn beat(&self, now: Nanos) {
        let last = self.last.swap(now, Ordering::Relaxed);
        if last > 0 && now.saturating_sub(last) > BEAT + STALL {
            self.stall_from.store(last, Ordering::Relaxed);
            self.stall_to.store(now, Ordering::Release);
        }
    }

    /// Returns the length and end of the stall that overlaps `[start, done]`, if there was one.
    pub fn stall(&self, start: Nanos, done: Nanos) -> Option<(Nanos, Nanos)> {
        let last = self.last.load(Ordering::Relaxed);
        if last > 0 && done.saturating_sub(last) > BEAT + STALL {
            return Some((done - last.max(start), done));
        }
        let to = self.stall_to.load(Ordering::Acquire);
        let from = self.stall_from.load(Ordering::Relaxed).max(start);
        (to > from && from < done).then(|| (to.min(done) - from, to.min(done)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_beat_is_seen_by_requests_in_flight() {
        let heart = Heartbeat::default();
        heart.beat(1_000 * MILLISECOND);
        heart.beat(1_020 * MILLISECOND);
        assert_eq!(heart.stall(1_000 * MILLISECOND, 1_030 * MILLISECOND), None);
        // Seen by a thread that woke before the next beat ...
        let (length, end) = heart
            .stall(1_010 * MILLISECOND, 3_000 * MILLISECOND)
            .unwrap();
        assert_eq!((length, end), (1_980 * MILLISECOND, 3_000 * MILLISECOND));
        // ... and by one that woke after it.
        heart.beat(3_001 * MILLISECOND);
        assert_eq!(
            heart.stall(1_010 * MILLISECOND, 3_002 * MILLISECOND),
            Some((1_981 * MILLISECOND, 3_001 * MILLISECOND))
        );
        assert_eq!(heart.stall(3_001 * MILLISECOND, 3_002 * MILLISECOND), None);
        // The time between two stages has no beats and is not a stall.
        heart.begin(9_000 * MILLISECOND);
        heart.beat(9_020 * MILLISECOND);
        assert_eq!(heart.stall(9_001 * MILLISECOND, 9_021 * MILLISECOND), None);
    }
}
