//! How requests come back to the same blocks: the hit ratio of a cache of any size, and how many blocks a trace touches.
//!
//! A block is in a cache that evicts the least recently used one (LRU) if fewer other blocks than the cache holds were
//! used since its last use. Counting these for every block would take memory by the number of blocks. So only blocks whose
//! hash is below a limit are counted (SHARDS), and the limit falls as often as more than a fixed number of blocks were
//! counted; numbers are scaled by the share that is counted. As long as nothing was left out, they are exact.
//!
//! Source: Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015.

use std::collections::{BinaryHeap, HashMap};

use crate::row::{Direction, Row};

/// Hashes have this many values.
const HASHES: f64 = 1.8446744073709552e19;
/// Buckets in each doubling of the distance.
const STEPS: u32 = 8;

/// Counts how far apart uses of the same block are.
#[derive(Debug)]
pub struct Reuse {
    block_bytes: i64,
    most_blocks: usize,
    /// Blocks are counted whose hash is not above this.
    limit: u64,
    /// Of every counted block, the position of its last use in the order of uses.
    last: HashMap<u64, usize>,
    /// The counted blocks by their hash.
    by_hash: BinaryHeap<u64>,
    /// The positions that are the last use of a block.
    positions: Sums,
    next: usize,
    /// By bucket of distance: how many uses, scaled.
    buckets: Vec<f64>,
    uses: f64,
}

impl Reuse {
    /// Counts blocks of this many bytes, and at most so many of them; both are at least 1.
    pub fn new(block_bytes: i64, most_blocks: usize) -> Self {
        let most_blocks = most_blocks.max(1);
        Self {
            block_bytes: block_bytes.max(1),
            most_blocks,
            limit: u64::MAX,
            last: HashMap::new(),
            by_hash: BinaryHeap::new(),
            positions: Sums::new(4 * most_blocks + 4),
            next: 0,
            buckets: Vec::new(),
            uses: 0.0,
        }
    }

    /// Counts reads and writes.
    pub fn feed(&mut self, rows: &[Row]) {
        for row in rows {
            let moves =
                row.direction == Direction::Read as u8 || row.direction == Direction::Write as u8;
            if !moves || row.size_bytes <= 0 {
                continue;
            }
            let first = row.offset_bytes / self.block_bytes;
            let last = row.offset_bytes.saturating_add(row.size_bytes - 1) / self.block_bytes;
            for block in first..=last {
                let hash = mixed(block as u64 ^ mixed(u64::from(row.device) + 1));
                if hash <= self.limit {
                    self.count(hash);
                }
            }
        }
    }

    /// Returns how many different blocks were used.
    pub fn blocks(&self) -> f64 {
        self.last.len() as f64 / self.share()
    }

    /// Returns how many uses of blocks there were.
    pub fn uses(&self) -> f64 {
        self.uses
    }

    /// Returns whether every block was counted.
    pub fn exact(&self) -> bool {
        self.limit == u64::MAX
    }

    /// Returns pairs: the blocks that a cache holds, and the uses that it serves but the next smaller one does not.
    pub fn hits(&self) -> Vec<(f64, f64)> {
        let counted = self
            .buckets
            .iter()
            .enumerate()
            .filter(|(_, uses)| **uses > 0.0);
        counted
            .map(|(bucket, uses)| (top_of(bucket) as f64, *uses))
            .collect()
    }

    fn share(&self) -> f64 {
        if self.exact() {
            1.0
        } else {
            self.limit as f64 / HASHES
        }
    }

    /// Counts a use of a block, which its hash stands for.
    fn count(&mut self, hash: u64) {
        if self.next == self.positions.len() {
            self.renumber();
        }
        let weight = 1.0 / self.share();
        self.uses += weight;
        match self.last.insert(hash, self.next) {
            Some(before) => {
                // The block itself is one of those that were used since.
                let between = self.last.len() - self.positions.below(before);
                let bucket = bucket_of((between as f64 * weight) as u64);
                if self.buckets.len() <= bucket {
                    self.buckets.resize(bucket + 1, 0.0);
                }
                self.buckets[bucket] += weight;
                self.positions.add(before, -1);
            }
            None => self.by_hash.push(hash),
        }
        self.positions.add(self.next, 1);
        self.next += 1;
        if self.last.len() > self.most_blocks {
            self.lower_limit();
        }
    }

    /// Leaves out the blocks with the highest hash from now on.
    fn lower_limit(&mut self) {
        if let Some(highest) = self.by_hash.pop() {
            self.limit = highest - 1;
            if let Some(position) = self.last.remove(&highest) {
                self.positions.add(position, -1);
            }
        }
    }

    /// Numbers the last uses anew from 0, in their order.
    fn renumber(&mut self) {
        let mut order: Vec<(usize, u64)> = self
            .last
            .iter()
            .map(|(hash, position)| (*position, *hash))
            .collect();
        order.sort_unstable();
        self.positions = Sums::new(self.positions.len());
        self.next = order.len();
        for (position, (_, hash)) in order.into_iter().enumerate() {
            self.last.insert(hash, position);
            self.positions.add(position, 1);
        }
    }
}

/// Counts at positions, with the sum of all below one in logarithmic time (a Fenwick tree).
#[derive(Debug)]
struct Sums {
    tree: Vec<i32>,
}

impl Sums {
    fn new(length: usize) -> Self {
        Self {
            tree: vec![0; length + 1],
        }
    }

    fn len(&self) -> usize {
        self.tree.len() - 1
    }

    fn add(&mut self, position: usize, change: i32) {
        let mut index = position + 1;
        while index < self.tree.len() {
            self.tree[index] += change;
            index += index & index.wrapping_neg();
        }
    }

    fn below(&self, position: usize) -> usize {
        let mut index = position;
        let mut sum = 0;
        while index > 0 {
            sum += self.tree[index];
            index &= index - 1;
        }
        sum as usize
    }
}

/// Returns the bucket of a distance; up to [`STEPS`] each has its own.
fn bucket_of(distance: u64) -> usize {
    let distance = distance.max(1);
    let doublings = distance.ilog2();
    let bits = STEPS.ilog2();
    if doublings < bits {
        return distance as usize;
    }
    let step = (distance >> (doublings - bits)) - u64::from(STEPS);
    ((doublings - bits + 1) * STEPS) as usize + step as usize
}

/// Returns the greatest distance in a bucket.
fn top_of(bucket: usize) -> u64 {
    let (doubling, step) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    if doubling == 0 {
        return bucket as u64;
    }
    ((u64::from(STEPS) + step + 1) << (doubling - 1)) - 1
}

/// Returns a number whose bits all depend on all bits of `value` (the finish of SplitMix64, one to one).
fn mixed(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
