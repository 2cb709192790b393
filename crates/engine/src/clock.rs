//! The clock that stamps every request.
//!
//! If the CPU's time stamp counter is invariant and is the kernel's own clock source, an instant is one RDTSC, a
//! multiplication and a shift. Otherwise it is `clock_gettime(CLOCK_MONOTONIC)`. The counter's rate is measured once a
//! process against `CLOCK_MONOTONIC_RAW`. [`Clock::facts`] compares the two again over all the time since.
//!
//! RDTSC is used without a fence: around a system call, readings of one thread are in program order anyway, and a fence
//! costs as much as the rest of the reading. Differences must saturate. The clock does not follow NTP. Sockets agree
//! only as far as the kernel checks.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::Duration;

use iogauge_core::Nanos;
use serde::Serialize;

/// A copyable handle on the process's clock. Instants count from about the first use of [`Clock::get`].
///
/// ```
/// let clock = iogauge_engine::Clock::get();
/// let first = clock.now();
/// assert!(clock.now() >= first);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Counter value (or kernel time in ns) that counts as zero.
    origin: u64,
    /// Nanoseconds per tick, times `2^SHIFT`; zero stands for `clock_gettime`.
    multiplier: u64,
}

/// Leaves 8 bits for whole nanoseconds per tick (counters of 4 MHz or more) and 56 for the fraction. Rounding adds up
/// to less than 0.01 ns in a day.
const SHIFT: u32 = 56;

/// How long the counter's rate is measured.
const CALIBRATION: Duration = Duration::from_millis(40);

/// Which clock stamped the requests; `ClockFacts` of the schema.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFacts {
    /// `tsc` or `clock_gettime`.
    pub source: &'static str,
    /// Why the TSC is not used; empty if it is.
    pub reason: String,
    /// The counter's measured rate; zero without a counter.
    pub tsc_hz: f64,
    /// What one reading costs.
    pub read_cost_ns: f64,
    /// How far the clock's rate differs from the kernel's, over all the time since it was calibrated.
    pub check_ppm: f64,
}

/// One moment on a [`Clock`] and on the host's CLOCK_MONOTONIC. It converts instants that are near: NTP changes the
/// rate of the host's clock by up to 500 ppm, 0.5 us in a millisecond, and not that of the counter.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    ours: Nanos,
    monotonic_ns: Nanos,
}

impl Anchor {
    /// Converts an instant of CLOCK_MONOTONIC into one of the run's clock.
    pub fn from_monotonic(self, instant: Nanos) -> Nanos {
        instant
            .saturating_add(self.ours)
            .saturating_sub(self.monotonic_ns)
    }

    /// Converts an instant of the run's clock into one of CLOCK_MONOTONIC.
    pub fn to_monotonic(self, instant: Nanos) -> Nanos {
        instant
            .saturating_add(self.monotonic_ns)
            .saturating_sub(self.ours)
    }
}

/// Returns the current instant of the host's CLOCK_MONOTONIC, nanoseconds.
pub fn monotonic_ns() -> Nanos {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// The same moment, read from both clocks.
#[derive(Clone, Copy)]
struct Pair {
    ticks: u64,
    kernel_ns: u64,
}

struct Calibrated {
    clock: Clock,
    reason: String,
    tsc_hz: f64,
    read_cost_ns: f64,
    anchor: Pair,
}

fn calibrated() -> &'static Calibrated {
    static CALIBRATED: OnceLock<Calibrated> = OnceLock::new();
    CALIBRATED.get_or_init(|| {
        let (clock, tsc_hz, reason, anchor) = match counter::trusted() {
            Ok(()) => {
                let (clock, tsc_hz, anchor) = calibrate();
                (clock, tsc_hz, String::new(), anchor)
            }
            Err(reason) => {
                let clock = Clock {
                    origin: monotonic_ns(),
                    multiplier: 0,
                };
                (
                    clock,
                    0.0,
                    reason,
                    Pair {
                        ticks: 0,
                        kernel_ns: kernel_ns(libc::CLOCK_MONOTONIC_RAW),
                    },
                )
            }
        };
        Calibrated {
            clock,
            reason,
            tsc_hz,
            read_cost_ns: read_cost(clock),
            anchor,
        }
    })
}

