//! Pages that are written with one bit to a cell: faster, but they hold less, so what they hold moves on later.
//!
//! What is written first leaves first. Which parts of the drive lie here is known by page of the sampled layer, from
//! when any of its chunks was written last.
//!
//! It does not know that data was overwritten before it left: that moves, too.

use super::spec::SlcSpec;
use crate::drive::CHUNK;

/// Of a page of which nothing was written here.
const NOTHING: Page = Page {
    latest: u64::MAX,
    chunks: 0,
};

/// What of a page lies here.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// The number of its latest chunk.
    latest: u64,
    /// Chunks written since something of it last came to lie here.
    chunks: u64,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    pub(super) spec: SlcSpec,
    /// Chunks that it holds at most.
    places: u64,
    /// Chunks in it, with those on their way in.
    held: u64,
    /// Chunks ever written. Those before `gone` are not here any more; of the others, `held` are.
    put: u64,
    gone: u64,
    /// Of each page.
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

    /// So many chunks of a page were written, and will be programmed in units of so many: here, if there is room.
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

    /// Whether a page is read from here.
    #[inline]
    pub(super) fn has(&self, page: u64) -> bool {
        let Page { latest, .. } = self.pages[page as usize];
        latest < u64::MAX && latest >= self.gone
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
        let chunks = chunks.min(self.held);
        // What was trimmed left gaps, over which this passes.
        let there = self.put - self.gone;
        self.gone += if chunks == self.held {
            there
        } else {
            chunks * there / self.held
        };
        self.held -= chunks;
    }

    /// A page was trimmed: what of it lay here need not move.
    pub(super) fn forget(&mut self, page: u64) {
        if self.has(page) {
            let staying = self.held - self.leaving.min(self.held);
            self.held -= self.pages[page as usize].chunks.min(staying);
            self.pages[page as usize] = NOTHING;
        }
    }

    /// Chunks in it.
    pub(super) fn held(&self) -> u64 {
        self.held
    }
}
