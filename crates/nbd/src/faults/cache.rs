//! A volatile write cache of bounded size. When it is full, the oldest writes go to the medium.

use std::collections::{BTreeMap, BTreeSet};

use iogauge_core::generate::Rng;

use super::plan::Keep;
use super::versions::{copy_overlap, pages_of};
use crate::protocol::wire::Refusal;
use crate::store::Store;

/// What a write costs besides its data, bytes.
const OVERHEAD: u64 = 256;

/// A write that did not reach the medium.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The number of its request.
    pub(super) request: u64,
    pub(super) offset_bytes: u64,
    pub(super) data: Box<[u8]>,
    /// Whether it stays behind the next flush.
    pub(super) stays: bool,
    /// The bit of the data that is wrong once it is on the medium.
    pub(super) rotten_bit: Option<u64>,
}

impl Entry {
    fn cost(&self) -> u64 {
        self.data.len() as u64 + OVERHEAD
    }

    /// Writes it to the medium.
    pub(super) fn settle(&self, medium: &mut dyn Store) -> Result<(), Refusal> {
        medium.write(self.offset_bytes, &self.data)?;
        let Some(bit) = self.rotten_bit else {
            return Ok(());
        };
        let byte = self.data[(bit / 8) as usize] ^ 1 << (bit % 8);
        medium.write(self.offset_bytes + bit / 8, &[byte])
    }

    /// Writes the atomic units to the medium that `keeps` says.
    fn settle_some(
        &self,
        medium: &mut dyn Store,
        atomic_bytes: u64,
        mut keeps: impl FnMut() -> bool,
    ) -> Result<(), Refusal> {
        let end = self.offset_bytes + self.data.len() as u64;
        let mut at = self.offset_bytes;
        while at < end {
            let next = end.min((at / atomic_bytes + 1) * atomic_bytes);
            if keeps() {
                let within = |at: u64| (at - self.offset_bytes) as usize;
                medium.write(at, &self.data[within(at)..within(next)])?;
            }
            at = next;
        }
        Ok(())
    }
}

/// What a power cut did to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Writes that were in the cache.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The cache.
#[derive(Debug)]
pub(super) struct Cache {
    limit_bytes: u64,
    held_bytes: u64,
    next: u64,
    /// In the order of their arrival.
    entries: BTreeMap<u64, Entry>,
    /// The entries of each page, in the same order.
    of_page: BTreeMap<u64, Vec<u64>>,
}

