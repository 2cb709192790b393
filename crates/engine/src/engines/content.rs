//! Generates the content of writes: random bytes of a chosen compressibility, repeated if the job wants duplicates.
//!
//! It only fills slices; `buffers.rs` decides where the buffers lie and when they are filled. The options follow fio's
//! HOWTO and code: the compressible share of every 512 bytes is zeroes or the job's pattern at their end, and a repeated
//! write has the content of the last write that was not a repeat.

use iogauge_core::plan::BufferPlan;

/// The unit of content, in bytes: the smallest sector that a drive may compress or deduplicate by itself.
pub(crate) const SECTOR: usize = 512;

/// What happens to a buffer before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing: the first content stays.
    Nothing,
    /// A few bytes of every sector change.
    Scramble,
    /// The entire content is generated anew.
    Refill,
}

/// Generates the contents of one worker's writes, the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) before: Before,
    /// All of the content, unless it is random: zeroes, or a pattern.
    fixed: bool,
    /// What is repeated where content is not random.
    pattern: Box<[u8]>,
    /// Random bytes at the start of every sector.
    random_bytes: usize,
    /// A draw below this repeats the last unique content.
    repeat_below: u64,
    draws: SplitMix,
    unique: u64,
}

impl Content {
    pub(crate) fn new(plan: &BufferPlan, seed: u64) -> Content {
        let plain = plan.compress_percent <= 0.0 && plan.dedupe_percent <= 0.0;
        let fixed = plan.zero || (plain && !plan.pattern.is_empty());
        let before = match () {
            () if plan.zero => Before::Nothing,
            () if fixed && !plan.scramble => Before::Nothing,
            () if plan.refill => Before::Refill,
            // Scrambling would make repeated content differ.
            () if plan.scramble && plain => Before::Scramble,
            () => Before::Nothing,
        };
        let mut draws = SplitMix(seed ^ 0xB0FF_E25E_ED00_0001);
        let unique = draws.next();
        Content {
            before,
            fixed,
            pattern: match plan.pattern.as_slice() {
                [] => Box::new([0]),
                bytes => bytes.into(),
            },
            random_bytes: (SECTOR as f64 * (100.0 - plan.compress_percent) / 100.0).round()
                as usize,
            repeat_below: (plan.dedupe_percent / 100.0 * u64::MAX as f64) as u64,
            draws,
            unique,
        }
    }

    /// Fills `buffer` for its next write.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        if self.fixed {
            repeat(&self.pattern, buffer);
            return;
        }
        if self.repeat_below == 0 || self.draws.next() >= self.repeat_below {
            self.unique = self.draws.next();
        }
        self.fill_from(self.unique, buffer);
    }

    /// Fills `buffer` with the content of a seed.
    pub(crate) fn fill_from(&self, seed: u64, buffer: &mut [u8]) {
        if self.fixed {
            repeat(&self.pattern, buffer);
            return;
        }
        let mut random = Random::new(seed);
        if self.random_bytes >= SECTOR {
            random.fill(buffer);
            return;
        }
        for sector in buffer.chunks_mut(SECTOR) {
            let (noise, rest) = sector.split_at_mut(self.random_bytes.min(sector.len()));
            random.fill(noise);
            repeat(&self.pattern, rest);
        }
    }

    /// Changes 16 bytes in one cache line of every sector, so that no content is written twice.
    #[inline]
    pub(crate) fn scramble(&mut self, buffer: &mut [u8], offset_bytes: u64) {
        let mut mark = self.draws.next();
        let line = (mark as usize & 7) * 64;
        for (sector, place) in buffer
            .chunks_exact_mut(SECTOR)
            .zip((offset_bytes..).step_by(SECTOR))
        {
            sector[line..line + 8].copy_from_slice(&place.to_ne_bytes());
            sector[line + 8..line + 16].copy_from_slice(&mark.to_ne_bytes());
            mark = mark.wrapping_add(1);
        }
    }
}

/// Fills `buffer` with copies of `pattern`, which is not empty; the last may be cut.
fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    for copy in buffer.chunks_mut(pattern.len()) {
        copy.copy_from_slice(&pattern[..copy.len()]);
    }
}

/// SplitMix64: one number a draw, and the seeds of [`Random`].
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// How many generators run side by side: as many as fill the vector registers.
const LANES: usize = 4;

/// xoshiro256+ (Blackman and Vigna), four at once, so that the compiler makes vector code of it: a refill must not cost
/// more than the write that follows. `rand_xoshiro` runs one generator, at a third of the speed.
struct Random {
    state: [[u64; LANES]; 4],
}

impl Random {
    fn new(seed: u64) -> Random {
        let mut seeds = SplitMix(seed);
        Random {
            state: std::array::from_fn(|_| std::array::from_fn(|_| seeds.next())),
        }
    }

