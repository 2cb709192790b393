//! The bias of a served model: how much longer a program waits than the model says.

use iogauge_core::Nanos;
use serde::Serialize;

/// The largest bias that a model is served with, fraction.
pub const MOST_BIAS: f64 = 0.20;

/// The latency that a program sees beyond the model's, at a queue depth of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bias {
    /// Extra wait, median, real ns.
    pub overhead_ns: Nanos,
    /// The model's time for a read of 4 KiB, mean, virtual ns.
    pub drive_ns: Nanos,
    /// The extra wait as a share of the model's time: `overhead_ns / (dilation * drive_ns)`.
    pub fraction: f64,
}

impl Bias {
    /// Returns a dilation at which the bias stays below `most`. It is a quarter more than computed, because CPUs sleep
    /// more deeply in longer waits, and rounded up to 1, 2 or 5 times a power of ten.
    pub(crate) fn enough(&self, most: f64) -> u32 {
        let least = 1.25 * self.overhead_ns as f64 / (most * self.drive_ns as f64);
        let steps = (0..9).flat_map(|power| [1, 2, 5].map(|step| step * 10u32.pow(power)));
        let mut fitting = steps.filter(|&dilate| f64::from(dilate) >= least);
        fitting.next().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sufficient_dilation_is_named() {
        let bias = |overhead_ns, drive_ns| Bias {
            overhead_ns,
            drive_ns,
            fraction: 1.0,
        };
        // 30 us are a fifth of 10 us dilated by 15; a quarter more is 18.75.
        assert_eq!(bias(30_000, 10_000).enough(0.2), 20);
        assert_eq!(bias(60_000, 10_000).enough(0.2), 50);
        assert_eq!(bias(10, 10_000).enough(0.2), 1);
        assert_eq!(bias(u64::MAX, 1).enough(0.2), u32::MAX);
    }
}
