//! How often each block has been written: four bytes a block, allocated at once.

/// How often each block of a region has been written.
#[derive(Clone, Debug)]
pub struct Generations {
    start_bytes: u64,
    block_bytes: u32,
    counts: Vec<u32>,
}

impl Generations {
    /// Begins with no write to a region that starts at a multiple of `block_bytes`. A last block may be incomplete.
    ///
    /// # Panics
    /// If `block_bytes` is zero, or the region does not fit into memory.
    pub fn new(start_bytes: u64, size_bytes: u64, block_bytes: u32) -> Self {
        let blocks = size_bytes.div_ceil(block_bytes.into());
        Self {
            start_bytes,
            block_bytes,
            counts: vec![
                0;
                usize::try_from(blocks).expect("a count for each block fits into memory")
            ],
        }
    }

    /// Counts a write to the block at this offset, and returns its generation: 1 for the first. It wraps after 2^32
    /// writes.
    ///
    /// # Panics
    /// If the block is not in the region.
    #[inline]
    pub fn next(&mut self, offset_bytes: u64) -> u32 {
        let block = (offset_bytes - self.start_bytes) / u64::from(self.block_bytes);
        let count = &mut self.counts[block as usize];
        *count = count.wrapping_add(1);
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_apart() {
        let mut generations = Generations::new(8192, 12288, 4096);
        assert_eq!(generations.next(8192), 1);
        assert_eq!(generations.next(8192), 2);
        assert_eq!(generations.next(16384), 1);
        assert_eq!(generations.next(12288), 1);
    }
}
