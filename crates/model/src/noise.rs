//! Disturbances of a thread: times in which its CPU runs something else, and calls that take longer than usual.
//!
//! Gaps between disturbances and their lengths are exponential, and independent for each thread. The published steps of
//! system tuning differ in little else.

use iogauge_core::Nanos;
use iogauge_core::generate::{Rng, Stream, child_seed};
use serde::{Deserialize, Serialize};

use crate::stalls::{StallSpec, Stalls};

/// One kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "on", rename_all = "lowercase", deny_unknown_fields)]
pub enum NoiseSpec {
    /// The thread does not run for a while, at any time: interrupts, timers, other threads.
    Time {
        /// Mean distance, s, positive.
        every_s: f64,
        /// Mean length, ns.
        mean_ns: f64,
    },
    /// A submission takes longer: clock changes, cold caches.
    Request {
        /// Mean distance in requests, at least 1.
        every_requests: f64,
        /// Mean length, ns.
        mean_ns: f64,
    },
    /// A sleeping thread wakes late: idle states, and other threads that run first.
    Wake {
        /// Mean distance in wake-ups, at least 1.
        every_wakes: f64,
        /// Mean length, ns.
        mean_ns: f64,
    },
}

impl NoiseSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        let (every, mean_ns) = match *self {
            Self::Time { every_s, mean_ns } => (every_s, mean_ns),
            Self::Request {
                every_requests,
                mean_ns,
            } => (every_requests, mean_ns),
            Self::Wake {
                every_wakes,
                mean_ns,
            } => (every_wakes, mean_ns),
        };
        let counted = !matches!(self, Self::Time { .. });
        if !(every > 0.0 && every.is_finite()) || (counted && every < 1.0) {
            let least = if counted {
                "less than 1"
            } else {
                "not positive"
            };
            return Err(format!("a noise comes once in {every}, which is {least}"));
        }
        if !(0.0..=1e9).contains(&mean_ns) {
            return Err(format!("a noise's mean_ns is {mean_ns}, not in [0, 1e9]"));
        }
        Ok(())
    }
}

/// Time that is taken from a CPU.
#[derive(Clone, Debug)]
struct Theft {
    every_ns: f64,
    mean_ns: f64,
    rng: Rng,
    begins: Nanos,
    ends: Nanos,
}

impl Theft {
    fn draw(&mut self) {
        self.begins = self.ends + (self.rng.exponential() * self.every_ns) as Nanos;
        self.ends = self.begins + (self.rng.exponential() * self.mean_ns) as Nanos;
    }
}

/// The noise of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    thefts: Vec<Theft>,
    /// When the next theft begins.
    next: Nanos,
    requests: Vec<Stalls>,
    wakes: Vec<Stalls>,
}

impl Noise {
    /// Creates the noise of one thread, from `start` on.
    pub(crate) fn new(specs: &[NoiseSpec], seed: u64, start: Nanos) -> Self {
        let mut noise = Self {
            thefts: Vec::new(),
            next: Nanos::MAX,
            requests: Vec::new(),
            wakes: Vec::new(),
        };
        for (index, spec) in specs.iter().enumerate() {
            let stalls = |every_services, mean_ns| {
                let spec = StallSpec {
                    every_services,
                    mean_ns,
                    spread: 1.0,
                };
                Stalls::new(spec, seed, index)
            };
            match *spec {
                NoiseSpec::Time { every_s, mean_ns } => {
                    let mut theft = Theft {
                        every_ns: every_s * 1e9,
                        mean_ns,
                        rng: Rng::new(child_seed(seed, index as u64), Stream::Arrivals),
                        begins: 0,
                        ends: start,
                    };
                    theft.draw();
                    noise.thefts.push(theft);
                }
                NoiseSpec::Request {
                    every_requests,
                    mean_ns,
                } => noise.requests.push(stalls(every_requests, mean_ns)),
                NoiseSpec::Wake {
                    every_wakes,
                    mean_ns,
                } => noise.wakes.push(stalls(every_wakes, mean_ns)),
            }
        }
        noise.plan();
        noise
    }

    fn plan(&mut self) {
        let begins = self.thefts.iter().map(|theft| theft.begins);
        self.next = begins.min().unwrap_or(Nanos::MAX);
    }

    /// Returns when a thread has done the work that begins at `from` and takes `cost`.
    #[inline]
    pub(crate) fn work(&mut self, from: Nanos, cost: Nanos) -> Nanos {
        let ends = from + cost;
        if ends < self.next {
            return ends;
        }
        self.work_with_thefts(from, ends)
    }

    /// Computes [`Noise::work`] if time is stolen meanwhile.
    #[cold]
    fn work_with_thefts(&mut self, from: Nanos, mut ends: Nanos) -> Nanos {
        while let Some(theft) = self.thefts.iter_mut().find(|theft| theft.begins <= ends) {
            // Of time stolen since before `from`, when the thread slept, only the rest counts.
            ends += theft.ends.saturating_sub(theft.begins.max(from));
            theft.draw();
        }
        self.plan();
        ends
    }

    /// Returns how much longer than usual a submission takes.
    #[inline]
    pub(crate) fn of_request(&mut self) -> Nanos {
        self.requests.iter_mut().map(Stalls::before_service).sum()
    }

    /// Returns how much longer than usual a wake-up takes.
    #[inline]
    pub(crate) fn of_wake(&mut self) -> Nanos {
        self.wakes.iter_mut().map(Stalls::before_service).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_its_share_of_the_time() {
        let spec = NoiseSpec::Time {
            every_s: 1e-3,
            mean_ns: 250_000.0,
        };
        let mut noise = Noise::new(&[spec], 5, 0);
        let mut now = 0;
        // Work for 4 s. Every ms of it, a theft takes a quarter of a ms.
        for _ in 0..4_000_000 {
            now = noise.work(now, 1_000);
        }
        assert!((now as f64 / 4e9 - 1.25).abs() < 0.03, "{now}");
    }

    #[test]
    fn noise_during_a_sleep_costs_nothing() {
        let spec = NoiseSpec::Time {
            every_s: 1e-3,
            mean_ns: 1_000.0,
        };
        let mut noise = Noise::new(&[spec], 5, 0);
        // The thread works for one microsecond a second: of 1000 thefts between, hardly one overlaps it.
        let late: Nanos = (1..100)
            .map(|second| second * 1_000_000_000)
            .map(|from| noise.work(from, 1_000) - from - 1_000)
            .sum();
        assert!(late < 10_000, "{late}");
    }

    #[test]
    fn a_noise_out_of_range_is_named() {
        let spec = NoiseSpec::Wake {
            every_wakes: 0.0,
            mean_ns: 1.0,
        };
        assert!(spec.check().unwrap_err().contains("less than 1"));
    }
}
