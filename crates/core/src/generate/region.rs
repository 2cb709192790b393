//! One file's region: decides where the next request of a direction goes, and tracks what the pass has covered.
//!
//! A region keeps a sequential position for each direction, as fio does: reads and writes of a mixed job run through
//! the region side by side. Under a random map it also keeps a cover, which hands out every block once before any block
//! twice: a permutation if the size is fixed (exact, without memory), a block map if sizes vary. The map follows fio's
//! rule: a draw that meets a used block takes the next free one, and a request that runs into used blocks is cut short
//! before them. As the map fills, requests thus begin at the start of a free run, which keeps them long.
//!
//! Source: fio 3.33's io_u.c and lib/axmap.c.
//!
//! `pattern` chooses the direction and counts the bytes of the pass.

use super::block_map::BlockMap;
use super::permutation::Permutation;
use super::rng::Rng;
use super::sizes::Sizes;
use super::spread::Spread;

/// Where a request goes: offset from the start of the file, and length.
pub(super) type Place = (u64, u32);

/// How offsets and lengths of one direction are drawn, the same in every region.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// How lengths are drawn.
    pub(super) sizes: Sizes,
    /// Random offsets are multiples of this.
    pub(super) align: u64,
    /// Bytes skipped after each sequential request; negative goes backwards.
    pub(super) gap: i64,
    /// Index of the regions' cover that random requests use.
    pub(super) cover: Option<usize>,
}

impl Shape {
    /// Returns how many aligned offsets leave room for the smallest request in a region of `region_bytes`.
    pub(super) fn positions(&self, region_bytes: u64) -> u64 {
        match region_bytes.checked_sub(u64::from(self.sizes.smallest())) {
            None => 0,
            Some(_) if self.align > u64::from(self.sizes.smallest()) => region_bytes / self.align,
            Some(last) => last / self.align + 1,
        }
    }
}

/// Hands out every block once.
#[derive(Clone, Debug)]
pub(super) enum Cover {
    /// Blocks of one size, in an order fixed in advance.
    Ordered { order: Permutation, next: u64 },
    /// Blocks of the direction's smallest size. A request takes several of them.
    Mapped(BlockMap),
}

impl Cover {
    /// Creates a cover of `blocks` blocks; returns `None` if memory does not suffice for its map.
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

    /// Returns a block that was not handed out before; `None` if none is left. A permutation has its own order; a map
    /// draws from `spread`.
    #[inline]
    fn draw(&mut self, spread: &Spread, rng: &mut Rng) -> Option<u64> {
        match self {
            Cover::Ordered { order, next } => {
                if *next == order.count() {
                    return None;
                }
                *next += 1;
                Some(order.at(*next - 1))
            }
            Cover::Mapped(map) => map.next_free(spread.draw(rng)),
        }
    }
}

