//! One file's region: where the next request of a direction goes, and what of the region is already done.
//!
//! A region keeps a sequential position for each direction, as fio does: reads and writes of a mixed job run through
//! the region side by side. Under a random map it keeps a cover as well, which hands every block out once before any
//! twice: a permutation where the size is fixed (exact, without memory), a block map where sizes vary. Then a request
//! that runs into used blocks is cut short before them, as in fio.
//!
//! What it does not do: choose the direction, and count bytes against the pass; `pattern` does.

use super::block_map::BlockMap;
use super::permutation::Permutation;
use super::rng::Rng;
use super::sizes::Sizes;
use super::spread::Spread;

/// Draws before falling back to the next free block: most find one, and then all free blocks are equally likely.
const DRAWS_FOR_FREE_BLOCK: u32 = 8;

/// Where a request goes: offset from the start of the file, and length.
pub(super) type Place = (u64, u32);

/// Everything that decides offsets and lengths of one direction, alike for all regions.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Lengths.
    pub(super) sizes: Sizes,
    /// Random offsets are multiples of this.
    pub(super) align: u64,
    /// Bytes skipped after each sequential request; negative goes backwards.
    pub(super) gap: i64,
    /// Which of the regions' covers random draws go through.
    pub(super) cover: Option<usize>,
}

impl Shape {
    /// How many aligned offsets leave room for the smallest request in a region of so many bytes.
    pub(super) fn positions(&self, region_bytes: u64) -> u64 {
        match region_bytes.checked_sub(u64::from(self.sizes.smallest())) {
            None => 0,
            Some(_) if self.align > u64::from(self.sizes.smallest()) => region_bytes / self.align,
            Some(last) => last / self.align + 1,
        }
    }
}

/// Hands every block out once.
#[derive(Clone, Debug)]
pub(super) enum Cover {
    /// Blocks of one size, in an order fixed in advance.
    Ordered { order: Permutation, next: u64 },
    /// Blocks of the smallest size, of which a request takes several.
    Mapped(BlockMap),
}

impl Cover {
    /// A cover of so many blocks; `None` where there is not the memory for its map.
    pub(super) fn new(blocks: u64, fixed: bool, rng: &mut Rng) -> Option<Self> {
        if fixed {
            Some(Cover::Ordered {
                order: Permutation::new(blocks, rng),
                next: 0,
            })
        } else {
            BlockMap::new(blocks).map(Cover::Mapped)
        }
    }

    fn is_exhausted(&self) -> bool {
        match self {
            Cover::Ordered { order, next } => *next == order.count(),
            Cover::Mapped(map) => map.is_full(),
        }
    }

    fn reset(&mut self, rng: &mut Rng) {
        match self {
            Cover::Ordered { order, next } => {
                *order = Permutation::new(order.count(), rng);
                *next = 0;
            }
            Cover::Mapped(map) => map.clear(),
        }
    }

    /// A block not handed out before; `None` when there is none left.
    #[inline]
    fn draw(&mut self, rng: &mut Rng) -> Option<u64> {
        match self {
            Cover::Ordered { order, next } => {
                if *next == order.count() {
                    return None;
                }
                *next += 1;
                Some(order.at(*next - 1))
            }
            Cover::Mapped(map) => {
                let mut block = rng.below(map.count());
                for _ in 1..DRAWS_FOR_FREE_BLOCK {
                    if map.is_free(block) {
                        return Some(block);
                    }
                    block = rng.below(map.count());
                }
                map.next_free(block)
            }
        }
    }
}

/// The state of one region.
#[derive(Clone, Debug)]
pub(super) struct Region {
    start: u64,
    bytes: u64,
    /// End of the last request of each direction, from the region's start; 0 before the first.
    positions: [u64; 3],
    /// Where random offsets of each direction are drawn, in units of its alignment.
    spreads: [Option<Spread>; 3],
    covers: Box<[Cover]>,
    /// A trim whose block is yet to be written, in the trimwrite patterns.
    pub(super) trimmed: Option<Place>,
    /// Nothing more to issue here in this pass.
    pub(super) done: bool,
}

impl Region {
    pub(super) fn new(
        start: u64,
        bytes: u64,
        spreads: [Option<Spread>; 3],
        covers: Box<[Cover]>,
    ) -> Self {
        Self {
            start,
            bytes,
            positions: [0; 3],
            spreads,
            covers,
            trimmed: None,
            done: false,
        }
    }

    /// Start, and how many blocks are drawn alike, where a direction's offsets are uniform.
    pub(super) fn uniform(&self, direction: usize) -> Option<(u64, u64)> {
        match self.spreads[direction] {
            Some(Spread::Uniform { count }) => Some((self.start, count)),
            _ => None,
        }
    }

