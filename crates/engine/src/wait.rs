//! Waits for an instant: sleeps until shortly before it, and spins for the rest if there are enough CPUs.
//!
//! The kernel wakes a sleeping thread late, by an amount that depends on the machine. The lateness of the timer is
//! measured once a process; the thread spins for its 99th percentile instead of sleeping. With fewer CPUs than workers
//! it does not spin: it sleeps until the instant itself, and the worker records the lateness.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use iogauge_core::Nanos;

use crate::clock::{Clock, monotonic_ns};
use crate::priority::RealTimePriority;

/// How a thread waits. Copied into each engine.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    clock: Clock,
    spin: bool,
    slack: Nanos,
}

/// A sleep longer than this is shortened by a thousandth and then resumed: the kernel's timers follow NTP, whose rate
/// may differ from our clock's by up to 500 ppm.
const LONG_NAP: Nanos = 20_000_000;

/// The longest time after which a thread that sleeps until an instant of the host's clock sees an order to stop.
const LOOK: Nanos = 20_000_000;

/// How long after a common start threads without a drive let those of other processes start, too: their clocks agree to
/// well within it, and a hundred threads need no more on one CPU, also where its host gives it to others for a while.
pub(crate) const STARTING: Nanos = 10_000_000;

/// How long a thread with a real-time priority spins before a common start: by then, the kernel has woken all threads.
const SPUN: Nanos = 500_000;

impl Waiter {
    /// Waits by `clock`, and spins for the last stretch if `spin` allows. The first call that may spin takes about 50
    /// ms to measure the timer.
    pub fn new(clock: Clock, spin: bool) -> Waiter {
        Waiter {
            clock,
            spin,
            slack: if spin { sleep_slack() } else { 0 },
        }
    }

    /// Returns at `instant`, or when a signal interrupted the sleep; never earlier otherwise.
    pub fn sleep_until(self, instant: Nanos) {
        loop {
            let now = self.clock.now();
            if now >= instant {
                return;
            }
            match self.nap(now, instant) {
                Some(nap) if !sleep(nap) => return,
                Some(_) => {}
                None => std::hint::spin_loop(),
            }
        }
    }

    /// Returns how long to sleep at `now` while waiting for the later `instant`, or `None` to spin from here.
    #[inline]
    pub(crate) fn nap(self, now: Nanos, instant: Nanos) -> Option<Nanos> {
        let nap = instant.saturating_sub(now).saturating_sub(self.slack);
        match nap {
            0 => None,
            1..=LONG_NAP => Some(nap),
            _ => Some(nap - nap / 1024),
        }
    }

    /// Whether this thread may spin.
    pub(crate) fn spins(self) -> bool {
        self.spin
    }
}

/// Returns how late the kernel's timer wakes a thread: the 99th percentile, at least 2 us and at most 1 ms. It is
/// measured once.
pub fn sleep_slack() -> Nanos {
    static SLACK: OnceLock<Nanos> = OnceLock::new();
    *SLACK.get_or_init(|| {
        // In a separate thread, so that the caller's timer setting does not change.
        let measured = std::thread::Builder::new().spawn(measure_slack);
        let measured = measured.ok().and_then(|thread| thread.join().ok());
        measured.unwrap_or(100_000).clamp(2_000, 1_000_000)
    })
}

fn measure_slack() -> Nanos {
    const NAPS: usize = 300;
    const NAP: Nanos = 100_000;
    sharpen_timer();
    let clock = Clock::get();
    let mut late: Vec<Nanos> = (0..NAPS)
        .map(|_| {
            let due = clock.now() + NAP;
            sleep(NAP);
            clock.now().saturating_sub(due)
        })
        .collect();
    late.sort_unstable();
    late[NAPS * 99 / 100]
}

