//! Computes when requests of one direction are due, in exact nanoseconds, without drift and without a clock.
//!
//! A constant schedule is integer arithmetic. The k-th request is due at `floor(k * 10^9 / rate)`; if the rate is in
//! bytes, it is due once the bytes scheduled before it would have passed. Each division's remainder is carried, so that
//! the billionth due time is as exact as the first. A Poisson schedule draws exponential gaps and carries their
//! fractions of a nanosecond, so that rounding biases no rate.
//!
//! A schedule does not depend on when requests are issued. A late worker still finds the past due times, and so catches
//! up.
//!
//! Source: the instants of a request in docs/latency.md. fio 3.33 cuts Poisson gaps to whole microseconds and issues
//! 396k requests where the job says 300k.

use super::rng::{Rng, Stream};
use crate::plan::SchedulePlan;
use crate::time::{Nanos, SECOND};

/// The due times of one direction.
///
/// ```
/// use iogauge_core::generate::Schedule;
/// use iogauge_core::plan::SchedulePlan;
///
/// let plan = SchedulePlan { rate_iops: 3, rate_Bps: 0, rate_min_Bps: 0, first_ns: 0 };
/// let mut schedule = Schedule::new(plan, false, 1);
/// let mut due = vec![];
/// for _ in 0..4 {
///     due.push(schedule.peek());
///     schedule.advance(4096);
/// }
/// assert_eq!(due, [0, 333_333_333, 666_666_666, 1_000_000_000]);
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    due: Nanos,
    rate: u64,
    by_bytes: bool,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Unlimited,
    /// The exact due time is `due + remainder / rate`, with the remainder in `[0, rate)`. The schedule starts, and
    /// restarts, at `first`.
    Constant {
        first: Nanos,
        remainder: u64,
        step: Step,
    },
    /// The part of a nanosecond by which the true due time is later than `due`, in `[0, 1)`.
    Poisson {
        fraction: f64,
        rng: Rng,
    },
}

/// The last step. It is kept because division is slow and most requests have the same length.
#[derive(Clone, Copy, Debug)]
struct Step {
    weight: u64,
    gap_ns: Nanos,
    remainder: u64,
}

impl Step {
    fn new(weight: u64, rate: u64) -> Self {
        // weight * 10^9 fits: weight is 1, or a length under 2^32.
        let scaled = weight * SECOND;
        Self {
            weight,
            gap_ns: scaled / rate,
            remainder: scaled % rate,
        }
    }
}

impl Schedule {
    /// Creates the schedule of the plan. Times count from the worker's start. Each direction needs a `seed` of its own.
    /// Without a rate, everything is due at 0.
    ///
    /// The first request of a constant schedule is due where the plan says. A Poisson process has no request at 0: its
    /// first is due after a gap, unless the rate is in bytes and no length is known yet.
    pub fn new(plan: SchedulePlan, poisson: bool, seed: u64) -> Self {
        let by_bytes = plan.rate_iops == 0;
        let rate = if by_bytes {
            plan.rate_Bps
        } else {
            plan.rate_iops
        };
        let law = if rate == 0 {
            Law::Unlimited
        } else if poisson {
            Law::Poisson {
                fraction: 0.0,
                rng: Rng::new(seed, Stream::Arrivals),
            }
        } else {
            Law::Constant {
                first: plan.first_ns,
                remainder: 0,
                step: Step::new(1, rate),
            }
        };
        let mut schedule = Self {
            due: match law {
                Law::Constant { first, .. } => first,
                Law::Unlimited | Law::Poisson { .. } => 0,
            },
            rate,
            by_bytes,
            law,
        };
        if !by_bytes && poisson {
            schedule.advance(0);
        }
        schedule
    }

    /// Drops the requests that were due before `instant`: a schedule that is behind restarts there, at its `first`.
    pub fn drop_before(&mut self, instant: Nanos) {
        if self.due >= instant {
            return;
        }
        self.due = instant;
        match &mut self.law {
            Law::Unlimited => {}
            Law::Constant {
                first, remainder, ..
            } => {
                self.due = instant.saturating_add(*first);
                *remainder = 0;
            }
            Law::Poisson { fraction, .. } => {
                *fraction = 0.0;
                if !self.by_bytes {
                    self.advance(0);
                }
            }
        }
    }

