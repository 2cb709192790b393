//! A flash translation layer: maps logical to physical pages, and collects garbage.
//!
//! Pages are written one after the other into an open block. When free blocks run out, the full block with the fewest
//! valid pages is collected: its pages move to a separate open block, and it is erased (greedy collection). Under
//! uniform random writes, the write amplification is `alpha / (alpha + W(-alpha e^-alpha))`, where `alpha` is one plus
//! the over-provisioning and `W` is Lambert's function. It hardly depends on the size of the drive, so a layer of a few
//! thousand blocks stands for a drive of any size.
//!
//! The layer has no time; its caller computes the time of moves and erases. It neither levels wear nor refreshes data.
//!
//! Source: Xiang and Kurkoski, arXiv:1110.4245.

use crate::media::nand::victims::Victims;

/// Marks no page.
const NOWHERE: u32 = u32::MAX;

/// Free blocks that collection keeps: one for the host, one to move pages to.
const RESERVE: usize = 2;

/// The size of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Number of blocks, at least 8.
    pub blocks: u32,
    /// Pages of a block, in `[2, 65535]`.
    pub pages_per_block: u32,
    /// Over-provisioning: spare pages as a fraction of the logical ones, positive.
    pub over_provisioning: f64,
}

impl Geometry {
    /// Pages that the host can address.
    pub fn logical_pages(&self) -> u32 {
        let physical = f64::from(self.blocks) * f64::from(self.pages_per_block);
        let spare = (RESERVE as u32 + 1) * self.pages_per_block;
        let most = self.blocks * self.pages_per_block - spare;
        ((physical / (1.0 + self.over_provisioning)) as u32).min(most)
    }
}

/// The work that a write caused besides programming the host's page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pages moved: read, and programmed elsewhere.
    pub moved: u32,
    /// Blocks erased.
    pub erased: u32,
}

/// A block that is being written.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    /// The next page in it.
    page: u32,
}

/// The layer: the maps between logical and physical pages, and the blocks.
#[derive(Clone, Debug)]
pub struct Ftl {
    pages_per_block: u32,
    /// Physical page of each logical one, or `NOWHERE`.
    map: Box<[u32]>,
    /// Logical page of each physical one, or `NOWHERE` if that is not valid.
    holds: Box<[u32]>,
    /// The valid pages of every block, and the full blocks by them.
    victims: Victims,
    free: Vec<u32>,
    host: Open,
    moving: Open,
    erases: Box<[u32]>,
}

impl Ftl {
    /// Creates an empty layer.
    ///
    /// # Panics
    /// If the geometry is out of its ranges.
    pub fn new(geometry: Geometry) -> Self {
        let Geometry {
            blocks,
            pages_per_block,
            over_provisioning,
        } = geometry;
        assert!(blocks >= 8 && (2..=65535).contains(&pages_per_block) && over_provisioning > 0.0);
        let mut free: Vec<u32> = (0..blocks).rev().collect();
        let mut open = || Open {
            block: free.pop().expect("there are at least eight"),
            page: 0,
        };
        let (host, moving) = (open(), open());
        Self {
            pages_per_block,
            map: vec![NOWHERE; geometry.logical_pages() as usize].into(),
            holds: vec![NOWHERE; (blocks * pages_per_block) as usize].into(),
            victims: Victims::new(blocks, pages_per_block),
            free,
            host,
            moving,
            erases: vec![0; blocks as usize].into(),
        }
    }

    /// Returns how many pages the host can address.
    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// Returns the physical page of a logical one; `None` if it was never written or was trimmed.
    #[inline]
    pub fn lookup(&self, page: u32) -> Option<u32> {
        Some(self.map[page as usize]).filter(|&at| at != NOWHERE)
    }

    /// Writes a logical page and makes room for the next one. Returns its physical page, and the work of making room.
    #[inline]
    pub fn write(&mut self, page: u32) -> (u32, Work) {
        self.invalidate(page);
        let at = self.host.block * self.pages_per_block + self.host.page;
        self.put(page, at);
        self.host.page += 1;
        let mut work = Work::default();
        if self.host.page == self.pages_per_block {
            self.victims.close(self.host.block);
            while self.free.len() < RESERVE {
                self.collect(&mut work);
            }
            self.host = self.open();
        }
        (at, work)
    }

    /// Forgets a logical page.
    pub fn trim(&mut self, page: u32) {
        self.invalidate(page);
        self.map[page as usize] = NOWHERE;
    }

    /// Restarts the count of erases.
    pub fn reset_erases(&mut self) {
        self.erases.fill(0);
    }

    /// Returns how often each block was erased.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Returns how many pages of each block hold a logical one.
    pub fn valid_per_block(&self) -> impl Iterator<Item = u32> {
        (0..self.erases.len() as u32).map(|block| self.victims.valid(block))
    }

    /// Returns how many physical pages hold a logical one.
    pub fn valid_pages(&self) -> u64 {
        self.valid_per_block().map(u64::from).sum()
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let at = self.map[page as usize];
        if at != NOWHERE {
            self.holds[at as usize] = NOWHERE;
            self.victims.less(at / self.pages_per_block);
        }
    }

    #[inline]
    fn put(&mut self, page: u32, at: u32) {
        self.map[page as usize] = at;
        self.holds[at as usize] = page;
        self.victims.more(at / self.pages_per_block);
    }

    /// Opens a free block for writing.
    fn open(&mut self) -> Open {
        let block = self.free.pop().expect("collection keeps some free");
        Open { block, page: 0 }
    }

    /// Moves the pages of the full block with the fewest valid pages, and erases the block.
    fn collect(&mut self, work: &mut Work) {
        let victim = self.victims.take();
        let first = victim * self.pages_per_block;
        for from in first..first + self.pages_per_block {
            let page = self.holds[from as usize];
            if page == NOWHERE {
                continue;
            }
            if self.moving.page == self.pages_per_block {
                self.victims.close(self.moving.block);
                self.moving = self.open();
            }
            self.holds[from as usize] = NOWHERE;
            self.victims.less(victim);
            let to = self.moving.block * self.pages_per_block + self.moving.page;
            self.put(page, to);
            self.moving.page += 1;
            work.moved += 1;
        }
        self.erases[victim as usize] += 1;
        work.erased += 1;
        self.free.push(victim);
    }
}

#[cfg(test)]
pub(crate) mod tests;
