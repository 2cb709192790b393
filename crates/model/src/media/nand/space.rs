//! Samples where data lies: which parts of the drive hold data, and how much collection each write causes.
//!
//! The layer of [`crate::media::nand::ftl`] stands for a drive of any size with at most about two million pages. A page
//! of it stands for a power of two of neighbouring chunks. It is written when one of them, picked by a hash, is
//! written. So a sequential pass writes each page once, a hot region stays equally hot, the drive fills and wears as
//! slowly as a real one, and few writes need a look at the map. (If each chunk wrote the page, the steady state would
//! come as many times too early as a page has chunks.)
//!
//! A moved page therefore counts for all its chunks. A real drive would spread these moves over many writes, so they go
//! to a debt, of which each write of the host pays a share.
//!
//! Trim works by the same sample. For reads, one written chunk makes all chunks of its page count as written, until all
//! of them are trimmed at once. So written data never counts as unwritten.

use std::sync::{Mutex, PoisonError};

use iogauge_core::generate::{Rng, Stream, child_seed};

use super::spec::{NandSpec, State};
use crate::drive::CHUNK;
use crate::media::nand::ftl::{Ftl, Geometry, Work};

/// Most pages that stand for the drive, without spare ones.
const MOST_PAGES: u64 = 1 << 21;

/// Pages of a block of the layer. With fewer, the best victim would often be much better than the mean; in a drive that
/// collects all dies together, it is not.
const PAGES_PER_BLOCK: u32 = 512;

/// Fewest blocks of the layer, if there are enough pages.
const LEAST_BLOCKS: u64 = 256;

/// Blocks that the layer reserves. A real drive reserves almost none of its space, so they are added.
const KEPT_BLOCKS: u32 = 2;

/// The work of a collection is spread over this many blocks of the host's writes, as in a real drive.
const SPREAD_BLOCKS: u64 = 4;

/// Overwrites of the entire drive that count as the steady state: write amplification then changes by less than a
/// percent.
const OVERWRITES: u64 = 3;

/// The seed of the overwrites before a run. Which pages they hit makes no difference that a run could show, so every run
/// of a drive begins with the same state, computed once.
const STEADY_SEED: u64 = 1;

/// How many steady states are cached, at about 50 MB each.
const KEPT_STATES: usize = 4;

/// What determines a steady state: capacity, spare pages, chunks of a unit.
type Origin = (u64, u64, u32);

/// The last steady states. Computing one takes longer than most runs.
static STEADY: Mutex<Vec<(Origin, Space)>> = Mutex::new(Vec::new());

/// Collection work that is still to be done, in chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Debt {
    /// Chunks to be read and programmed again.
    pub(super) moved: f64,
    /// Chunks to be read for these moves: all chunks of the pages in which they lie.
    pub(super) read: f64,
    /// Chunks to be erased.
    pub(super) erased: f64,
}

impl Debt {
    /// Takes a fraction of the debt out.
    fn share(&mut self, fraction: f64) -> Self {
        let share = Self {
            moved: self.moved * fraction,
            read: self.read * fraction,
            erased: self.erased * fraction,
        };
        self.moved -= share.moved;
        self.read -= share.read;
        self.erased -= share.erased;
        share
    }

    pub(super) fn add(&mut self, other: Self) {
        self.moved += other.moved;
        self.read += other.read;
        self.erased += other.erased;
    }
}

/// The sampled layer, and the debt of its collection.
#[derive(Clone, Debug)]
pub(super) struct Space {
    ftl: Ftl,
    /// A page stands for two to this power chunks.
    shift: u32,
    chunks: u64,
    /// One bit for each page, set if any of it was written.
    written: Box<[u64]>,
    pages_per_block: u32,
    /// Chunks that one read of a die returns.
    unit_chunks: f64,
    debt: Debt,
    /// Chunks that the host must write until the debt is paid.
    due_in: f64,
}

/// Returns the layer that stands for `chunks` with this over-provisioning.
fn geometry(chunks: u64, over_provisioning: f64, most_pages: u64) -> (u32, Geometry) {
    let mut shift = 0;
    while chunks >> shift > most_pages {
        shift += 1;
    }
    let pages = chunks.div_ceil(1 << shift);
    let pages_per_block = (pages / LEAST_BLOCKS).clamp(4, u64::from(PAGES_PER_BLOCK)) as u32;
    let physical = pages as f64 * (1.0 + over_provisioning);
    let mut geometry = Geometry {
        blocks: (physical as u32 / pages_per_block + KEPT_BLOCKS).max(8),
        pages_per_block,
        over_provisioning,
    };
    while u64::from(geometry.logical_pages()) < pages {
        geometry.blocks += 1;
    }
    (shift, geometry)
}

impl Space {
    /// Creates the initial state of a drive.
    pub(super) fn new(capacity_bytes: u64, spec: &NandSpec) -> Self {
        if spec.initial != State::Random {
            return Self::of_pages(capacity_bytes, spec, STEADY_SEED, MOST_PAGES);
        }
        let spare = spec.over_provisioning.to_bits();
        let origin = (capacity_bytes, spare, spec.unit_chunks());
        let states = || STEADY.lock().unwrap_or_else(PoisonError::into_inner);
        let known = states()
            .iter()
            .find(|state| state.0 == origin)
            .map(|state| state.1.clone());
        known.unwrap_or_else(|| {
            let space = Self::of_pages(capacity_bytes, spec, STEADY_SEED, MOST_PAGES);
            let mut states = states();
            if states.len() == KEPT_STATES {
                states.remove(0);
            }
            states.push((origin, space.clone()));
            space
        })
    }

