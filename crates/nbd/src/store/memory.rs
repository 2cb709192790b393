//! Data in memory: pages that were written, by their index.

use std::collections::BTreeMap;

use super::Store;
use crate::protocol::wire::Refusal;

/// Bytes of a page: those of a usual request, so that random writes need no more memory than they write.
const PAGE: u64 = 4096;

/// Pages that were written, by their index.
#[derive(Debug)]
pub struct MemoryStore {
    pages: BTreeMap<u64, Box<[u8]>>,
    most_pages: u64,
}

/// The part of a range that lies in one page.
struct Part {
    page: u64,
    /// Its range in the page.
    within: std::ops::Range<usize>,
    /// Its range in the entire range.
    of_range: std::ops::Range<usize>,
}

/// Cuts a range by pages.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = Part> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        let page = at / PAGE;
        let until = end.min((page + 1) * PAGE);
        let part = (at < end).then(|| Part {
            page,
            within: (at % PAGE) as usize..(until - page * PAGE) as usize,
            of_range: (at - offset) as usize..(until - offset) as usize,
        });
        at = until;
        part
    })
}

impl MemoryStore {
    /// Creates a store of at most `limit_bytes`. Further writes find no room.
    pub fn new(limit_bytes: u64) -> Self {
        Self {
            pages: BTreeMap::new(),
            most_pages: limit_bytes / PAGE,
        }
    }

    /// Returns the bytes held.
    pub fn held_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    /// Returns a page to write to.
    fn page(&mut self, page: u64) -> Result<&mut [u8], Refusal> {
        let full = self.pages.len() as u64 >= self.most_pages;
        match self.pages.entry(page) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(_) if full => Err(Refusal::NoSpace),
            std::collections::btree_map::Entry::Vacant(entry) => {
                Ok(entry.insert(vec![0; PAGE as usize].into()))
            }
        }
    }

    /// Forgets the pages in `[first, end)`.
    fn forget(&mut self, first: u64, end: u64) {
        while let Some((&page, _)) = self.pages.range(first..end).next() {
            self.pages.remove(&page);
        }
    }
}

impl Store for MemoryStore {
    fn read(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        for part in parts(offset_bytes, bytes.len() as u64) {
            let to = &mut bytes[part.of_range];
            match self.pages.get(&part.page) {
                Some(page) => to.copy_from_slice(&page[part.within]),
                None => to.fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Refusal> {
        for part in parts(offset_bytes, bytes.len() as u64) {
            self.page(part.page)?[part.within].copy_from_slice(&bytes[part.of_range]);
        }
        Ok(())
    }

    fn zero(
        &mut self,
        offset_bytes: u64,
        length_bytes: u32,
        provision: bool,
    ) -> Result<(), Refusal> {
        let end = offset_bytes + u64::from(length_bytes);
        if provision {
            for part in parts(offset_bytes, u64::from(length_bytes)) {
                self.page(part.page)?[part.within].fill(0);
            }
            return Ok(());
        }
        let (first_whole, end_whole) = (offset_bytes.div_ceil(PAGE), end / PAGE);
        if first_whole < end_whole {
            self.forget(first_whole, end_whole);
        }
        // The rest lies in the first and the last page.
        for page in [offset_bytes / PAGE, end / PAGE] {
            let from = offset_bytes.max(page * PAGE) - page * PAGE;
            let until = end.min((page + 1) * PAGE).saturating_sub(page * PAGE);
            if let Some(bytes) = self.pages.get_mut(&page)
                && from < until
            {
                bytes[from as usize..until as usize].fill(0);
            }
        }
        Ok(())
    }
}