    #[inline(always)]
    fn step(&mut self) -> [u64; LANES] {
        let [s0, s1, s2, s3] = &mut self.state;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = s0[i].wrapping_add(s3[i]);
            let shifted = s1[i] << 17;
            s2[i] ^= s0[i];
            s3[i] ^= s1[i];
            s1[i] ^= s2[i];
            s0[i] ^= s3[i];
            s2[i] ^= shifted;
            s3[i] = s3[i].rotate_left(45);
        }
        out
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        let mut blocks = buffer.chunks_exact_mut(8 * LANES);
        for block in &mut blocks {
            for (bytes, word) in block.chunks_exact_mut(8).zip(self.step()) {
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
        }
        let rest = blocks.into_remainder();
        if !rest.is_empty() {
            let words = self.step().map(u64::to_ne_bytes);
            for (byte, source) in rest.iter_mut().zip(words.as_flattened()) {
                *byte = *source;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    fn plan() -> BufferPlan {
        BufferPlan {
            refill: true,
            zero: false,
            scramble: true,
            compress_percent: 0.0,
            dedupe_percent: 0.0,
            pattern: vec![],
        }
    }

    #[test]
    fn a_pattern_is_repeated_instead_of_random_bytes_or_of_zeroes() {
        let pattern = b"abc".to_vec();
        let filled = |plan: BufferPlan| {
            let mut content = Content::new(&plan, 1);
            let mut buffer = vec![0u8; 1000];
            content.fill(&mut buffer);
            (content.before, buffer)
        };
        let repeated = |bytes: usize| (0..bytes).map(|at| b"abc"[at % 3]).collect::<Vec<u8>>();
        let (before, buffer) = filled(BufferPlan {
            refill: true,
            scramble: false,
            pattern: pattern.clone(),
            ..plan()
        });
        assert_eq!((before, buffer), (Before::Nothing, repeated(1000)));
        let (before, buffer) = filled(BufferPlan {
            compress_percent: 50.0,
            pattern: pattern.clone(),
            ..plan()
        });
        assert_eq!(before, Before::Refill);
        assert_eq!(buffer[256..512], repeated(256));
        assert_eq!(buffer[768..], repeated(232));
        assert_ne!(buffer[..256], repeated(256));
        // Scrambling changes the pattern, as in fio.
        let (before, _) = filled(BufferPlan {
            refill: false,
            pattern,
            ..plan()
        });
        assert_eq!(before, Before::Scramble);
    }

    #[test]
    fn lanes_are_xoshiro256plus() {
        let mut ours = Random::new(7);
        for lane in 0..LANES {
            let mut seed = [0u8; 32];
            for (bytes, word) in seed.chunks_exact_mut(8).zip(Random::new(7).state) {
                bytes.copy_from_slice(&word[lane].to_le_bytes());
            }
            let mut theirs = rand_xoshiro::Xoshiro256Plus::from_seed(seed);
            let mut ours = Random { state: ours.state };
            for _ in 0..100 {
                assert_eq!(ours.step()[lane], theirs.next_u64());
            }
        }
        ours.step();
    }

    #[test]
    fn compressible_share_is_zero_in_every_sector() {
        let mut content = Content::new(
            &BufferPlan {
                compress_percent: 75.0,
                ..plan()
            },
            1,
        );
        let mut buffer = vec![1u8; 4096 + 100];
        content.fill(&mut buffer);
        for sector in buffer
            .chunks(SECTOR)
            .filter(|sector| sector.len() == SECTOR)
        {
            assert!(sector[..128].iter().filter(|&&byte| byte == 0).count() < 8);
            assert!(sector[128..].iter().all(|&byte| byte == 0));
        }
        assert!(buffer[4096..].iter().filter(|&&byte| byte == 0).count() < 8);
    }

    #[test]
    fn repeats_follow_dedupe_percent() {
        for percent in [0.0, 30.0, 100.0] {
            let mut content = Content::new(
                &BufferPlan {
                    dedupe_percent: percent,
                    ..plan()
                },
                3,
            );
            let mut buffer = vec![0u8; 64];
            let mut last = buffer.clone();
            let mut repeats = 0;
            for _ in 0..10_007 {
                content.fill(&mut buffer);
                repeats += u32::from(buffer == last);
                last.copy_from_slice(&buffer);
            }
            let share = f64::from(repeats) / 10_006.0 * 100.0;
            assert!((share - percent).abs() < 2.0, "{share} for {percent}");
        }
    }

    #[test]
    fn scrambled_sectors_never_repeat() {
        let mut content = Content::new(
            &BufferPlan {
                refill: false,
                ..plan()
            },
            9,
        );
        assert_eq!(content.before, Before::Scramble);
        let mut buffer = vec![0u8; 8 * SECTOR];
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1009 {
            content.scramble(&mut buffer, 4096);
            for sector in buffer.chunks(SECTOR) {
                assert!(seen.insert(sector.to_vec()));
            }
        }
    }

    #[test]
    fn same_seed_same_bytes() {
        let [mut first, mut second] = [vec![0u8; 777], vec![0u8; 777]];
        Content::new(&plan(), 5).fill(&mut first);
        Content::new(&plan(), 5).fill(&mut second);
        assert_eq!(first, second);
        Content::new(&plan(), 6).fill(&mut second);
        assert_ne!(first, second);
    }

    #[test]
    fn options_that_exclude_each_other() {
        let before = |plan: BufferPlan| Content::new(&plan, 0).before;
        assert_eq!(
            before(BufferPlan {
                zero: true,
                ..plan()
            }),
            Before::Nothing
        );
        assert_eq!(
            before(BufferPlan {
                refill: false,
                compress_percent: 50.0,
                ..plan()
            }),
            Before::Nothing
        );
        assert_eq!(
            before(BufferPlan {
                refill: false,
                scramble: false,
                ..plan()
            }),
            Before::Nothing
        );
        assert_eq!(before(plan()), Before::Refill);
    }
}
