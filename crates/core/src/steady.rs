//! Decides when a row is steady: fio's steadystate.
//!
//! Every check interval is one sample of IOPS, bandwidth or mean completion latency. Once the samples cover the duration,
//! each further one replaces the oldest, and the row is steady as soon as their largest deviation from the mean, or the
//! slope of a line through them, is below the limit.
//!
//! Source: fio's steadystate.c.

use std::collections::VecDeque;

use crate::plan::{SteadyFigure, SteadyPlan};
use crate::results::{Interval, SteadyResult, SteadySample};
use crate::time::{Nanos, SECOND};

/// What happened since the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    length: Nanos,
    ios: u64,
    bytes: u64,
    lat_sum: u64,
    lat_count: u64,
}

/// One row's criterion.
#[derive(Clone, Debug)]
pub struct Steady {
    plan: SteadyPlan,
    /// Measured time so far.
    elapsed: Nanos,
    current: Current,
    samples: VecDeque<SteadySample>,
    most: usize,
    result: SteadyResult,
}

impl Steady {
    /// Creates the criterion before the first interval.
    pub fn new(plan: SteadyPlan) -> Self {
        let most = (plan.duration_ns / plan.interval_ns).max(1) as usize;
        Self {
            plan,
            elapsed: 0,
            current: Current::default(),
            samples: VecDeque::with_capacity(most),
            most,
            result: SteadyResult::default(),
        }
    }

    /// Takes an interval of the row, in order. Returns true if the row is steady from here on, once.
    pub fn add(&mut self, interval: &Interval) -> bool {
        if interval.ramp || self.result.attained {
            return false;
        }
        let length = interval.end_ns.saturating_sub(interval.start_ns);
        self.elapsed += length;
        if self.elapsed <= self.plan.ramp_ns {
            return false;
        }
        self.current.length += length;
        for (&direction, tally) in &interval.tallies {
            if direction == "sync" {
                continue;
            }
            self.current.ios += tally.ios;
            self.current.bytes += tally.bytes;
            // A clat that was not recorded did not differ from lat.
            if let Some(exact) = tally.exact.get("clat").or_else(|| tally.exact.get("lat")) {
                self.current.lat_sum = self.current.lat_sum.saturating_add(exact.sum_ns);
                self.current.lat_count += exact.count;
            }
        }
        if self.current.length < self.plan.interval_ns {
            return false;
        }
        let Current {
            length,
            ios,
            bytes,
            lat_sum,
            lat_count,
        } = std::mem::take(&mut self.current);
        let per_second = |count: u64| count as f64 * SECOND as f64 / length as f64;
        if self.samples.len() == self.most {
            self.samples.pop_front();
        }
        self.samples.push_back(SteadySample {
            iops: per_second(ios),
            bw_Bps: per_second(bytes),
            lat_ns: lat_sum as f64 / lat_count.max(1) as f64,
        });
        self.samples.len() == self.most && self.judge()
    }

    fn judge(&mut self) -> bool {
        let figure = |sample: &SteadySample| match self.plan.figure {
            SteadyFigure::Iops => sample.iops,
            SteadyFigure::Bw => sample.bw_Bps,
            SteadyFigure::Lat => sample.lat_ns,
        };
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().map(figure).sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let (mut deviation, mut weighted, mut squares) = (0.0f64, 0.0, 0.0);
        for (at, sample) in self.samples.iter().enumerate() {
            let (from_middle, from_mean) = (at as f64 - middle, figure(sample) - mean);
            deviation = deviation.max(from_mean.abs());
            weighted += from_middle * from_mean;
            squares += from_middle * from_middle;
        }
        let slope = if squares > 0.0 {
            weighted / squares
        } else {
            0.0
        };
        let value = if self.plan.slope { slope } else { deviation };
        let criterion = match self.plan.percent {
            true if mean > 0.0 => 100.0 * value / mean,
            true => f64::INFINITY,
            false => value,
        };
        self.result.deviation = deviation;
        self.result.slope = slope;
        // JSON has no infinity.
        self.result.criterion = if criterion.is_finite() {
            criterion
        } else {
            0.0
        };
        self.result.attained = criterion.abs() < self.plan.limit;
        self.result.attained
    }

