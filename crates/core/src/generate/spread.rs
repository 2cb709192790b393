//! Draws random positions in a region: uniform, zipf, pareto, normal or zoned.
//!
//! Positions are block numbers in `[0, count)`. Zipf and pareto draw ranks; rank 0 is the likeliest. A permutation
//! scatters the ranks, so that hot blocks lie anywhere and every block has exactly one rank. A `center` rotates the
//! scattered blocks until the likeliest lies there. Normal is not scattered and stays a bell around its centre (fio
//! scatters it, and the centre then has no effect). Its deviation is the standard deviation in percent of the region;
//! it is cut off half a region from the centre and wraps around the region's ends. The skewed distributions repeat
//! blocks, so no random map applies to them.
//!
//! Source: fio's random_distribution, HOWTO and lib/zipf.c, lib/gauss.c.

use super::permutation::Permutation;
use super::rng::Rng;
use super::zipf::Zipf;
use crate::plan::{Distribution, Zone};

/// Weight of one percent of a zoned distribution.
const WEIGHT_PER_PERCENT: f64 = (1u64 << 40) as f64;

/// A distribution of positions in `[0, count)`.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    /// All positions equally likely.
    Uniform { count: u64 },
    /// Rank k with weight `(k + 1)^-theta`.
    Zipf { zipf: Zipf, scatter: Scatter },
    /// A share `h` of the blocks gets a share `1 - h` of the draws, and likewise within those blocks.
    Pareto {
        count: u64,
        power: f64,
        scatter: Scatter,
    },
    /// A bell around `center`; both in blocks.
    Normal {
        count: u64,
        center: f64,
        deviation: f64,
    },
    /// One zone after the other, ordered by position.
    Zoned { zones: Box<[ZoneBlocks]> },
}

/// A zone in blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZoneBlocks {
    first: u64,
    count: u64,
    /// Weight of this zone and of all before it.
    cumulative: u64,
}

/// Maps a rank to its block.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    permutation: Permutation,
    rotation: u64,
}

impl Scatter {
    fn new(count: u64, center: Option<f64>, rng: &mut Rng) -> Self {
        let permutation = Permutation::new(count, rng);
        let rotation = match center {
            None => 0,
            Some(center) => {
                let wanted = ((count as f64 * center) as u64).min(count - 1);
                let unrotated = permutation.at(0);
                if wanted >= unrotated {
                    wanted - unrotated
                } else {
                    count - (unrotated - wanted)
                }
            }
        };
        Self {
            permutation,
            rotation,
        }
    }

    #[inline]
    fn block(&self, rank: u64) -> u64 {
        let turned = self.permutation.at(rank) + self.rotation;
        if turned >= self.permutation.count() {
            turned - self.permutation.count()
        } else {
            turned
        }
    }
}

impl Spread {
    /// Creates the plan's distribution over `count` (positive) blocks; returns `None` if no zone has a share. `scatter`
    /// decides which blocks are hot.
    pub(super) fn new(distribution: &Distribution, count: u64, scatter: &mut Rng) -> Option<Self> {
        Some(match distribution {
            Distribution::Random => Spread::Uniform { count },
            Distribution::Zipf { theta, center } => Spread::Zipf {
                zipf: Zipf::new(count, *theta),
                scatter: Scatter::new(count, *center, scatter),
            },
            Distribution::Pareto { h, center } => Spread::Pareto {
                count,
                power: libm::log(*h) / libm::log1p(-*h),
                scatter: Scatter::new(count, *center, scatter),
            },
            Distribution::Normal {
                deviation_percent,
                center,
            } => Spread::Normal {
                count,
                center: count as f64 * center.unwrap_or(0.5),
                deviation: count as f64 * (deviation_percent / 100.0),
            },
            Distribution::Zoned { zones } => Spread::Zoned {
                zones: lay_out(zones, count)?,
            },
        })
    }