    /// Creates the same with a layer of at most `most_pages` pages.
    pub(super) fn of_pages(
        capacity_bytes: u64,
        spec: &NandSpec,
        seed: u64,
        most_pages: u64,
    ) -> Self {
        let chunks = capacity_bytes.div_ceil(CHUNK).max(1);
        let (shift, geometry) = geometry(chunks, spec.over_provisioning, most_pages);
        let pages = chunks.div_ceil(1 << shift);
        let mut space = Self {
            ftl: Ftl::new(geometry),
            shift,
            chunks,
            written: vec![0; pages.div_ceil(64) as usize].into(),
            pages_per_block: geometry.pages_per_block,
            unit_chunks: f64::from(spec.unit_chunks()),
            debt: Debt::default(),
            due_in: 0.0,
        };
        space.precondition(spec.initial, pages, seed);
        space
    }

    /// Preconditions the layer alone, without dies and time. This is some hundred times faster than writes through the
    /// drive, and the state is the same.
    fn precondition(&mut self, state: State, pages: u64, seed: u64) {
        if state == State::Fresh {
            return;
        }
        self.written.fill(u64::MAX);
        for page in 0..pages {
            self.write_page(page as u32);
        }
        if state == State::Random {
            let mut rng = Rng::new(child_seed(seed, u64::MAX), Stream::Offsets);
            for _ in 0..OVERWRITES * pages {
                self.write_page(rng.below(pages) as u32);
                // Each write pays its share here, too, so that the debt begins in its steady state.
                let chunks = f64::from(self.chunks_per_page());
                self.pay(chunks);
            }
        }
        self.ftl.reset_erases();
    }

    fn chunks_per_page(&self) -> u32 {
        1 << self.shift
    }

    /// Returns the chunk whose writes count as writes of the page.
    #[inline]
    fn sample_of(&self, page: u64) -> u64 {
        let hash = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let within = hash & ((1 << self.shift) - 1);
        ((page << self.shift) + within).min(self.chunks - 1)
    }

    #[inline]
    fn write_page(&mut self, page: u32) {
        let (_, work) = self.ftl.write(page);
        if work != Work::default() {
            self.owe(work);
        }
    }

    #[cold]
    fn owe(&mut self, work: Work) {
        let chunks = f64::from(self.chunks_per_page());
        let moved = f64::from(work.moved);
        let erased = f64::from(work.erased * self.pages_per_block);
        self.debt.add(Debt {
            moved: moved * chunks,
            // Entire blocks are read, unless they have so few valid pages that each read returns only one.
            read: erased.min(moved * self.unit_chunks) * chunks,
            erased: erased * chunks,
        });
        // In a steady state collections are regular, so the rate of payment hardly changes.
        self.due_in = (SPREAD_BLOCKS * u64::from(self.pages_per_block)) as f64 * chunks;
    }

    /// Notes that the host writes chunks `[first, first + count)`.
    #[inline]
    pub(super) fn write(&mut self, first: u64, count: u64) {
        let pages = first >> self.shift..=(first + count - 1) >> self.shift;
        for page in pages {
            self.written[page as usize / 64] |= 1 << (page % 64);
            if (first..first + count).contains(&self.sample_of(page)) {
                self.write_page(page as u32);
            }
        }
    }

    /// Takes the share of a write of `chunks` out of the debt, and returns it.
    #[inline]
    pub(super) fn pay(&mut self, chunks: f64) -> Debt {
        if self.due_in <= 0.0 {
            return Debt::default();
        }
        let share = self.debt.share((chunks / self.due_in).min(1.0));
        self.due_in -= chunks;
        share
    }

    /// Trims chunks `[first, first + count)`. Calls `forgotten` for every page that held data and now holds none.
    pub(super) fn trim(&mut self, first: u64, count: u64, mut forgotten: impl FnMut(u64)) {
        let end = first + count;
        for page in first >> self.shift..=(end - 1) >> self.shift {
            if (first..end).contains(&self.sample_of(page)) {
                self.ftl.trim(page as u32);
            }
            let last = ((page + 1) << self.shift).min(self.chunks) - 1;
            if page << self.shift >= first && last < end && self.holds(page) {
                self.written[page as usize / 64] &= !(1 << (page % 64));
                forgotten(page);
            }
        }
    }

    #[inline]
    fn holds(&self, page: u64) -> bool {
        self.written[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Returns the page that stands for a chunk.
    #[inline]
    pub(super) fn page_of(&self, chunk: u64) -> u64 {
        chunk >> self.shift
    }

    /// Returns the pages of chunks `[first, first + count)`, and how many of the chunks each stands for.
    pub(super) fn pages_of(&self, first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
        let (shift, end) = (self.shift, first + count);
        (first >> shift..=(end - 1) >> shift).map(move |page| {
            let next = (page + 1) << shift;
            (page, next.min(end) - first.max(page << shift))
        })
    }

    /// Returns the number of pages.
    pub(super) fn pages(&self) -> u64 {
        self.chunks.div_ceil(1 << self.shift)
    }

    /// Whether a chunk may hold data.
    #[inline]
    pub(super) fn is_written(&self, chunk: u64) -> bool {
        self.holds(self.page_of(chunk))
    }

    /// Returns the layer.
    pub(super) fn ftl(&self) -> &Ftl {
        &self.ftl
    }
}
