//! A seeded bijection of `[0, count)`: visits every block exactly once, in an order that looks random, without memory.
//!
//! Rounds of multiply-and-shift permute the next power of two. A value outside `[0, count)` goes through again ("cycle
//! walking"), less than twice on average, so that the result stays a bijection. It orders a pass over a region under a
//! random map of one block size. It also scatters the ranks of a skewed distribution, so that every block can be drawn
//! (fio's scattering hash is not a bijection: some blocks are never touched).
//!
//! It is not for cryptography.
//!
//! Source: Black and Rogaway, "Ciphers with arbitrary finite domains" (2002), for cycle walking.

use super::rng::Rng;

/// One round more than the tests below need: with three rounds, some seeds fail them grossly.
const ROUNDS: usize = 5;

/// A bijection of `[0, count)`.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    /// Factor (odd, so that multiplication can be undone) and summand of each round.
    rounds: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// Chooses a permutation of `[0, count)` by the bits of `rng`. `count` is positive.
    pub(super) fn new(count: u64, rng: &mut Rng) -> Self {
        debug_assert!(count > 0);
        let bits = (u64::BITS - (count - 1).leading_zeros()).max(1);
        Self {
            count,
            mask: u64::MAX >> (u64::BITS - bits),
            shift: bits.div_ceil(2),
            rounds: std::array::from_fn(|_| (rng.bits() | 1, rng.bits())),
        }
    }

    /// Returns how many values are permuted.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the block that `index`, in `[0, count)`, maps to.
    #[inline]
    pub(super) fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut value = index;
        loop {
            for (factor, summand) in self.rounds {
                value = value.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                value ^= value >> self.shift;
            }
            if value < self.count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::rng::Stream;
    use super::super::tests::statistics::assert_uniform;
    use super::*;

    fn permutation(count: u64, seed: u64) -> Permutation {
        Permutation::new(count, &mut Rng::new(seed, Stream::Offsets))
    }

    #[test]
    fn every_value_is_taken_once() {
        for count in (1..=300).chain([4095, 4096, 4097, 100_003]) {
            let permutation = permutation(count, count);
            let mut values: Vec<u64> = (0..count).map(|index| permutation.at(index)).collect();
            values.sort_unstable();
            assert!(values.into_iter().eq(0..count), "count {count}");
        }
    }

    #[test]
    fn large_counts_stay_in_range_and_do_not_repeat() {
        for count in [(1 << 34) - 1, (1 << 40) + 1, u64::MAX] {
            let permutation = permutation(count, 3);
            let values: HashSet<u64> = (0..100_003).map(|index| permutation.at(index)).collect();
            assert_eq!(values.len(), 100_003);
            assert!(values.iter().all(|value| *value < count));
        }
    }

    #[test]
    fn all_orders_of_four_occur() {
        let orders: HashSet<[u64; 4]> = (0..2000)
            .map(|seed| {
                let permutation = permutation(4, seed);
                std::array::from_fn(|index| permutation.at(index as u64))
            })
            .collect();
        assert_eq!(orders.len(), 24);
    }

    #[test]
    fn the_seed_puts_each_index_anywhere() {
        for count in [10, 64, 1000] {
            for index in [0, 1, count - 1] {
                let mut counts = vec![0; count as usize];
                for seed in 0..count * 100 {
                    counts[permutation(count, seed).at(index) as usize] += 1;
                }
                assert_uniform(&counts);
            }
        }
    }

    /// The first eighth of a pass must look like independent draws, in which one request does not predict the next
    /// ones. (A longer part could not, since no block comes twice.)
    #[test]
    fn an_order_looks_random() {
        for count in [1 << 18, (1 << 18) + 1, 250_000, 1 << 28, (1 << 34) - 12_345] {
            let order = permutation(count, 9);
            for lag in [1, 2, 3, 8, 64] {
                let mut pairs = [0; 256];
                for index in 0..(count / 8).min(200_000) - lag {
                    let bucket =
                        |index| (u128::from(order.at(index)) * 16 / u128::from(count)) as usize;
                    pairs[bucket(index) * 16 + bucket(index + lag)] += 1;
                }
                assert_uniform(&pairs);
            }
            let mut low_bits = [0; 64];
            for index in 0..(count / 8).min(200_000) - 1 {
                low_bits[(order.at(index) % 8 * 8 + order.at(index + 1) % 8) as usize] += 1;
            }
            assert_uniform(&low_bits);
        }
    }

    #[test]
    fn distances_between_neighbours_are_spread() {
        for (count, seed) in [
            (1 << 14, 1),
            (1 << 16, 2),
            (1 << 18, 3),
            (1 << 20, 4),
            (250_000, 5),
        ] {
            let order = permutation(count, seed);
            let mut counts = [0; 128];
            for index in 0..count / 8 {
                let distance = (order.at(index + 1) + count - order.at(index)) % count;
                counts[(distance * 128 / count) as usize] += 1;
            }
            assert_uniform(&counts);
        }
    }
}
