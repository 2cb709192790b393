//! Random numbers: an independent stream of one seed for each kind of decision.
//!
//! The generator is xoshiro256++ (256 bits of state, period 2^256 - 1), seeded by SplitMix64. Each kind of decision
//! (which offset, which size, read or write, when) has its own [`Stream`]. A change to one, such as a range of block
//! sizes, leaves the others as they were. Floating-point functions come from `libm`, because a system's own `log` may
//! differ in the last bit and a run must repeat on any machine.
//!
//! It is not for cryptography.
//!
//! Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021); Steele, Lea and Flood, "Fast
//! splittable pseudorandom number generators" (2014); Lemire, "Fast random integer generation in an interval" (2019).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// What a stream of random numbers decides. Streams of one seed are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// Where requests go.
    Offsets = 1,
    /// How long they are.
    Sizes = 2,
    /// Read or write.
    Mix = 3,
    /// Random or sequential, under percentage_random.
    Jumps = 4,
    /// When requests arrive.
    Arrivals = 5,
    /// What is written.
    Buffers = 6,
    /// Which blocks a skewed distribution makes hot.
    Scatter = 7,
    /// Which file is next.
    Files = 8,
    /// Which requests have a priority of their own.
    Priorities = 9,
    /// Which verified writes are trimmed.
    Trims = 10,
    /// Which faults a served drive has.
    Faults = 64,
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
const TWO_TO_MINUS_53: f64 = 1.0 / (1u64 << 53) as f64;

/// SplitMix64's finalizer: a bijection that flips about half of the bits for any change of its argument.
pub(super) const fn mix64(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Returns the seed of the `index`-th child of `seed`: children of one seed, and of neighbouring seeds, look unrelated.
///
/// ```
/// use iogauge_core::generate::child_seed;
///
/// assert_ne!(child_seed(1, 0), child_seed(1, 1));
/// assert_ne!(child_seed(1, 1), child_seed(2, 0));
/// ```
pub const fn child_seed(seed: u64, index: u64) -> u64 {
    mix64(
        mix64(seed.wrapping_add(GOLDEN_GAMMA))
            .wrapping_add(GOLDEN_GAMMA.wrapping_mul(index.wrapping_add(1))),
    )
}

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Creates the given stream of the given seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(child_seed(
            seed,
            stream as u64,
        )))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns an integer in `[0, bound)`, all exactly equally likely. `bound` must be positive.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        // The high word of bits * bound is the answer. Low words under 2^64 mod bound would make some answers more
        // likely than others, so they are drawn again.
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A multiple of 2^-53 in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * TWO_TO_MINUS_53
    }

    /// A multiple of 2^-53 in `(0, 1]`: safe to take the logarithm of.
    #[inline]
    pub fn unit_above_zero(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * TWO_TO_MINUS_53
    }

    /// Exponentially distributed with mean 1, in `[0, 36.8)`.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit_above_zero())
    }

    /// Normally distributed with mean 0 and standard deviation 1, by Marsaglia's polar method.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }

    /// Returns true with the given probability. Draws nothing if the answer is certain.
    #[inline]
    pub fn chance(&mut self, chance: Chance) -> bool {
        match chance.0 {
            0 => false,
            Chance::CERTAIN => true,
            threshold => (self.bits() >> 1) < threshold,
        }
    }
}

/// A probability, as a threshold of 63-bit numbers; 0 and 1 are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    const CERTAIN: u64 = 1 << 63;

    /// Converts a percentage in `[0, 100]`; a value outside becomes the nearer end.
    pub fn from_percent(percent: f64) -> Self {
        // The cast saturates: a negative percentage becomes 0.
        Self(((percent / 100.0) * Self::CERTAIN as f64).min(Self::CERTAIN as f64) as u64)
    }

    /// Whether it is 1.
    pub const fn is_certain(self) -> bool {
        self.0 == Self::CERTAIN
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::statistics::{assert_chi_square, assert_uniform};
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_everywhere() {
        let mut rng = Rng::new(42, Stream::Offsets);
        let first: Vec<u64> = (0..3).map(|_| rng.below(1_000_000)).collect();
        assert_eq!(first, [231504, 981841, 641149]);
        assert_eq!(rng.exponential().to_bits(), 4607217892553176652);
        assert_eq!(rng.normal().to_bits(), 13834409291768685551);
    }

    #[test]
    fn bounded_numbers_are_uniform() {
        for bound in [1, 2, 3, 7, 100, 1000] {
            let mut rng = Rng::new(bound, Stream::Sizes);
            let mut counts = vec![0; bound as usize];
            for _ in 0..100_000 {
                counts[rng.below(bound) as usize] += 1;
            }
            assert_uniform(&counts);
        }
    }

    #[test]
    fn a_bound_just_over_a_power_of_two_is_not_biased() {
        // With plain multiplication, every third of these numbers would come up twice as often.
        let bound = 3 << 62;
        let mut rng = Rng::new(1, Stream::Sizes);
        let mut counts = [0; 3];
        for _ in 0..30_000 {
            counts[(rng.below(bound) >> 62) as usize] += 1;
        }
        assert_uniform(&counts);
    }

    #[test]
    fn unit_intervals_hold_their_open_ends() {
        let mut rng = Rng::new(3, Stream::Mix);
        let mut counts = [0; 64];
        for _ in 0..100_000 {
            let below_one = rng.unit();
            let above_zero = rng.unit_above_zero();
            assert!((0.0..1.0).contains(&below_one));
            assert!(above_zero > 0.0 && above_zero <= 1.0);
            counts[(below_one * 64.0) as usize] += 1;
        }
        assert_uniform(&counts);
    }

    #[test]
    fn streams_of_one_seed_and_neighbouring_seeds_are_unrelated() {
        // Pairs of draws from two generators fill a 16 by 16 table evenly only if they are independent.
        let pairs = [
            (Rng::new(7, Stream::Offsets), Rng::new(7, Stream::Sizes)),
            (Rng::new(7, Stream::Offsets), Rng::new(8, Stream::Offsets)),
            (
                Rng::new(child_seed(7, 0), Stream::Mix),
                Rng::new(child_seed(7, 1), Stream::Mix),
            ),
        ];
        for (mut one, mut other) in pairs {
            let mut counts = [0; 256];
            for _ in 0..100_000 {
                counts[(one.below(16) * 16 + other.below(16)) as usize] += 1;
            }
            assert_uniform(&counts);
        }
    }

    #[test]
    fn chances_are_exact_at_the_ends_and_fair_between() {
        let mut rng = Rng::new(5, Stream::Mix);
        for (percent, expected) in [(0.0, 0), (100.0, 20_000), (-1.0, 0), (101.0, 20_000)] {
            let chance = Chance::from_percent(percent);
            assert_eq!((0..20_000).filter(|_| rng.chance(chance)).count(), expected);
        }
        for percent in [0.1, 33.3, 50.0, 99.0] {
            let chance = Chance::from_percent(percent);
            let hits = (0..100_000).filter(|_| rng.chance(chance)).count() as u64;
            assert_chi_square(
                &[hits, 100_000 - hits],
                &[percent * 1e3, 1e5 - percent * 1e3],
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn bounded_numbers_stay_below_their_bound(seed: u64, bound in 1..=u64::MAX) {
            let mut rng = Rng::new(seed, Stream::Offsets);
            for _ in 0..100 {
                proptest::prop_assert!(rng.below(bound) < bound);
            }
        }
    }
}