impl Clock {
    /// Returns the process's clock. The first call takes about 40 ms.
    pub fn get() -> Clock {
        calibrated().clock
    }

    /// Returns the current instant.
    #[inline(always)]
    pub fn now(self) -> Nanos {
        if self.multiplier != 0 {
            self.convert(counter::read())
        } else {
            monotonic_ns().saturating_sub(self.origin)
        }
    }

    /// Returns what this clock is and how well it has kept time since it was calibrated.
    pub fn facts(self) -> ClockFacts {
        let all = calibrated();
        ClockFacts {
            source: if self.multiplier != 0 {
                "tsc"
            } else {
                "clock_gettime"
            },
            reason: all.reason.clone(),
            tsc_hz: all.tsc_hz,
            read_cost_ns: all.read_cost_ns,
            check_ppm: self.check(),
        }
    }

    /// Returns how far this clock's rate differs from the kernel's since the calibration began, in parts per million;
    /// positive if this clock is faster. Returns zero without a counter.
    pub fn check(self) -> f64 {
        if self.multiplier == 0 {
            return 0.0;
        }
        let (then, now) = (calibrated().anchor, pair(libc::CLOCK_MONOTONIC_RAW));
        let ours = self.convert(now.ticks) as f64 - self.convert(then.ticks) as f64;
        let kernels = (now.kernel_ns - then.kernel_ns) as f64;
        (ours - kernels) / kernels * 1e6
    }

    /// Returns the current moment on this clock and on CLOCK_MONOTONIC.
    pub fn anchor(self) -> Anchor {
        if self.multiplier == 0 {
            return Anchor {
                ours: 0,
                monotonic_ns: self.origin,
            };
        }
        let now = pair(libc::CLOCK_MONOTONIC);
        Anchor {
            ours: self.convert(now.ticks),
            monotonic_ns: now.kernel_ns,
        }
    }

    #[inline(always)]
    fn convert(self, ticks: u64) -> Nanos {
        let elapsed = u128::from(ticks.wrapping_sub(self.origin));
        ((elapsed * u128::from(self.multiplier)) >> SHIFT) as u64
    }
}

/// Measures the counter's rate between two tight pairs of readings.
fn calibrate() -> (Clock, f64, Pair) {
    let first = pair(libc::CLOCK_MONOTONIC_RAW);
    std::thread::sleep(CALIBRATION);
    let last = pair(libc::CLOCK_MONOTONIC_RAW);
    let (ticks, elapsed_ns) = (last.ticks - first.ticks, last.kernel_ns - first.kernel_ns);
    let multiplier = (u128::from(elapsed_ns) << SHIFT) / u128::from(ticks);
    let multiplier = u64::try_from(multiplier).expect("the counter ticks faster than 4 MHz");
    let hz = ticks as f64 / elapsed_ns as f64 * 1e9;
    (
        Clock {
            origin: first.ticks,
            multiplier,
        },
        hz,
        first,
    )
}

/// Reads both clocks as closely together as possible: of 64 tries, takes the one whose two counter readings, around one
/// of the kernel's clock `id`, are closest.
fn pair(id: libc::clockid_t) -> Pair {
    (0..64)
        .map(|_| {
            let before = counter::read();
            let kernel_ns = kernel_ns(id);
            let window = counter::read() - before;
            (
                window,
                Pair {
                    ticks: before + window / 2,
                    kernel_ns,
                },
            )
        })
        .min_by_key(|&(window, _)| window)
        .expect("64 readings")
        .1
}

/// Returns the least of several means, so that interruptions do not count.
fn read_cost(clock: Clock) -> f64 {
    const READINGS: u32 = 256;
    (0..32)
        .map(|_| {
            let start = clock.now();
            for _ in 0..READINGS {
                std::hint::black_box(clock.now());
            }
            (clock.now() - start) as f64 / f64::from(READINGS)
        })
        .fold(f64::INFINITY, f64::min)
}