    /// Draws a position.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Spread::Uniform { count } => rng.below(*count),
            Spread::Zipf { zipf, scatter } => scatter.block(zipf.draw(rng)),
            Spread::Pareto {
                count,
                power,
                scatter,
            } => {
                let rank = (*count as f64 * libm::pow(rng.unit(), *power)) as u64;
                scatter.block(rank.min(count - 1))
            }
            Spread::Normal {
                count,
                center,
                deviation,
            } => draw_normal(*count, *center, *deviation, rng),
            Spread::Zoned { zones } => {
                let point = rng.below(zones[zones.len() - 1].cumulative);
                let zone = &zones[zones.partition_point(|zone| zone.cumulative <= point)];
                zone.first + rng.below(zone.count)
            }
        }
    }
}

fn draw_normal(count: u64, center: f64, deviation: f64, rng: &mut Rng) -> u64 {
    let blocks = count as f64;
    let distance = loop {
        let distance = deviation * rng.normal();
        if distance >= -blocks / 2.0 && distance < blocks / 2.0 {
            break distance;
        }
    };
    let position = center + distance;
    let turned = position - blocks * libm::floor(position / blocks);
    (turned as u64).min(count - 1)
}

/// Converts zones to blocks. A zone smaller than a block gets one, so that its accesses go somewhere.
fn lay_out(zones: &[Zone], count: u64) -> Option<Box<[ZoneBlocks]>> {
    let (mut size_percent, mut cumulative) = (0.0, 0u64);
    let mut blocks = Vec::new();
    for zone in zones {
        let first = position(size_percent, count).min(count - 1);
        size_percent += zone.size_percent;
        let weight = (zone.access_percent * WEIGHT_PER_PERCENT) as u64;
        if weight == 0 {
            continue;
        }
        cumulative += weight;
        let end = position(size_percent, count).max(first + 1);
        blocks.push(ZoneBlocks {
            first,
            count: end - first,
            cumulative,
        });
    }
    (!blocks.is_empty()).then(|| blocks.into_boxed_slice())
}