    /// Returns when the next request is due.
    #[inline]
    pub const fn peek(&self) -> Nanos {
        self.due
    }

    /// Advances past the request that was due, which has the given length.
    #[inline]
    pub fn advance(&mut self, length_bytes: u32) {
        let weight = if self.by_bytes {
            u64::from(length_bytes)
        } else {
            1
        };
        match &mut self.law {
            Law::Unlimited => {}
            Law::Constant {
                remainder, step, ..
            } => {
                if step.weight != weight {
                    *step = Step::new(weight, self.rate);
                }
                self.due = self.due.saturating_add(step.gap_ns);
                // Adds the remainders modulo the rate, without overflow.
                if *remainder >= self.rate - step.remainder {
                    *remainder -= self.rate - step.remainder;
                    self.due = self.due.saturating_add(1);
                } else {
                    *remainder += step.remainder;
                }
            }
            Law::Poisson { fraction, rng } => {
                let mean = weight as f64 * (SECOND as f64 / self.rate as f64);
                let gap = *fraction + mean * rng.exponential();
                let floor = libm::floor(gap);
                *fraction = gap - floor;
                self.due = self.due.saturating_add(floor as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::super::tests::statistics::assert_distributed;
    use super::*;

    fn by_requests(rate_iops: u64) -> SchedulePlan {
        SchedulePlan {
            rate_iops,
            rate_Bps: 0,
            rate_min_Bps: 0,
            first_ns: 0,
        }
    }

    fn by_bytes(rate_bytes: u64) -> SchedulePlan {
        SchedulePlan {
            rate_iops: 0,
            rate_Bps: rate_bytes,
            rate_min_Bps: 0,
            first_ns: 0,
        }
    }

    #[test]
    fn a_rate_in_bytes_waits_for_the_bytes_before() {
        let mut schedule = Schedule::new(by_bytes(3000), false, 1);
        let mut due = vec![];
        for length in [1000, 2000, 500, 500, 1] {
            due.push(schedule.peek());
            schedule.advance(length);
        }
        assert_eq!(
            due,
            [0, 333_333_333, 1_000_000_000, 1_166_666_666, 1_333_333_333]
        );
    }

    #[test]
    fn a_later_first_request_moves_all_that_follow() {
        let later = SchedulePlan {
            first_ns: 1234,
            ..by_requests(3)
        };
        let mut schedules = [later, by_requests(3)].map(|plan| Schedule::new(plan, false, 1));
        for _ in 0..10 {
            let [later, sooner] = schedules.each_mut().map(|schedule| {
                schedule.advance(4096);
                schedule.peek()
            });
            assert_eq!(later, sooner + 1234);
        }
        // Both are behind when they restart, and keep their offset to each other.
        let mut schedules = [later, by_requests(3)].map(|plan| Schedule::new(plan, false, 1));
        let [later, sooner] = schedules.each_mut().map(|schedule| {
            schedule.drop_before(5 * SECOND);
            schedule.peek()
        });
        assert_eq!((later, sooner), (5 * SECOND + 1234, 5 * SECOND));
    }

    #[test]
    fn without_a_rate_everything_is_due_at_once() {
        for poisson in [false, true] {
            let mut schedule = Schedule::new(by_requests(0), poisson, 1);
            schedule.advance(4096);
            assert_eq!(schedule.peek(), 0);
        }
    }

    proptest! {
        /// After each step, `due` and the remainder are exactly those of a division. By induction, this holds after any
        /// number of steps.
        #[test]
        fn a_constant_schedule_never_drifts(rate in 1..=u64::MAX, step in 0u64..1 << 33) {
            let exact = |requests: u64| {
                let scaled = u128::from(requests) * u128::from(SECOND);
                (scaled / u128::from(rate), scaled % u128::from(rate))
            };
            let (due, remainder) = exact(step);
            let mut schedule = Schedule::new(by_requests(rate), false, 1);
            schedule.due = due as u64;
            let Law::Constant { remainder: carried, .. } = &mut schedule.law else { unreachable!() };
            *carried = remainder as u64;
            schedule.advance(4096);
            let Law::Constant { remainder: carried, .. } = &schedule.law else { unreachable!() };
            prop_assert_eq!((u128::from(schedule.due), u128::from(*carried)), exact(step + 1));
        }

        #[test]
        fn a_constant_rate_in_bytes_is_exact(
            rate in 1..=u64::MAX,
            lengths in proptest::collection::vec(1..=u32::MAX, 1..50),
        ) {
            let mut schedule = Schedule::new(by_bytes(rate), false, 1);
            let mut bytes = 0u128;
            for length in lengths {
                schedule.advance(length);
                bytes += u128::from(length);
                let exact = bytes * u128::from(SECOND) / u128::from(rate);
                prop_assert_eq!(u128::from(schedule.peek()), exact.min(u128::from(u64::MAX)));
            }
        }
    }

    #[test]
    fn a_million_steps_end_where_division_says() {
        for rate in [7, 999_983, 300_000, 1_200_001] {
            let mut schedule = Schedule::new(by_requests(rate), false, 1);
            for _ in 0..1_000_000 {
                schedule.advance(4096);
            }
            assert_eq!(
                u128::from(schedule.peek()),
                1_000_000u128 * u128::from(SECOND) / u128::from(rate)
            );
        }
    }

    #[test]
    fn poisson_gaps_are_exponential_at_every_rate() {
        for rate in [1_000, 10_000, 100_000, 300_000, 1_000_000] {
            let mut schedule = Schedule::new(by_requests(rate), true, rate);
            let mean = SECOND as f64 / rate as f64;
            let mut last = 0;
            let gaps: Vec<f64> = (0..100_000)
                .map(|_| {
                    let gap = schedule.peek() - last;
                    last = schedule.peek();
                    schedule.advance(4096);
                    gap as f64 / mean
                })
                .collect();
            assert_distributed(gaps, |gap| 1.0 - libm::exp(-gap));
        }
    }

    #[test]
    fn poisson_keeps_its_rate_where_a_gap_is_a_few_nanoseconds() {
        // Rounding every gap down would run 20 % fast here.
        let rate = 400_000_000u64;
        let requests = 4_000_000;
        let mut schedule = Schedule::new(by_requests(rate), true, 1);
        for _ in 1..requests {
            schedule.advance(4096);
        }
        let mean = SECOND as f64 / rate as f64;
        let error = schedule.peek() as f64 - f64::from(requests) * mean;
        assert!(
            error.abs() < 3.0 * mean * f64::from(requests).sqrt(),
            "{error} ns off"
        );
    }

    #[test]
    fn poisson_by_bytes_waits_longer_after_longer_requests() {
        for length in [4096, 1 << 20] {
            let mut schedule = Schedule::new(by_bytes(100_000_000), true, 1);
            assert_eq!(schedule.peek(), 0);
            for _ in 0..100_000 {
                schedule.advance(length);
            }
            let mean = f64::from(length) * 10.0;
            let error = schedule.peek() as f64 - 1e5 * mean;
            assert!(error.abs() < 3.0 * mean * 1e5f64.sqrt(), "{error} ns off");
        }
    }

    #[test]
    fn only_a_schedule_that_is_behind_restarts() {
        let mut schedule = Schedule::new(by_requests(3), false, 1);
        schedule.advance(0);
        schedule.drop_before(333_333_333);
        schedule.advance(0);
        assert_eq!(schedule.peek(), 666_666_666);
        schedule.drop_before(5_000_000_001);
        assert_eq!(schedule.peek(), 5_000_000_001);
        schedule.advance(0);
        assert_eq!(schedule.peek(), 5_333_333_334);
        // A Poisson process has no request at the instant itself.
        let mut gaps: Vec<f64> = Vec::new();
        for seed in 0..10_000 {
            let mut schedule = Schedule::new(by_requests(1000), true, seed);
            schedule.drop_before(SECOND);
            gaps.push((schedule.peek() - SECOND) as f64 / 1e6);
        }
        assert_distributed(gaps, |gap| 1.0 - libm::exp(-gap));
    }

    #[test]
    fn the_end_of_time_is_not_overrun() {
        let mut schedule = Schedule::new(by_bytes(1), false, 1);
        for _ in 0..10 {
            schedule.advance(u32::MAX);
        }
        assert_eq!(schedule.peek(), Nanos::MAX);
    }
}
