//! Marks which blocks of a region have been issued: one bit a block, and a tree above the bits that finds the next free
//! block.
//!
//! A random map needs this only where block sizes vary, since a request then covers several blocks; a fixed size uses a
//! permutation (see `permutation`). A bit of a higher level says that the 64 bits below it are all set. Finding the
//! next free block therefore reads at most two words a level: seven levels for 2^40 blocks.
//!
//! Memory: 1 bit a block and 1/63 more: 32 MiB for 1 TiB in blocks of 4 KiB. Clearing costs a pass over it.
//!
//! The map counts blocks, not bytes. The caller chooses the blocks.

const BITS: u64 = u64::BITS as u64;

/// A set of used blocks in `[0, count)`.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    count: u64,
    used: u64,
    /// Bottom level first; the top level is one word. Bits past the end of a level are set.
    levels: Vec<Box<[u64]>>,
}

impl BlockMap {
    /// Creates an empty set over `[0, count)`; `count` is positive. Returns `None` if memory does not suffice.
    pub(super) fn new(count: u64) -> Option<Self> {
        debug_assert!(count > 0);
        let mut levels = Vec::new();
        let mut bits = count;
        loop {
            let words = bits.div_ceil(BITS);
            let mut level = Vec::new();
            level.try_reserve_exact(usize::try_from(words).ok()?).ok()?;
            level.resize(words as usize, 0);
            levels.push(level.into_boxed_slice());
            bits = words;
            if words == 1 {
                break;
            }
        }
        let mut map = Self {
            count,
            used: 0,
            levels,
        };
        map.clear();
        Some(map)
    }

    /// Whether no block is free.
    pub(super) const fn is_full(&self) -> bool {
        self.used == self.count
    }

    /// Frees all blocks.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        let mut bits = self.count;
        for level in &mut self.levels {
            level.fill(0);
            let tail = bits % BITS;
            if tail != 0 {
                level[level.len() - 1] = u64::MAX << tail;
            }
            bits = level.len() as u64;
        }
    }

    /// Returns the first free block at or after `block`, or else the first one before it; `None` if the map is full.
    pub(super) fn next_free(&self, block: u64) -> Option<u64> {
        self.first_free_from(block)
            .or_else(|| self.first_free_from(0))
    }

    fn first_free_from(&self, block: u64) -> Option<u64> {
        let mut index = block;
        for (height, level) in self.levels.iter().enumerate() {
            let word = (index / BITS) as usize;
            let free = !level.get(word)? & (u64::MAX << (index % BITS));
            if free != 0 {
                index = word as u64 * BITS + u64::from(free.trailing_zeros());
                for lower in self.levels[..height].iter().rev() {
                    index = index * BITS + u64::from((!lower[index as usize]).trailing_zeros());
                }
                return Some(index);
            }
            index = word as u64 + 1;
        }
        None
    }

    /// Marks up to `wanted` blocks as used, from `start` to the next used one. Returns how many it marked.
    pub(super) fn take(&mut self, start: u64, wanted: u64) -> u64 {
        let end = self.count.min(start.saturating_add(wanted));
        let mut block = start;
        while block < end {
            let (word, first) = ((block / BITS) as usize, block % BITS);
            let room = (BITS - first).min(end - block);
            let free = u64::from((self.levels[0][word] >> first).trailing_zeros()).min(room);
            if free == 0 {
                break;
            }
            self.levels[0][word] |= (u64::MAX >> (BITS - free)) << first;
            self.mark_full(word);
            block += free;
            if free < room {
                break;
            }
        }
        self.used += block - start;
        block - start
    }

    /// Sets the bit above a word of the bottom level if that word has no free bit.
    #[inline]
    fn mark_full(&mut self, word: usize) {
        let mut word = word;
        for height in 1..self.levels.len() {
            if self.levels[height - 1][word] != u64::MAX {
                return;
            }
            self.levels[height][word / BITS as usize] |= 1 << (word % BITS as usize);
            word /= BITS as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Take(u64, u64),
        Clear,
    }

    fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
        use proptest::strategy::Strategy as _;
        let step = proptest::prop_oneof![
            60 => (proptest::num::u64::ANY, 1u64..200).prop_map(|(at, wanted)| Step::Take(at, wanted)),
            1 => proptest::strategy::Just(Step::Clear),
        ];
        proptest::collection::vec(step, 1..200)
    }

    #[test]
    fn a_map_too_large_for_memory_is_refused() {
        assert!(BlockMap::new(u64::MAX).is_none());
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_array(count in 1u64..10_000, steps in steps()) {
            let mut map = BlockMap::new(count).expect("there is memory");
            let mut used = vec![false; count as usize];
            for step in steps {
                match step {
                    Step::Clear => {
                        map.clear();
                        used.fill(false);
                    }
                    Step::Take(at, wanted) => {
                        let at = at % count;
                        let rest = &mut used[at as usize..];
                        let expected = rest.iter().take(wanted as usize).take_while(|used| !**used).count();
                        rest[..expected].fill(true);
                        prop_assert_eq!(map.take(at, wanted), expected as u64);
                        let around = (0..count).map(|step| (at + step) % count);
                        prop_assert_eq!(map.next_free(at), around.into_iter().find(|at| !used[*at as usize]));
                    }
                }
                prop_assert_eq!(map.is_full(), used.iter().all(|used| *used));
            }
        }

        #[test]
        fn the_last_free_block_is_found_from_anywhere(count in 2u64..300_000, last: u64, from: u64) {
            let mut map = BlockMap::new(count).expect("there is memory");
            let last = last % count;
            map.take(0, last);
            map.take(last + 1, count);
            prop_assert!(!map.is_full());
            prop_assert_eq!(map.next_free(from % count), Some(last));
            prop_assert_eq!(map.take(last, 5), 1);
            prop_assert!(map.is_full());
            prop_assert_eq!(map.next_free(from % count), None);
        }
    }
}
