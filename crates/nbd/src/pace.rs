//! Converts between virtual and real time. Virtual time runs slower by a factor.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use iogauge_core::Nanos;
use rustix::event::{PollFd, poll};
use rustix::time::Timespec;

/// The drive's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    start: Instant,
    dilate: u32,
}

impl Pace {
    /// Starts virtual time now.
    pub(crate) fn new(dilate: u32) -> Self {
        Self {
            start: Instant::now(),
            dilate,
        }
    }

    /// Returns the current virtual instant.
    pub(crate) fn now(&self) -> Nanos {
        self.at(self.start.elapsed())
    }

    fn at(&self, elapsed: Duration) -> Nanos {
        let real = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        real / u64::from(self.dilate)
    }

    /// Returns the real time from the start to a virtual instant.
    fn due(&self, at: Nanos) -> Duration {
        Duration::from_nanos(at.saturating_mul(u64::from(self.dilate)))
    }

    /// Returns the real time until a virtual instant.
    pub(crate) fn until(&self, at: Nanos) -> Duration {
        self.due(at).saturating_sub(self.start.elapsed())
    }

    /// Returns the real time since a virtual instant.
    pub(crate) fn since(&self, at: Nanos) -> Duration {
        self.start.elapsed().saturating_sub(self.due(at))
    }
}

/// Converts a length of time for the kernel.
pub(crate) fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: length.as_secs() as i64,
        tv_nsec: length.subsec_nanos().into(),
    }
}

/// Asks the kernel to wake this thread as close to the requested time as it can, instead of up to 50 us later.
pub(crate) fn sharpen_timer() {
    // The call cannot fail with a positive number of nanoseconds, and a late timer would only cost precision.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Returns how late the kernel wakes this thread from a poll: the 95th percentile, at least 2 us and at most 200 us.
/// The server spins instead of sleeping for this long before a reply is due. The measured sleeps are as long as those
/// before a dilated reply, because a CPU sleeps more deeply the longer it idles.
pub(crate) fn lateness_of_polls() -> Duration {
    const NAPS: usize = 100;
    const NAP: Duration = Duration::from_millis(1);
    sharpen_timer();
    let mut late: Vec<Duration> = (0..NAPS)
        .map(|_| {
            let due = Instant::now() + NAP;
            let nothing: &mut [PollFd<'_>] = &mut [];
            let _ = poll(nothing, Some(&timespec(NAP)));
            due.elapsed()
        })
        .collect();
    late.sort_unstable();
    late[NAPS * 95 / 100].clamp(Duration::from_micros(2), Duration::from_micros(200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_due_no_sooner_than_its_instant() {
        for dilate in [1, 3, 100, 65_537] {
            let pace = Pace::new(dilate);
            for at in [0, 1, 17, 8_900, 1_000_000_007] {
                let due = pace.due(at);
                assert_eq!(pace.at(due), at);
                assert!(at == 0 || pace.at(due - Duration::from_nanos(1)) < at);
            }
            assert_eq!(pace.due(u64::MAX), Duration::from_nanos(u64::MAX));
        }
    }

    #[test]
    fn the_lateness_is_within_its_bounds() {
        let late = lateness_of_polls();
        assert!(late >= Duration::from_micros(2) && late <= Duration::from_micros(200));
    }
}
