//! Rare delays of a server: one in a mean number of services, with a constant, exponential or mixed length.
//!
//! Stalls come at random between services; they are not noise on each request. A stall delays all requests behind it,
//! so one pair of numbers explains the tails at every depth.

use iogauge_core::Nanos;
use iogauge_core::generate::{Rng, Stream, child_seed};
use serde::{Deserialize, Serialize};

/// One kind of stall.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StallSpec {
    /// Mean number of services from one stall to the next, at least 1; with 1, every service stalls.
    pub every_services: f64,
    /// Mean length, ns.
    pub mean_ns: f64,
    /// Share of the length that is exponential, in `[0, 1]`. The rest is constant.
    pub spread: f64,
}

impl StallSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        if !(self.every_services >= 1.0 && self.every_services.is_finite()) {
            let every = self.every_services;
            return Err(format!("every_services is {every}, less than 1"));
        }
        if !(0.0..=1e9).contains(&self.mean_ns) {
            return Err(format!("mean_ns is {}, not in [0, 1e9]", self.mean_ns));
        }
        if !(0.0..=1.0).contains(&self.spread) {
            return Err(format!("spread is {}, not in [0, 1]", self.spread));
        }
        Ok(())
    }
}

/// One kind of stall in progress.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    spec: StallSpec,
    rng: Rng,
    /// Factor that turns an exponential number into a number of services, before rounding.
    between: f64,
    /// Services until the next stall.
    left: u64,
}

impl Stalls {
    /// Creates the `index`-th kind of stall of a drive.
    pub(crate) fn new(spec: StallSpec, seed: u64, index: usize) -> Self {
        let mut stalls = Self {
            spec,
            rng: Rng::new(child_seed(seed, index as u64), Stream::Arrivals),
            between: -1.0 / libm::log1p(-1.0 / spec.every_services),
            left: 0,
        };
        stalls.left = stalls.gap();
        stalls
    }

    /// Draws the services until the next stall: geometric, since every service stalls with the same probability.
    fn gap(&mut self) -> u64 {
        (self.rng.exponential() * self.between) as u64
    }

    #[cold]
    fn length(&mut self) -> Nanos {
        let StallSpec {
            mean_ns, spread, ..
        } = self.spec;
        ((1.0 - spread + spread * self.rng.exponential()) * mean_ns) as Nanos
    }

    /// Returns how long the server stalls before its next service.
    #[inline]
    pub(crate) fn before_service(&mut self) -> Nanos {
        if self.left > 0 {
            self.left -= 1;
            return 0;
        }
        self.left = self.gap();
        self.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_have_their_frequency_and_mean_length() {
        for every_services in [1.0, 1.5, 4.0, 100.0] {
            let spec = StallSpec {
                every_services,
                mean_ns: 5_000.0,
                spread: 0.5,
            };
            let mut stalls = Stalls::new(spec, 7, 0);
            let services = 4_000_000;
            let lengths: Vec<_> = (0..services)
                .map(|_| stalls.before_service())
                .filter(|&length| length > 0)
                .collect();
            // At least 40,000 stalls: three standard errors are 1.5 %.
            let expected = f64::from(services) / every_services;
            assert!((lengths.len() as f64 / expected - 1.0).abs() < 0.015);
            let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
            assert!((mean / 5_000.0 - 1.0).abs() < 0.015, "{mean}");
        }
    }
}
