//! Sorts blocks by their number of valid pages: finds the block with the fewest in constant time.
//!
//! Each number of valid pages has a linked list of full blocks. A block that loses a page moves to the list below. The
//! lowest list that may hold blocks is remembered.

/// Marks no block.
const NONE: u32 = u32::MAX;

/// One block.
#[derive(Clone, Copy, Debug)]
struct Block {
    valid: u32,
    before: u32,
    after: u32,
    /// Whether it is full and therefore in a list.
    closed: bool,
}

/// The blocks, in lists by their valid pages.
#[derive(Clone, Debug)]
pub(crate) struct Victims {
    blocks: Box<[Block]>,
    /// The first block of each list, by valid pages.
    heads: Box<[u32]>,
    /// All lists below this are empty.
    lowest: usize,
}

impl Victims {
    /// Creates empty blocks.
    pub(crate) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let empty = Block {
            valid: 0,
            before: NONE,
            after: NONE,
            closed: false,
        };
        Self {
            blocks: vec![empty; blocks as usize].into(),
            heads: vec![NONE; pages_per_block as usize + 1].into(),
            lowest: pages_per_block as usize + 1,
        }
    }

    /// Returns the valid pages of a block.
    pub(crate) fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// Adds a valid page to a block that is not full.
    #[inline]
    pub(crate) fn more(&mut self, block: u32) {
        self.blocks[block as usize].valid += 1;
    }

    /// Removes a valid page from a block.
    #[inline]
    pub(crate) fn less(&mut self, block: u32) {
        if !self.blocks[block as usize].closed {
            self.blocks[block as usize].valid -= 1;
            return;
        }
        self.unlink(block);
        self.blocks[block as usize].valid -= 1;
        self.link(block);
    }

    /// Marks a block as full, so that it may be taken.
    pub(crate) fn close(&mut self, block: u32) {
        self.blocks[block as usize].closed = true;
        self.link(block);
    }

    /// Takes the full block with the fewest valid pages. It no longer counts as full.
    ///
    /// # Panics
    /// If no block is full.
    pub(crate) fn take(&mut self) -> u32 {
        while self.heads[self.lowest] == NONE {
            self.lowest += 1;
        }
        let block = self.heads[self.lowest];
        self.unlink(block);
        self.blocks[block as usize].closed = false;
        block
    }

    #[inline]
    fn link(&mut self, block: u32) {
        let valid = self.blocks[block as usize].valid as usize;
        let after = std::mem::replace(&mut self.heads[valid], block);
        let linked = &mut self.blocks[block as usize];
        (linked.before, linked.after) = (NONE, after);
        if after != NONE {
            self.blocks[after as usize].before = block;
        }
        self.lowest = self.lowest.min(valid);
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Block {
            valid,
            before,
            after,
            ..
        } = self.blocks[block as usize];
        if before == NONE {
            self.heads[valid as usize] = after;
        } else {
            self.blocks[before as usize].after = after;
        }
        if after != NONE {
            self.blocks[after as usize].before = before;
        }
    }
}