fn position(percent: f64, count: u64) -> u64 {
    ((count as f64 * percent / 100.0) as u64).min(count)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::rng::Stream;
    use super::super::tests::statistics::{assert_chi_square, assert_distributed, assert_uniform};
    use super::*;

    fn spread(distribution: &Distribution, count: u64) -> Spread {
        let mut scatter = Rng::new(1, Stream::Scatter);
        Spread::new(distribution, count, &mut scatter).expect("zones have shares")
    }

    fn histogram(spread: &Spread, count: u64, draws: u32) -> Vec<u64> {
        let mut rng = Rng::new(2, Stream::Offsets);
        let mut counts = vec![0; count as usize];
        for _ in 0..draws {
            counts[spread.draw(&mut rng) as usize] += 1;
        }
        counts
    }

    fn hottest(distribution: &Distribution, count: u64) -> usize {
        let counts = histogram(&spread(distribution, count), count, 100_000);
        (0..counts.len())
            .max_by_key(|block| counts[*block])
            .expect("there are blocks")
    }

    #[test]
    fn pareto_gives_a_share_h_of_the_blocks_the_rest_of_the_draws() {
        let (count, h) = (1000, 0.2);
        let pareto = spread(&Distribution::Pareto { h, center: None }, count);
        let Spread::Pareto { scatter, .. } = &pareto else {
            unreachable!()
        };
        let counts = histogram(&pareto, count, 1_000_000);
        let by_rank: Vec<u64> = (0..count)
            .map(|rank| counts[scatter.block(rank) as usize])
            .collect();
        // P(rank < k) = (k / count)^(log(1-h) / log(h)): at k = h * count this is 1 - h.
        let exponent = libm::log(1.0 - h) / libm::log(h);
        let below = |rank: u64| libm::pow(rank as f64 / count as f64, exponent);
        let expected: Vec<f64> = (0..count)
            .map(|rank| 1e6 * (below(rank + 1) - below(rank)))
            .collect();
        assert_chi_square(&by_rank, &expected);
        let hot: u64 = by_rank[..200].iter().sum();
        assert!((hot as f64 / 1e6 - 0.8).abs() < 0.0016, "{hot}");
    }

    #[test]
    fn hot_blocks_lie_at_the_center_if_there_is_one() {
        for center in [0.0, 0.25, 0.999, 1.0] {
            let expected = ((1000.0 * center) as usize).min(999);
            assert_eq!(
                hottest(
                    &Distribution::Zipf {
                        theta: 1.2,
                        center: Some(center)
                    },
                    1000
                ),
                expected
            );
            assert_eq!(
                hottest(
                    &Distribution::Pareto {
                        h: 0.1,
                        center: Some(center)
                    },
                    1000
                ),
                expected
            );
        }
    }

    #[test]
    fn scattering_reaches_every_block() {
        for center in [None, Some(0.3)] {
            for count in [1, 2, 5, 64, 999] {
                let scatter = Scatter::new(count, center, &mut Rng::new(count, Stream::Scatter));
                let blocks: HashSet<u64> = (0..count).map(|rank| scatter.block(rank)).collect();
                assert_eq!(blocks.len() as u64, count);
                assert!(blocks.iter().all(|block| *block < count));
            }
        }
    }

    #[test]
    fn normal_is_a_bell_around_its_center() {
        for (center, deviation_percent) in [(None, 10.0), (Some(0.5), 5.0), (Some(0.3), 4.0)] {
            let count = 1 << 30;
            let normal = spread(
                &Distribution::Normal {
                    deviation_percent,
                    center,
                },
                count,
            );
            let mut rng = Rng::new(3, Stream::Offsets);
            let sample: Vec<f64> = (0..100_000)
                .map(|_| {
                    (normal.draw(&mut rng) as f64 / count as f64 - center.unwrap_or(0.5)) * 100.0
                        / deviation_percent
                })
                .collect();
            assert_distributed(sample, |z| libm::erfc(-z / 2f64.sqrt()) / 2.0);
        }
    }

    #[test]
    fn normal_goes_round_the_ends_and_may_have_no_width() {
        let at_the_start = Distribution::Normal {
            deviation_percent: 1.0,
            center: Some(0.0),
        };
        let counts = histogram(&spread(&at_the_start, 1000), 1000, 100_000);
        let (left, right): (u64, u64) = (counts[500..].iter().sum(), counts[..500].iter().sum());
        assert_uniform(&[left, right]);
        let no_width = Distribution::Normal {
            deviation_percent: 0.0,
            center: Some(1.0),
        };
        let counts = histogram(&spread(&no_width, 1000), 1000, 1000);
        assert_eq!(counts.iter().max(), Some(&1000));
        let wide = Distribution::Normal {
            deviation_percent: 100.0,
            center: None,
        };
        assert!(
            histogram(&spread(&wide, 100), 100, 100_000)
                .iter()
                .all(|count| *count > 0)
        );
    }

    #[test]
    fn zones_get_their_shares_evenly() {
        let zones = [(60.0, 10.0), (30.0, 20.0), (8.0, 30.0), (2.0, 40.0)].map(
            |(access_percent, size_percent)| Zone {
                access_percent,
                size_percent,
            },
        );
        let counts = histogram(
            &spread(
                &Distribution::Zoned {
                    zones: zones.to_vec(),
                },
                100,
            ),
            100,
            200_000,
        );
        let expected: Vec<f64> = (0..100)
            .map(|block| match block {
                0..10 => 2e5 * 0.6 / 10.0,
                10..30 => 2e5 * 0.3 / 20.0,
                30..60 => 2e5 * 0.08 / 30.0,
                _ => 2e5 * 0.02 / 40.0,
            })
            .collect();
        assert_chi_square(&counts, &expected);
    }

    #[test]
    fn a_zone_smaller_than_a_block_still_gets_its_accesses() {
        let zones =
            [(50.0, 0.1), (0.0, 49.9), (50.0, 50.0)].map(|(access_percent, size_percent)| Zone {
                access_percent,
                size_percent,
            });
        let counts = histogram(
            &spread(
                &Distribution::Zoned {
                    zones: zones.to_vec(),
                },
                10,
            ),
            10,
            10_000,
        );
        assert_uniform(&[counts[0], counts[5..].iter().sum()]);
        assert_eq!(counts[1..5].iter().sum::<u64>(), 0);
        assert!(
            Spread::new(
                &Distribution::Zoned { zones: vec![] },
                10,
                &mut Rng::new(1, Stream::Scatter)
            )
            .is_none()
        );
    }
}
