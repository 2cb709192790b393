//! What was served, and how late replies were sent, in real time.

use iogauge_core::Nanos;
use iogauge_core::recorder::{Histogram, Merged};
use serde::Serialize;

use crate::protocol::{Command, Request};

/// What was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Clients that were accepted.
    pub connections: u64,
    /// Clients that were refused because there were too many.
    pub turned_away: u64,
    /// Sleeps of the loop that lasted to their end; for tests.
    #[serde(skip)]
    pub idle_sleeps: u64,
    /// Times that the power was cut.
    pub power_cuts: u64,
    /// Faults that happened.
    pub faults: u64,
    /// Requests for the drive that arrived.
    pub requests: u64,
    /// Bytes of reads that were submitted to the drive.
    pub read_bytes: u64,
    /// Bytes of writes that were submitted to the drive; zeroes count if they take up space.
    pub written_bytes: u64,
    /// Median of the replies' lateness, real ns.
    pub late_p50_ns: Nanos,
    /// The 99th percentile.
    pub late_p99_ns: Nanos,
    /// The maximum.
    pub late_most_ns: Nanos,
    /// Median of the lateness as a fraction of the model's time for the request, dilated.
    pub late_p50: f64,
    /// The 99th percentile of the same.
    pub late_p99: f64,
}

impl Summary {
    /// Counts a piece of a request that is submitted to the drive.
    pub(crate) fn submitted(&mut self, piece: Request) {
        let bytes = u64::from(piece.length_bytes);
        match piece.command {
            Command::Read => self.read_bytes += bytes,
            Command::Write | Command::Zero { provision: true } => self.written_bytes += bytes,
            Command::Trim | Command::Zero { provision: false } | Command::Flush => {}
        }
    }
}

/// A histogram of any length: merges its counts into 64-bit ones before they overflow.
#[derive(Default)]
struct Counts {
    recent: Histogram,
    earlier: Merged,
}

impl Counts {
    fn record(&mut self, value: u64) {
        self.recent.record(value, 1);
        if self.recent.exact().count >= 1 << 24 {
            self.earlier.add(&self.recent);
            self.recent.clear();
        }
    }

    fn all(mut self) -> Merged {
        self.earlier.add(&self.recent);
        self.earlier
    }
}

/// The lateness of replies.
#[derive(Default)]
pub(crate) struct Lateness {
    ns: Counts,
    /// In millionths of the request's time.
    ppm: Counts,
}

impl Lateness {
    /// Records the lateness of a reply that should have taken `expected_ns`, both in real time.
    pub(crate) fn record(&mut self, late_ns: Nanos, expected_ns: Nanos) {
        self.ns.record(late_ns);
        let ppm = u128::from(late_ns) * 1_000_000 / u128::from(expected_ns.max(1));
        self.ppm.record(u64::try_from(ppm).unwrap_or(u64::MAX));
    }

    /// Writes the figures into a summary.
    pub(crate) fn conclude(self, summary: &mut Summary) {
        let (ns, ppm) = (self.ns.all(), self.ppm.all());
        summary.late_p50_ns = ns.quantile(0.5);
        summary.late_p99_ns = ns.quantile(0.99);
        summary.late_most_ns = ns.exact().max_ns;
        summary.late_p50 = ppm.quantile(0.5) as f64 / 1e6;
        summary.late_p99 = ppm.quantile(0.99) as f64 / 1e6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_a_time_and_a_share() {
        let mut late = Lateness::default();
        for _ in 0..99 {
            late.record(10_000, 1_000_000);
        }
        late.record(500_000, 1_000_000);
        let mut summary = Summary::default();
        late.conclude(&mut summary);
        assert!((10_000..=10_010).contains(&summary.late_p50_ns));
        assert!((10_000..=10_010).contains(&summary.late_p99_ns));
        assert_eq!(summary.late_most_ns, 500_000);
        assert!((summary.late_p50 - 0.01).abs() < 1e-4);
        let mut nothing = Summary::default();
        Lateness::default().conclude(&mut nothing);
        assert_eq!(nothing, Summary::default());
    }
}
