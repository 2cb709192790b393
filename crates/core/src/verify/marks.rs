//! A set of numbers that finds its smallest: one bit a number, and a tree of bits above them.
//!
//! A bit of a higher level says that one of the 64 bits below it is set, so that finding the smallest reads one word a
//! level. `generate/block_map` is the same for numbers that are only ever added.

const BITS: usize = u64::BITS as usize;

/// Returns `count` copies of a value, whose memory is touched. `None` if memory does not suffice.
pub(super) fn filled<T: Clone>(count: usize, value: T) -> Option<Box<[T]>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    values.resize(count, value);
    Some(values.into_boxed_slice())
}

/// A set of numbers in `[0, count)`.
#[derive(Debug)]
pub(super) struct Marks {
    /// Bottom level first; the top level is one word.
    levels: Vec<Box<[u64]>>,
}

impl Marks {
    /// Creates an empty set. Returns `None` if memory does not suffice.
    pub(super) fn new(count: usize) -> Option<Self> {
        let mut levels = Vec::new();
        let mut words = count;
        loop {
            words = words.div_ceil(BITS).max(1);
            levels.push(filled(words, 0)?);
            if words == 1 {
                return Some(Self { levels });
            }
        }
    }

    /// Adds a number.
    #[inline]
    pub(super) fn set(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let known = *word != 0;
            *word |= 1 << (at % BITS);
            if known {
                return;
            }
            at /= BITS;
        }
    }

    /// Removes a number.
    #[inline]
    pub(super) fn unset(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                return;
            }
            at /= BITS;
        }
    }

    /// Returns the smallest number of the set.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * BITS + word.trailing_zeros() as usize;
        }
        Some(at)
    }
}
