//! Blocks by the number of their valid pages, so that the one with the fewest is found at once.
//!
//! Full blocks are linked in a list for each number. A block that loses a page moves to the list below; the lowest list
//! that may hold any is remembered.

/// No block.
const NONE: u32 = u32::MAX;

/// One block.
#[derive(Clone, Copy, Debug)]
struct Block {
    valid: u32,
    before: u32,
    after: u32,
    /// Full, and in a list.
    closed: bool,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Victims {
    blocks: Box<[Block]>,
    /// The first of each list, by valid pages.
    heads: Box<[u32]>,
    /// No list below this holds any.
    lowest: usize,
}

impl Victims {
    /// Blocks that hold nothing and are not full.
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

    /// Valid pages of a block.
    pub(crate) fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// A block that is not full holds one more.
    #[inline]
    pub(crate) fn more(&mut self, block: u32) {
        self.blocks[block as usize].valid += 1;
    }

    /// A block holds one less.
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

    /// A block is full: it may be taken.
    pub(crate) fn close(&mut self, block: u32) {
        self.blocks[block as usize].closed = true;
        self.link(block);
    }

    /// Takes a full block with the fewest valid pages; it is not full any more.
    ///
    /// # Panics
    /// Where no block is full.
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