    /// Returns what became of it.
    pub fn result(&self) -> SteadyResult {
        SteadyResult {
            samples: self.samples.iter().copied().collect(),
            ..self.result.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::recorder::{Exact, MergedSlice, Span};
    use crate::results::Tally;

    fn plan(figure: SteadyFigure, slope: bool, percent: bool, limit: f64) -> SteadyPlan {
        SteadyPlan {
            figure,
            slope,
            percent,
            limit,
            duration_ns: 4 * SECOND,
            ramp_ns: 0,
            interval_ns: SECOND,
        }
    }

    /// An interval of this many reads of 4 KiB, each of them of 1 us.
    fn second(index: u64, ios: u64) -> Interval {
        let span = Span { index, ramp: false };
        let bounds = (index * SECOND, (index + 1) * SECOND);
        let mut interval = Interval::new(0, 0, span, bounds, &MergedSlice::default());
        let exact = Exact {
            count: ios,
            sum_ns: 1000 * ios,
            min_ns: 1000,
            max_ns: 1000,
        };
        interval.tallies.insert(
            "read",
            Tally {
                ios,
                bytes: 4096 * ios,
                errors: BTreeMap::new(),
                short: 0,
                flagged: 0,
                late: 0,
                histograms: BTreeMap::new(),
                exact: BTreeMap::from([("lat", exact)]),
            },
        );
        interval
    }

    /// Returns after how many seconds it is steady.
    fn steady_after(plan: SteadyPlan, ios: &[u64]) -> Option<usize> {
        let mut steady = Steady::new(plan);
        let mut seconds = ios.iter().enumerate();
        let at = seconds.find(|&(index, &ios)| steady.add(&second(index as u64, ios)));
        at.map(|(index, _)| index + 1)
    }

    const RISING: [u64; 8] = [100, 200, 300, 400, 400, 400, 400, 400];

    #[test]
    fn deviations_are_those_of_the_last_samples() {
        use SteadyFigure::{Bw, Iops, Lat};
        assert_eq!(steady_after(plan(Iops, false, true, 0.1), &RISING), Some(7));
        // 300 to 400 after five seconds: mean 375, at most 75 below it.
        assert_eq!(
            steady_after(plan(Iops, false, true, 20.1), &RISING),
            Some(6)
        );
        assert_eq!(
            steady_after(plan(Iops, false, true, 20.0), &RISING),
            Some(7)
        );
        assert_eq!(
            steady_after(plan(Iops, false, false, 76.0), &RISING),
            Some(6)
        );
        assert_eq!(
            steady_after(plan(Bw, false, false, 4096.0 * 75.5), &RISING),
            Some(6)
        );
        assert_eq!(steady_after(plan(Lat, false, true, 0.1), &RISING), Some(4));
        assert_eq!(steady_after(plan(Iops, false, true, 0.0), &RISING), None);
    }

    #[test]
    fn slopes_are_those_of_least_squares() {
        use SteadyFigure::Iops;
        let wavy = [100, 140, 140, 100, 100];
        assert_eq!(steady_after(plan(Iops, true, false, 0.1), &wavy), Some(4));
        assert_eq!(steady_after(plan(Iops, false, true, 5.0), &wavy), None);
        let mut steady = Steady::new(plan(Iops, true, false, 0.1));
        for (index, ios) in [100, 200, 300, 400].into_iter().enumerate() {
            assert!(!steady.add(&second(index as u64, ios)));
        }
        assert!((steady.result().slope - 100.0).abs() < 1e-9);
        assert!((steady.result().criterion - 100.0).abs() < 1e-9);
        assert_eq!(steady.result().samples.len(), 4);
    }

    #[test]
    fn the_ramp_and_silence_are_left_out() {
        let ramped = SteadyPlan {
            ramp_ns: 2 * SECOND,
            ..plan(SteadyFigure::Iops, false, true, 1.0)
        };
        assert_eq!(steady_after(ramped, &[100; 8]), Some(6));
        assert_eq!(
            steady_after(plan(SteadyFigure::Iops, false, true, 1.0), &[0; 8]),
            None
        );
        let mut steady = Steady::new(plan(SteadyFigure::Iops, false, true, 1.0));
        let mut ramp = second(0, 1);
        ramp.ramp = true;
        assert!(!steady.add(&ramp));
        assert!(steady.result().samples.is_empty());
    }
}
