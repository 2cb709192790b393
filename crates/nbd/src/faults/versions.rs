//! The version before the last of pages that were written last: what a stale read returns.

use std::collections::{BTreeMap, VecDeque};

use super::MOST_KEPT_BYTES;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// The version before the last of a bounded number of pages. A page that was first written longest ago is forgotten
/// first.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pages: BTreeMap<u64, Box<[u8]>>,
    order: VecDeque<u64>,
}

/// Returns the numbers of the pages of a range.
pub(super) fn pages_of(offset_bytes: u64, length_bytes: u64) -> std::ops::Range<u64> {
    offset_bytes / PAGE..(offset_bytes + length_bytes).div_ceil(PAGE)
}

impl Versions {
    /// Keeps what a page held before a write.
    pub(super) fn keep(&mut self, page: u64, content: Box<[u8]>) {
        if self.pages.insert(page, content).is_none() {
            self.order.push_back(page);
        }
        if self.pages.len() as u64 * PAGE > MOST_KEPT_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            self.pages.remove(&oldest);
        }
    }

    /// Whether it has a version of a range that differs from `now`.
    pub(super) fn differs(&self, offset_bytes: u64, now: &[u8]) -> bool {
        let mut before = now.to_vec();
        self.overlay(offset_bytes, &mut before);
        before != now
    }

    /// Replaces what a range holds by the version before, as far as it has that.
    pub(super) fn overlay(&self, offset_bytes: u64, bytes: &mut [u8]) {
        let pages = pages_of(offset_bytes, bytes.len() as u64);
        for (page, content) in self.pages.range(pages) {
            copy_overlap(offset_bytes, bytes, page * PAGE, content);
        }
    }
}

/// Copies the part of `source` that lies within `target`. Both have offsets.
pub(super) fn copy_overlap(target_at: u64, target: &mut [u8], source_at: u64, source: &[u8]) {
    let from = target_at.max(source_at);
    let end = (target_at + target.len() as u64).min(source_at + source.len() as u64);
    if from < end {
        let within = |at: u64| (from - at) as usize..(end - at) as usize;
        target[within(target_at)].copy_from_slice(&source[within(source_at)]);
    }
}