    /// The next sequential request; `None` at the end.
    #[inline]
    pub(super) fn sequential(
        &mut self,
        direction: usize,
        shape: &Shape,
        rng: &mut Rng,
    ) -> Option<Place> {
        let offset = self.sequential_offset(direction, shape.gap)?;
        let length = shape.sizes.draw(self.bytes - offset, rng)?;
        Some(self.occupy(direction, offset, length))
    }

    /// The next random request; `None` once a cover is used up.
    #[inline]
    pub(super) fn random(
        &mut self,
        direction: usize,
        shape: &Shape,
        offsets: &mut Rng,
        lengths: &mut Rng,
    ) -> Option<Place> {
        let Some(cover) = shape.cover else {
            let spread = self.spreads[direction].as_ref()?;
            let offset = spread.draw(offsets) * shape.align;
            let length = shape.sizes.draw(self.bytes - offset, lengths)?;
            return Some(self.occupy(direction, offset, length));
        };
        let block = self.covers[cover].draw(offsets)?;
        let offset = block * shape.align;
        let mut length = shape.sizes.draw(self.bytes - offset, lengths)?;
        if let Cover::Mapped(map) = &mut self.covers[cover] {
            let taken = map.take(block, u64::from(length).div_ceil(shape.align));
            length = u64::from(length).min(taken * shape.align) as u32;
        }
        Some(self.occupy(direction, offset, length))
    }

    /// Where the next sequential request would begin, whether or not it has room there.
    #[inline]
    fn sequential_offset(&self, direction: usize, gap: i64) -> Option<u64> {
        let position = self.positions[direction];
        if gap == 0 || position == 0 {
            return Some(position);
        }
        if position >= self.bytes {
            return None;
        }
        // Past an end, holes go round: forwards to the beginning, backwards to a gap before the end.
        match position.checked_add_signed(gap) {
            Some(offset) if offset < self.bytes => Some(offset),
            _ if gap > 0 => Some(0),
            _ => self.bytes.checked_add_signed(gap),
        }
    }

    #[inline]
    fn occupy(&mut self, direction: usize, offset: u64, length: u32) -> Place {
        self.positions[direction] = offset + u64::from(length);
        (self.start + offset, length)
    }

    /// Makes room for another pass: what is at its end begins again, all else goes on where it is.
    pub(super) fn rewind(&mut self, shapes: &[Option<Shape>; 3], rng: &mut Rng) {
        self.done = false;
        for (direction, shape) in shapes.iter().enumerate() {
            let Some(shape) = shape else { continue };
            let room = self
                .sequential_offset(direction, shape.gap)
                .map(|offset| self.bytes.saturating_sub(offset));
            if room.is_none_or(|room| room < u64::from(shape.sizes.smallest())) {
                self.positions[direction] = 0;
            }
        }
        for cover in &mut self.covers {
            if cover.is_exhausted() {
                cover.reset(rng);
            }
        }
    }

    /// Back to the state before the first request.
    pub(super) fn replay(&mut self, rng: &mut Rng) {
        self.positions = [0; 3];
        self.trimmed = None;
        self.done = false;
        for cover in &mut self.covers {
            cover.reset(rng);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rng::Stream;
    use super::super::tests::statistics::assert_uniform;
    use super::*;

    #[test]
    fn a_block_after_used_ones_is_no_likelier_than_others() {
        let mut rng = Rng::new(1, Stream::Offsets);
        let mut map = BlockMap::new(100).expect("there is memory");
        map.take(40, 30);
        let mut cover = Cover::Mapped(map);
        let mut counts = [0; 100];
        for _ in 0..50_000 {
            counts[cover.draw(&mut rng).expect("blocks are free") as usize] += 1;
        }
        assert!(counts[40..70].iter().all(|count| *count == 0));
        assert_uniform(&[&counts[..40], &counts[70..]].concat());
    }

    #[test]
    fn the_last_blocks_are_found() {
        for fixed in [false, true] {
            let mut rng = Rng::new(2, Stream::Offsets);
            let mut cover = Cover::new(1000, fixed, &mut rng).expect("there is memory");
            let mut blocks = Vec::new();
            while let Some(block) = cover.draw(&mut rng) {
                if let Cover::Mapped(map) = &mut cover {
                    assert_eq!(map.take(block, 1), 1);
                }
                blocks.push(block);
            }
            assert!(cover.is_exhausted());
            blocks.sort_unstable();
            assert!(blocks.into_iter().eq(0..1000));
        }
    }
}
