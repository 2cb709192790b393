//! The SLC region: pages written with one bit to a cell. They are faster but hold less, so their data moves on later.
//!
//! The oldest data leaves first. The latest write to a page of the sampled layer decides whether that part of the drive
//! is here.
//!
//! It does not track overwrites: data that was overwritten before it left moves, too.

use super::spec::SlcSpec;
use crate::drive::CHUNK;

/// A page without data here.
const NOTHING: Page = Page {
    latest: u64::MAX,
    chunks: 0,
};

/// A page's data in the region.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// The number of its latest chunk.
    latest: u64,
    /// Chunks written since its data last entered.
    chunks: u64,
}

/// The SLC region of a drive.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    pub(super) spec: SlcSpec,
    /// Its capacity in chunks.
    places: u64,
    /// Chunks in it, including those that are being written.
    held: u64,
    /// Chunks written so far. Those before `gone` have left; of the rest, `held` are here.
    put: u64,
    gone: u64,
    /// The state of each page.
    pages: Box<[Page]>,
    /// Chunks that are moving out.
    leaving: u64,
}

impl Slc {
    pub(super) fn new(spec: SlcSpec, pages: u64) -> Self {
        Self {
            places: spec.bytes / CHUNK,
            held: 0,
            put: 0,
            gone: 0,
            pages: vec![NOTHING; pages as usize].into(),
            leaving: 0,
            spec,
        }
    }

    /// Reserves room for `chunks`. Returns false if there is not enough.
    #[inline]
    pub(super) fn take(&mut self, chunks: u64) -> bool {
        let fits = self.held + chunks <= self.places;
        if fits {
            self.held += chunks;
            self.put += chunks;
        }
        fits
    }

    /// Notes that `chunks` of a page were written, which are programmed here in units if there is room.
    #[inline]
    pub(super) fn written(&mut self, page: u64, chunks: u64, unit_chunks: u64) {
        let comes_here = self.spec.fold_when_full || self.held + unit_chunks <= self.places;
        let before = if self.has(page) {
            self.pages[page as usize].chunks
        } else {
            0
        };
        self.pages[page as usize] = if comes_here {
            Page {
                latest: self.put,
                chunks: before + chunks,
            }
        } else {
            NOTHING
        };
    }

    /// Whether reads of a page come from here.
    #[inline]
    pub(super) fn has(&self, page: u64) -> bool {
        let Page { latest, .. } = self.pages[page as usize];
        latest < u64::MAX && latest >= self.gone
    }

    /// Returns how many chunks could begin to move out, at most `most`.
    #[inline]
    pub(super) fn to_leave(&self, most: u64) -> u64 {
        (self.held - self.leaving.min(self.held)).min(most)
    }

    /// Notes that `chunks` begin to move out.
    pub(super) fn leave(&mut self, chunks: u64) {
        self.leaving += chunks;
    }

    /// Notes that `chunks` have moved out.
    pub(super) fn left(&mut self, chunks: u64) {
        self.leaving -= chunks;
        let chunks = chunks.min(self.held);
        // Skip the gaps that trims left.
        let span = self.put - self.gone;
        self.gone += if chunks == self.held {
            span
        } else {
            chunks * span / self.held
        };
        self.held -= chunks;
    }

    /// Forgets a trimmed page: its data here need not move.
    pub(super) fn forget(&mut self, page: u64) {
        if self.has(page) {
            let staying = self.held - self.leaving.min(self.held);
            self.held -= self.pages[page as usize].chunks.min(staying);
            self.pages[page as usize] = NOTHING;
        }
    }

    /// Returns how many chunks are in it.
    pub(super) fn held(&self) -> u64 {
        self.held
    }
}
