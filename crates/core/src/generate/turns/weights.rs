//! How likely each file is if a distribution draws them: fio's file_service_type=zipf, pareto and normal.
//!
//! As in fio, files lie in their order, each a range of 1,024 positions, and the likeliest positions are neighbours. The
//! center says where the likeliest is. Without one, zipf and pareto begin anywhere, and a bell is in the middle. fio
//! draws positions until one is in a file that may come; these weights give the same chances to a single draw.
//!
//! fio's bell is the mean of 12 uniform numbers, whose standard deviation is a twelfth of all files. The deviation adds a
//! uniform number as wide as this share of the files.
//!
//! Source: fio 3.33's init.c (init_rand_file_service), lib/zipf.c, lib/gauss.c.

use crate::generate::rng::Rng;
use crate::plan::Distribution;

/// Positions of a file.
const POSITIONS: u64 = 1 << 10;

/// Ranks of a zipf distribution whose weights are added one by one; the others are integrated.
const ADDED: u64 = 1 << 10;

/// Returns the weights of the files; `None` if all are alike. `rng` decides where the likeliest is if that is anywhere.
pub(super) fn weights(
    distribution: &Distribution,
    files: usize,
    rng: &mut Rng,
) -> Option<Box<[f64]>> {
    let positions = files as u64 * POSITIONS;
    let anywhere = |center: &Option<f64>, rng: &mut Rng| match center {
        Some(center) => (positions as f64 * center) as u64 % positions,
        None => rng.below(positions),
    };
    Some(match distribution {
        Distribution::Random | Distribution::Zoned { .. } => return None,
        Distribution::Zipf { theta, center } => {
            let start = anywhere(center, rng);
            let first: Vec<f64> = std::iter::once(0.0)
                .chain((1..=ADDED).scan(0.0, |sum, rank| {
                    *sum += libm::pow(rank as f64, -theta);
                    Some(*sum)
                }))
                .collect();
            let below = |rank: u64| match first.get(rank as usize) {
                Some(sum) => *sum,
                None => first[ADDED as usize] + integral(*theta, rank),
            };
            of_ranges(files, start, below)
        }
        Distribution::Pareto { h, center } => {
            let start = anywhere(center, rng);
            let power = libm::log1p(-*h) / libm::log(*h);
            of_ranges(files, start, |rank| {
                libm::pow(rank as f64 / positions as f64, power)
            })
        }
        Distribution::Normal {
            deviation_percent,
            center,
        } => {
            let shift = center.unwrap_or(0.5) - 0.5;
            let start = (positions as f64 * shift.rem_euclid(1.0)) as u64 % positions;
            let width = (deviation_percent / 100.0).min(0.5);
            of_ranges(files, start, |rank| {
                bell(rank as f64 / positions as f64, width)
            })
        }
    })
}

/// Returns the weight of each file. The ranks begin at position `start`; `below` is the weight of all ranks below one.
fn of_ranges(files: usize, start: u64, below: impl Fn(u64) -> f64) -> Box<[f64]> {
    let positions = files as u64 * POSITIONS;
    (0..files as u64)
        .map(|file| {
            let first = (file * POSITIONS + positions - start) % positions;
            let end = first + POSITIONS;
            match end.checked_sub(positions) {
                Some(wrapped) => below(positions) - below(first) + below(wrapped) - below(0),
                None => below(end) - below(first),
            }
        })
        .collect()
}

/// Integrates `x^-theta` over the ranks from `ADDED` to `rank`.
fn integral(theta: f64, rank: u64) -> f64 {
    let (low, high) = (ADDED as f64 + 0.5, rank as f64 + 0.5);
    if theta == 1.0 {
        return libm::log(high / low);
    }
    (libm::pow(high, 1.0 - theta) - libm::pow(low, 1.0 - theta)) / (1.0 - theta)
}

/// Returns the share of a bell below `x` in [0, 1], to which a uniform number of this width was added.
fn bell(x: f64, width: f64) -> f64 {
    const DEVIATION: f64 = 1.0 / 12.0;
    let below = |z: f64| libm::erfc(-z / std::f64::consts::SQRT_2) / 2.0;
    let z = (x - 0.5) / DEVIATION;
    if width == 0.0 {
        return below(z);
    }
    let density = |z: f64| libm::exp(-z * z / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
    let area = |z: f64| z * below(z) + density(z);
    let half = width / DEVIATION / 2.0;
    (area(z + half) - area(z - half)) / (2.0 * half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::rng::Stream;

    fn shares(distribution: &Distribution, files: usize) -> Vec<f64> {
        let weights = weights(distribution, files, &mut Rng::new(1, Stream::Scatter)).unwrap();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    fn assert_close(ours: &[f64], expected: &[f64]) {
        for (one, other) in ours.iter().zip(expected) {
            assert!((one - other).abs() < 1e-6, "{ours:?}, not {expected:?}");
        }
    }

    #[test]
    fn a_zipf_files_share_is_that_of_its_ranks() {
        for theta in [0.5, 1.0, 1.2, 3.0] {
            let weight = |rank: u64| libm::pow(rank as f64, -theta);
            let sums: Vec<f64> = (0..7)
                .map(|file| (file * 1024 + 1..=(file + 1) * 1024).map(weight).sum())
                .collect();
            let total: f64 = sums.iter().sum();
            let expected: Vec<f64> = sums.iter().map(|sum| sum / total).collect();
            let center = Some(0.0);
            assert_close(&shares(&Distribution::Zipf { theta, center }, 7), &expected);
        }
    }

    #[test]
    fn the_likeliest_file_is_at_the_center() {
        for (center, expected) in [(0.0, 0), (0.3, 2), (0.999, 7), (1.0, 0)] {
            let center = Some(center);
            for distribution in [
                Distribution::Zipf { theta: 2.0, center },
                Distribution::Pareto { h: 0.05, center },
            ] {
                let shares = shares(&distribution, 8);
                let likeliest = (0..8).max_by(|a, b| shares[*a].total_cmp(&shares[*b]));
                assert_eq!(likeliest, Some(expected), "{distribution:?}: {shares:?}");
            }
        }
    }

    #[test]
    fn a_share_h_of_the_files_gets_the_rest_of_the_draws() {
        let (h, center) = (0.2, Some(0.0));
        let shares = shares(&Distribution::Pareto { h, center }, 10);
        assert!((shares[..2].iter().sum::<f64>() - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_bell_is_the_mean_of_twelve_numbers_and_a_uniform_one() {
        for deviation_percent in [0.0, 10.0, 40.0, 90.0] {
            let mut rng = Rng::new(3, Stream::Files);
            let mut counts = [0.0; 10];
            let draws = 200_000;
            for _ in 0..draws {
                let mean = (0..12).map(|_| rng.unit()).sum::<f64>() / 12.0;
                let added = (rng.unit() - 0.5) * (deviation_percent / 100.0_f64).min(0.5);
                counts[(((mean + added) * 10.0) as usize).min(9)] += 1.0 / f64::from(draws);
            }
            let distribution = Distribution::Normal {
                deviation_percent,
                center: None,
            };
            for (one, other) in shares(&distribution, 10).iter().zip(counts) {
                assert!((one - other).abs() < 0.004, "{one} {other}");
            }
        }
        let moved = Distribution::Normal {
            deviation_percent: 0.0,
            center: Some(0.25),
        };
        let shares = shares(&moved, 8);
        assert!((shares[1] - shares[2]).abs() < 1e-9, "{shares:?}");
    }
}
