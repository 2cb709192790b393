//! Mean parts of all requests, and of those around each quantile of their latency.

use std::collections::BTreeMap;

use serde::Serialize;

use super::part::Part;
use super::sums::{Bucket, Sums};

/// The quantiles around which requests are explained.
pub const QUANTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// How far a band reaches: from this multiple of the share beyond its quantile to this fraction of it. The band of p99
/// is that of p98.5 to p99.33.
const REACH: f64 = 1.5;

/// The most that a band reaches to either side, as a share of all requests: those around p50 rank from p47 to p53.
const WIDEST: f64 = 0.03;

/// The fewest requests beyond a quantile that is explained.
const FEWEST: f64 = 10.0;

/// Mean parts by their names, ns. Parts that took no time are left out.
type Means = BTreeMap<&'static str, f64>;

/// The requests around a quantile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// The quantile.
    pub quantile: f64,
    /// How many they are. A bucket at the edge counts in proportion.
    pub count: f64,
    /// Their mean latency, ns: the sum of the parts.
    pub mean_ns: f64,
    /// The mean of each part.
    pub parts_ns: Means,
}

/// The requests of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionParts {
    /// How many they are.
    pub count: u64,
    /// Their mean latency, ns: the sum of the parts.
    pub mean_ns: f64,
    /// The mean of each part.
    pub parts_ns: Means,
    /// By quantile; only those with at least ten requests beyond.
    pub bands: Vec<Band>,
}

/// The requests of one reported row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowParts {
    /// Index of the stage.
    pub stage: u32,
    /// The reported row.
    pub row: u32,
    /// The job's name.
    pub name: String,
    /// By the name of the direction.
    pub directions: BTreeMap<&'static str, DirectionParts>,
}

/// Returns the mean parts of the requests of one direction; `None` if there are none.
pub(super) fn of(sums: &Sums) -> Option<DirectionParts> {
    let count: u64 = sums.0.values().map(|bucket| bucket.count).sum();
    if count == 0 {
        return None;
    }
    let all = count as f64;
    let (_, mean_ns, parts_ns) = means(sums, 0.0, all);
    let supported = QUANTILES
        .iter()
        .filter(|&&quantile| libm::round((1.0 - quantile) * all) >= FEWEST);
    let bands = supported.map(|&quantile| {
        let beyond = 1.0 - quantile;
        let from = (1.0 - beyond * REACH).max(quantile - WIDEST) * all;
        let to = (1.0 - beyond / REACH).min(quantile + WIDEST) * all;
        let (count, mean_ns, parts_ns) = means(sums, from, to);
        Band {
            quantile,
            count,
            mean_ns,
            parts_ns,
        }
    });
    Some(DirectionParts {
        count,
        mean_ns,
        parts_ns,
        bands: bands.collect(),
    })
}

/// Returns how many requests rank from `from` to `to`, their mean latency and their mean parts.
fn means(sums: &Sums, from: f64, to: f64) -> (f64, f64, Means) {
    let mut totals = [0.0; Part::COUNT];
    let mut below = 0.0;
    for Bucket { count, parts } in sums.0.values() {
        let count = *count as f64;
        let inside = (to.min(below + count) - from.max(below)).max(0.0);
        for (total, &part) in totals.iter_mut().zip(parts) {
            *total += part as f64 * inside / count;
        }
        below += count;
    }
    let count = to - from;
    let named = Part::ALL.iter().zip(totals);
    let named = named.filter(|&(_, total)| total > 0.0);
    (
        count,
        totals.iter().sum::<f64>() / count,
        named
            .map(|(part, total)| (part.name(), total / count))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::book::{Ledger, Spent};
    use super::*;

    /// Creates the sums of requests that spend 100 ns in the pipe, and every hundredth 900 ns more in a stall.
    fn sums(count: u64) -> Sums {
        let mut sums = Sums::default();
        for request in 0..count {
            let mut spent = Spent::since(0);
            let stall = if request % 100 == 0 { 900.0 } else { 0.0 };
            spent.until(Part::Stall, stall);
            spent.until(Part::Pipe, stall + 100.0);
            sums.add(&spent);
        }
        sums
    }

    #[test]
    fn the_mean_is_over_all_and_a_band_around_its_quantile() {
        let parts = of(&sums(10_000)).unwrap();
        assert_eq!((parts.count, parts.mean_ns), (10_000, 109.0));
        assert_eq!(
            (parts.parts_ns["pipe"], parts.parts_ns["stall"]),
            (100.0, 9.0)
        );
        let stalled = |band: &Band| band.parts_ns.get("stall").copied().unwrap_or(0.0);
        let at: Vec<f64> = parts.bands.iter().map(stalled).collect();
        // Of the band of p99, from p98.5 to p99.33, the upper two fifths stalled. That of p99.99 has too few requests.
        let expected = [0.0, 0.0, 360.0, 900.0];
        assert_eq!(at.len(), expected.len());
        for (stall, expected) in at.iter().zip(expected) {
            assert!((stall - expected).abs() < 1e-6, "{stall}");
        }
        for band in &parts.bands {
            let sum: f64 = band.parts_ns.values().sum();
            assert!((sum - band.mean_ns).abs() < 1e-9);
        }
    }

    #[test]
    fn no_requests_have_no_parts() {
        assert_eq!(of(&sums(0)), None);
        assert_eq!(of(&sums(5)).unwrap().bands, []);
    }
}
