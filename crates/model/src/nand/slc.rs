//! Pages that are written with one bit to a cell: faster, but they hold less, so what they hold moves on later.
//!
//! What is written first leaves first. Which parts of the drive lie here is known by page of the sampled layer, from
//! when any of its chunks was written last.
//!
//! It does not know that data was overwritten before it left: that moves, too.
//!
//! Source: models.md ("What is public about the drives": TurboWrite, dynamic SLC).

use super::spec::{CHUNK, SlcSpec};

/// Never written into it.
const NEVER: u64 = u64::MAX;

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    pub(super) spec: SlcSpec,
    /// Chunks that it holds at most.
    places: u64,
    /// Chunks in it, with those on their way in.
    held: u64,
    /// Chunks ever written, and of those the ones that moved on.
    put: u64,
    /// For each page, the number of its latest chunk.
    latest: Box<[u64]>,
    /// Chunks that are moving out.
    leaving: u64,
}

impl Slc {
    pub(super) fn new(spec: SlcSpec, pages: u64) -> Self {
        Self {
            places: spec.bytes / CHUNK,
            held: 0,
            put: 0,
            latest: vec![NEVER; pages as usize].into(),
            leaving: 0,
            spec,
        }
    }

    /// Takes so many chunks, if there is room.
    #[inline]
    pub(super) fn take(&mut self, chunks: u64) -> bool {
        let fits = self.held + chunks <= self.places;
        if fits {
            self.held += chunks;
            self.put += chunks;
        }
        fits
    }

    /// Something in a page was written, and will be programmed in units of so many chunks: here, if there is room.
    #[inline]
    pub(super) fn written(&mut self, page: u64, unit_chunks: u64) {
        let comes_here = self.spec.fold_when_full || self.held + unit_chunks <= self.places;
        self.latest[page as usize] = if comes_here { self.put } else { NEVER };
    }

    /// Whether a page is read from here.
    #[inline]
    pub(super) fn has(&self, page: u64) -> bool {
        let latest = self.latest[page as usize];
        latest != NEVER && latest + self.held >= self.put
    }

    /// Chunks that could begin to move out: at most `most`.
    #[inline]
    pub(super) fn to_leave(&self, most: u64) -> u64 {
        (self.held - self.leaving.min(self.held)).min(most)
    }

    /// So many begin to.
    pub(super) fn leave(&mut self, chunks: u64) {
        self.leaving += chunks;
    }

    /// So many have moved out.
    pub(super) fn left(&mut self, chunks: u64) {
        self.leaving -= chunks;
        self.held -= chunks.min(self.held);
    }

    /// A page of so many chunks was trimmed: what of it lay here need not move.
    pub(super) fn forget(&mut self, page: u64, chunks: u64) {
        if self.has(page) {
            self.latest[page as usize] = NEVER;
            let staying = self.held - self.leaving.min(self.held);
            self.held -= chunks.min(staying);
        }
    }

    /// Chunks in it.
    pub(super) fn held(&self) -> u64 {
        self.held
    }
}