#[inline]
fn kernel_ns(id: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a timespec that outlives the call; both clock ids exist since Linux 2.6.28, so it cannot fail.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 CPU has RDTSC, and Linux leaves it allowed in user mode.
        unsafe { _rdtsc() }
    }

    /// Trusts the counter if it ticks at one rate in all states of the CPU and is the kernel's clock source. The kernel
    /// compares it with other clocks and knows of hypervisors that move it.
    pub(super) fn trusted() -> Result<(), String> {
        const INVARIANT_TSC: u32 = 1 << 8;
        let extended = __cpuid(0x8000_0000).eax;
        if extended < 0x8000_0007 || __cpuid(0x8000_0007).edx & INVARIANT_TSC == 0 {
            return Err("the CPU has no invariant time stamp counter".into());
        }
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        match std::fs::read_to_string(path) {
            Ok(name) if name.trim() == "tsc" => Ok(()),
            Ok(name) => Err(format!(
                "the kernel's clock source is {}, not the time stamp counter",
                name.trim()
            )),
            Err(cause) => Err(format!("{path}: {cause}")),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn trusted() -> Result<(), String> {
        Err("iogauge reads no time stamp counter on this architecture".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_ticks_converts_without_drift() {
        for hz in [
            4_000_000u64,
            24_000_000,
            999_999_937,
            2_596_120_000,
            5_700_000_000,
        ] {
            let multiplier = u64::try_from((1_000_000_000u128 << SHIFT) / u128::from(hz)).unwrap();
            let clock = Clock {
                origin: 17,
                multiplier,
            };
            let day = 86_400;
            let exact = day * 1_000_000_000u64;
            let got = clock.convert(17 + hz * day);
            assert!(exact.abs_diff(got) <= 1, "{hz} Hz: {got}");
        }
    }

    #[test]
    fn never_goes_back_and_agrees_with_the_kernel() {
        let clock = Clock::get();
        let mut last = clock.now();
        for _ in 0..200_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(clock.check().abs() < 1000.0, "{} ppm", clock.check());
    }

    #[test]
    fn both_sources_measure_the_same_sleep() {
        let (fast, slow) = (
            Clock::get(),
            Clock {
                origin: monotonic_ns(),
                multiplier: 0,
            },
        );
        let (fast_start, slow_start) = (fast.now(), slow.now());
        std::thread::sleep(Duration::from_millis(20));
        let (slow_ns, fast_ns) = (slow.now() - slow_start, fast.now() - fast_start);
        // The four readings are nested, so the first clock's span is the longer one.
        assert!(fast_ns as f64 >= slow_ns as f64 * 0.999);
    }

    #[test]
    fn an_anchor_converts_both_ways_and_lies_between_readings() {
        let kernels = Clock {
            origin: monotonic_ns(),
            multiplier: 0,
        };
        for clock in [Clock::get(), kernels] {
            let before = (clock.now(), monotonic_ns());
            let anchor = clock.anchor();
            let after = (clock.now(), monotonic_ns());
            // Both clocks pass the anchor's moment between the readings around it.
            let passed = anchor.from_monotonic(before.1)..=anchor.from_monotonic(after.1);
            assert!(*passed.start() <= after.0 && before.0 <= *passed.end());
            for instant in [before.1, after.1, after.1 + 3_600_000_000_000] {
                let ours = anchor.from_monotonic(instant);
                assert_eq!(anchor.to_monotonic(ours), instant);
            }
            // An instant before the clock began is in its past, and one that never comes does not wrap.
            assert_eq!(anchor.from_monotonic(0), 0);
            assert!(anchor.from_monotonic(Nanos::MAX) > after.0);
        }
    }

    #[test]
    fn facts_say_why_the_tsc_is_not_used() {
        let facts = Clock::get().facts();
        assert_eq!(facts.source == "tsc", facts.reason.is_empty());
        assert_eq!(facts.source == "tsc", facts.tsc_hz > 0.0);
        assert!(facts.read_cost_ns > 0.0 && facts.read_cost_ns < 10_000.0);
    }
}