impl Cache {
    /// Creates an empty cache of at most `limit_bytes`.
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            held_bytes: 0,
            next: 0,
            entries: BTreeMap::new(),
            of_page: BTreeMap::new(),
        }
    }

    /// Returns how many bytes it holds, with what the entries cost.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Takes a write. One for which there is no room at all goes through.
    ///
    /// # Errors
    /// If older writes must make room, and the medium has none.
    pub(super) fn insert(&mut self, entry: Entry, medium: &mut dyn Store) -> Result<(), Refusal> {
        if entry.data.is_empty() {
            return Ok(());
        }
        if entry.cost() > self.limit_bytes {
            return self.write_through(&entry, medium);
        }
        // Where a newer write comes, the older one no longer waits: a flush keeps their order.
        for id in self.overlapping(entry.offset_bytes, entry.data.len() as u64) {
            if let Some(older) = self.entries.get_mut(&id) {
                older.stays = false;
            }
        }
        while self.held_bytes + entry.cost() > self.limit_bytes {
            let Some((&oldest, _)) = self.entries.first_key_value() else {
                break;
            };
            self.settle(oldest, medium)?;
        }
        let id = self.next;
        self.next += 1;
        self.held_bytes += entry.cost();
        for page in pages_of(entry.offset_bytes, entry.data.len() as u64) {
            self.of_page.entry(page).or_default().push(id);
        }
        self.entries.insert(id, entry);
        Ok(())
    }

    /// Writes to the medium, after the older writes to the same place.
    pub(super) fn write_through(
        &mut self,
        entry: &Entry,
        medium: &mut dyn Store,
    ) -> Result<(), Refusal> {
        self.settle_range(entry.offset_bytes, entry.data.len() as u64, medium)?;
        entry.settle(medium)
    }

    /// Brings what it holds of a range to the medium.
    pub(super) fn settle_range(
        &mut self,
        offset_bytes: u64,
        length_bytes: u64,
        medium: &mut dyn Store,
    ) -> Result<(), Refusal> {
        let mut todo = self.overlapping(offset_bytes, length_bytes);
        let mut ids = BTreeSet::new();
        // An older write that touches one of these must come before it, or it would overwrite it later.
        while let Some(id) = todo.pop() {
            if ids.insert(id) {
                let entry = &self.entries[&id];
                let older = self.overlapping(entry.offset_bytes, entry.data.len() as u64);
                todo.extend(older.into_iter().filter(|&older| older < id));
            }
        }
        ids.into_iter().try_for_each(|id| self.settle(id, medium))
    }

    /// Brings everything to the medium but the writes that stay. Returns those.
    pub(super) fn flush(&mut self, medium: &mut dyn Store) -> Result<Vec<Entry>, Refusal> {
        let ids: Vec<u64> = self.entries.keys().copied().collect();
        let mut stayed = Vec::new();
        for id in ids {
            match self.entries.get_mut(&id) {
                Some(entry) if entry.stays => {
                    entry.stays = false;
                    stayed.push(entry.clone());
                }
                _ => self.settle(id, medium)?,
            }
        }
        Ok(stayed)
    }

    /// Replaces what a range of the medium holds by what the cache has of it.
    pub(super) fn overlay(&self, offset_bytes: u64, bytes: &mut [u8]) {
        for id in self.overlapping(offset_bytes, bytes.len() as u64) {
            let entry = &self.entries[&id];
            copy_overlap(offset_bytes, bytes, entry.offset_bytes, &entry.data);
        }
    }

    /// Loses the power: brings to the medium what `keep` says, and forgets everything.
    pub(super) fn cut(
        &mut self,
        keep: Keep,
        atomic_bytes: u32,
        rng: &mut Rng,
        medium: &mut dyn Store,
    ) -> Result<Loss, Refusal> {
        let mut loss = Loss::default();
        for entry in std::mem::take(&mut self.entries).into_values() {
            loss.writes += 1;
            loss.bytes += entry.data.len() as u64;
            let unit = u64::from(atomic_bytes.max(1));
            match keep {
                Keep::None => {}
                Keep::All => entry.settle(medium)?,
                Keep::Random => match rng.below(3) {
                    0 => {}
                    1 => entry.settle(medium)?,
                    _ => entry.settle_some(medium, unit, || rng.below(2) == 0)?,
                },
            }
        }
        self.of_page.clear();
        self.held_bytes = 0;
        Ok(loss)
    }

    /// Brings one write to the medium. Older ones to the same place are there already.
    fn settle(&mut self, id: u64, medium: &mut dyn Store) -> Result<(), Refusal> {
        let Some(entry) = self.entries.get(&id) else {
            return Ok(());
        };
        entry.settle(medium)?;
        self.held_bytes -= entry.cost();
        for page in pages_of(entry.offset_bytes, entry.data.len() as u64) {
            if let Some(ids) = self.of_page.get_mut(&page) {
                ids.retain(|&other| other != id);
                if ids.is_empty() {
                    self.of_page.remove(&page);
                }
            }
        }
        self.entries.remove(&id);
        Ok(())
    }

    /// Returns the entries that touch a range, in the order of their arrival.
    fn overlapping(&self, offset_bytes: u64, length_bytes: u64) -> Vec<u64> {
        let pages = self.of_page.range(pages_of(offset_bytes, length_bytes));
        let mut ids: Vec<u64> = pages.flat_map(|(_, ids)| ids.iter().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| {
            let entry = &self.entries[id];
            let end = entry.offset_bytes + entry.data.len() as u64;
            entry.offset_bytes < offset_bytes + length_bytes && offset_bytes < end
        });
        ids
    }
}