/// Asks the kernel to wake this thread as close to the requested time as it can, instead of up to 50 us later.
/// [`crate::engines::open`] does this for the worker's thread.
pub fn sharpen_timer() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory of ours. It cannot fail with a positive one.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Sleeps until an instant of the host's CLOCK_MONOTONIC. Returns false if `is_stopped` returned true before; it is
/// called every 20 ms. If the thread has to sleep, the kernel wakes it as close to the requested time as it can, also
/// later on.
pub fn sleep_until_monotonic(instant: Nanos, is_stopped: impl Fn() -> bool) -> bool {
    loop {
        if is_stopped() {
            return false;
        }
        let left = instant.saturating_sub(monotonic_ns());
        if left == 0 {
            return true;
        }
        sharpen_timer();
        sleep(left.min(LOOK));
    }
}

/// Waits for an instant of the host's CLOCK_MONOTONIC at which other processes of this computer start, too, lets them
/// start, and returns when it started itself. Returns `None` if `is_stopped` returned true before.
///
/// The thread has a real-time priority until the instant, and spins at last. Where that priority is not permitted, it
/// sleeps after the instant: a process that keeps its CPU busy would let the next one wait for 4 ms, the kernel's
/// default. Yielding is not enough, since the kernel lets a thread that yields go on before those of other sessions.
pub fn start_together(instant: Nanos, is_stopped: impl Fn() -> bool) -> Option<Nanos> {
    let priority = RealTimePriority::raise();
    let spun = if priority.is_raised() { SPUN } else { 0 };
    if !sleep_until_monotonic(instant.saturating_sub(spun), is_stopped) {
        return None;
    }
    while monotonic_ns() < instant {
        std::hint::spin_loop();
    }
    let started = monotonic_ns();
    if !priority.is_raised() {
        sleep(STARTING);
    }
    Some(started)
}

/// Sleeps; returns false if a signal cut it short.
pub(crate) fn sleep(nap: Nanos) -> bool {
    let wanted = timespec(nap);
    // SAFETY: `wanted` is a valid timespec during the call. With the null pointer, the remaining time is not returned.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &wanted, std::ptr::null_mut()) == 0 }
}

/// Converts a length of time for the kernel.
pub(crate) fn timespec(length: Nanos) -> libc::timespec {
    libc::timespec {
        tv_sec: (length / 1_000_000_000) as libc::time_t,
        tv_nsec: (length % 1_000_000_000) as libc::c_long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_returns_early() {
        let clock = Clock::get();
        for spin in [true, false] {
            let waiter = Waiter::new(clock, spin);
            for wait in [0, 1, 900, 40_000, 1_500_000] {
                let due = clock.now() + wait;
                waiter.sleep_until(due);
                assert!(clock.now() >= due);
            }
        }
    }

    #[test]
    fn sleeps_until_an_instant_of_the_host_or_an_order_to_stop() {
        let due = monotonic_ns() + 3_000_000;
        assert!(sleep_until_monotonic(due, || false));
        assert!(monotonic_ns() >= due);
        assert!(sleep_until_monotonic(0, || false));
        let looks = std::cell::Cell::new(0);
        let stops = || looks.replace(looks.get() + 1) == 2;
        assert!(!sleep_until_monotonic(Nanos::MAX, stops));
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn a_common_start_is_never_early_and_can_be_called_off() {
        for wait in [0, 300_000, 4_000_000] {
            let due = monotonic_ns() + wait;
            let started = start_together(due, || false).unwrap();
            assert!(started >= due);
        }
        assert_eq!(start_together(Nanos::MAX, || true), None);
    }

    #[test]
    fn the_past_needs_no_waiting() {
        let clock = Clock::get();
        let waiter = Waiter {
            clock,
            spin: false,
            slack: 0,
        };
        assert_eq!(waiter.nap(100, 50), None);
        waiter.sleep_until(0);
    }

    #[test]
    fn naps_leave_room_for_lateness_and_for_ntp() {
        let waiter = Waiter {
            clock: Clock::get(),
            spin: true,
            slack: 60_000,
        };
        assert_eq!(waiter.nap(0, 60_000), None);
        assert_eq!(waiter.nap(0, 100_000), Some(40_000));
        let second = waiter.nap(0, 1_000_000_000).unwrap();
        assert!(second < 999_940_000 - 500_000 && second > 990_000_000);
    }
}
