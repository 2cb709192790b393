//! Requests inside the drive, by slot. Slots are reused, so no memory is allocated once there are enough.

use iogauge_core::Kind;

use super::agenda::MOST_SLOTS;
use crate::drive::Access;

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) access: Access,
    /// Parts that must arrive before it can continue.
    pub(super) parts: u32,
    /// Chunks of a write that are in the buffer.
    pub(super) buffered_chunks: u64,
}

/// How many requests of each kind are inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByKind {
    pub(super) reads: usize,
    pub(super) writes: usize,
    pub(super) others: usize,
}

impl ByKind {
    #[inline]
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
            Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync => &mut self.others,
        }
    }
}

/// All requests inside the drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    slots: Vec<Request>,
    free: Vec<u32>,
    by_kind: ByKind,
}

impl Requests {
    /// Gives a request a slot.
    ///
    /// # Panics
    /// If there are more than a million.
    #[inline]
    pub(super) fn add(&mut self, access: Access) -> u32 {
        *self.by_kind.of(access.kind) += 1;
        let request = Request {
            access,
            parts: 0,
            buffered_chunks: 0,
        };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = request;
            return slot;
        }
        assert!(self.slots.len() < MOST_SLOTS, "too many requests in flight");
        self.slots.push(request);
        // So that freeing a slot never allocates.
        self.free.reserve(self.slots.len());
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Request {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Request {
        &mut self.slots[slot as usize]
    }

    /// Frees a slot. Returns the ticket of its request.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) -> u64 {
        let access = self.slots[slot as usize].access;
        *self.by_kind.of(access.kind) -= 1;
        self.free.push(slot);
        access.ticket
    }

    #[inline]
    pub(super) fn by_kind(&self) -> ByKind {
        self.by_kind
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}