/// The state of one region.
#[derive(Clone, Debug)]
pub(super) struct Region {
    start: u64,
    bytes: u64,
    /// Length of the file, where holes wrap around.
    file_bytes: u64,
    /// End of the last request of each direction, from the region's start; 0 before the first.
    positions: [u64; 3],
    /// Where random offsets of each direction are drawn, in units of its alignment.
    spreads: [Option<Spread>; 3],
    covers: Box<[Cover]>,
    /// A trim whose block has not been written yet, in the trimwrite patterns.
    pub(super) trimmed: Option<Place>,
    /// Whether this pass has issued all of its requests here.
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
            file_bytes: start.saturating_add(bytes),
            positions: [0; 3],
            spreads,
            covers,
            trimmed: None,
            done: false,
        }
    }

    /// Sets the length of the file that the region is part of.
    pub(super) fn in_file(&mut self, file_bytes: u64) {
        self.file_bytes = file_bytes;
    }

    /// Returns the start and the number of blocks if a direction's offsets are uniform.
    pub(super) fn uniform(&self, direction: usize) -> Option<(u64, u64)> {
        match self.spreads[direction] {
            Some(Spread::Uniform { count }) => Some((self.start, count)),
            _ => None,
        }
    }

    /// Returns the next sequential request; `None` at the end.
    #[inline]
    pub(super) fn sequential(
        &mut self,
        direction: usize,
        shape: &Shape,
        rng: &mut Rng,
    ) -> Option<Place> {
        let offset = self.sequential_offset(direction, shape)?;
        let length = shape.sizes.draw(self.bytes - offset, rng)?;
        Some(self.occupy(direction, offset, length))
    }

    /// Returns the next random request; `None` once a cover is used up for this direction.
    #[inline(always)] // It runs for every request, and its second caller hardly ever.
    pub(super) fn random(
        &mut self,
        direction: usize,
        shape: &Shape,
        offsets: &mut Rng,
        lengths: &mut Rng,
    ) -> Option<Place> {
        let spread = self.spreads[direction].as_ref()?;
        let Some(cover) = shape.cover else {
            let offset = spread.draw(offsets) * shape.align;
            let length = shape.sizes.draw(self.bytes - offset, lengths)?;
            return Some(self.occupy(direction, offset, length));
        };
        let cover = &mut self.covers[cover];
        let block = cover.draw(spread, offsets)?;
        let offset = block * shape.align;
        // If another direction's blocks are smaller, the map has blocks past the end of this region. No length fits
        // there.
        let room = self.bytes.saturating_sub(offset);
        let mut length = shape.sizes.draw(room, lengths)?;
        if let Cover::Mapped(map) = cover {
            let taken = map.take(block, u64::from(length).div_ceil(shape.align));
            length = u64::from(length).min(taken * shape.align) as u32;
        }
        Some(self.occupy(direction, offset, length))
    }

    /// Returns where the next sequential request would begin, whether or not it has room there.
    #[inline]
    fn sequential_offset(&self, direction: usize, shape: &Shape) -> Option<u64> {
        let position = self.positions[direction];
        match shape.gap {
            0 => Some(position),
            gap if position == 0 => Some(self.before_holes(gap, shape)),
            _ if self.start.saturating_add(position) >= self.file_bytes => None,
            gap => self.after_hole(position, gap),
        }
    }

    /// Returns the offset of the first request with holes. As in fio, one that goes backwards begins at the end of the
    /// region if that begins in the middle of its file, and counts this end from the start of the file.
    #[cold]
    fn before_holes(&self, gap: i64, shape: &Shape) -> u64 {
        if gap > 0 || self.start == 0 {
            return 0;
        }
        let end = self.bytes.min(self.file_bytes).wrapping_sub(self.start);
        let has_room = |offset: &u64| self.bytes - offset >= u64::from(shape.sizes.smallest());
        self.after_hole(end, gap).filter(has_room).unwrap_or(0)
    }

    /// Returns the offset behind the hole that follows `position`. As in fio, holes wrap around at the ends of the file,
    /// not of the region, and what they wrap to counts from the start of the file too. So the requests of a region in a
    /// larger file mostly end at its end.
    fn after_hole(&self, position: u64, gap: i64) -> Option<u64> {
        let next = position.wrapping_add_signed(gap);
        let offset = match next {
            _ if next < self.file_bytes => next,
            _ if gap > 0 => self.start,
            _ => self.bytes.min(self.file_bytes).wrapping_add_signed(gap),
        };
        (offset < self.bytes).then_some(offset)
    }

    #[inline]
    fn occupy(&mut self, direction: usize, offset: u64, length: u32) -> Place {
        self.positions[direction] = offset + u64::from(length);
        (self.start + offset, length)
    }

    /// Makes room for another pass: streams that are exhausted or have holes begin again, all others continue where they
    /// are.
    pub(super) fn rewind(&mut self, shapes: &[Option<Shape>; 3], rng: &mut Rng) {
        let done = std::mem::take(&mut self.done);
        for (direction, shape) in shapes.iter().enumerate() {
            let Some(shape) = shape else { continue };
            if shape.gap != 0 {
                self.positions[direction] = 0;
                continue;
            }
            let room = self
                .sequential_offset(direction, shape)
                .map(|offset| self.bytes.saturating_sub(offset));
            if room.is_none_or(|room| room < u64::from(shape.sizes.smallest())) {
                self.positions[direction] = 0;
            }
        }
        for cover in &mut self.covers {
            if done || cover.is_exhausted() {
                cover.reset(rng);
            }
        }
    }

    /// Moves the region to another place in its file. Its length stays.
    pub(super) fn begin_at(&mut self, start: u64) {
        self.start = start;
    }

    /// Begins a direction's stream again if it is at the end.
    #[inline]
    pub(super) fn wrap(&mut self, direction: usize) {
        if self.positions[direction] >= self.bytes {
            self.positions[direction] = 0;
        }
    }

    /// Returns to the state before the first request.
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
    use super::*;

    #[test]
    fn the_last_blocks_are_found() {
        for fixed in [false, true] {
            let mut rng = Rng::new(2, Stream::Offsets);
            let mut cover = Cover::new(1000, fixed, &mut rng).expect("there is memory");
            let spread = Spread::Uniform { count: 1000 };
            let mut blocks = Vec::new();
            while let Some(block) = cover.draw(&spread, &mut rng) {
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
