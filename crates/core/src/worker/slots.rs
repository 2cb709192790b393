//! The worker's `iodepth` slots for requests, and the order in which they are used.

use crate::generate::Io;
use crate::request::{Check, Kind, Request};
use crate::time::Nanos;

/// One slot, aligned to a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot {
    request: Request,
    /// When it became free, or would have become free if its last request had started on time.
    free_at: Nanos,
    busy: bool,
}

/// All slots, and which of them are free.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    /// Free slots, the longest free first: a ring of `iodepth` entries.
    free: Box<[u32]>,
    free_head: usize,
    /// How many slots are used: all, or fewer in a worker that looks for its depth.
    depth: u32,
    in_flight: u32,
    /// When the queue was last drained to its refill depth: free slots are usable only from then on.
    pub(super) drained_at: Nanos,
}

impl Slots {
    /// Creates `depth` free slots.
    pub(super) fn new(depth: u32) -> Self {
        let slot = |slot| Slot {
            request: Request::none(slot),
            free_at: 0,
            busy: false,
        };
        Self {
            slots: (0..depth).map(slot).collect(),
            free: (0..depth).collect(),
            free_head: 0,
            depth,
            in_flight: 0,
            drained_at: 0,
        }
    }

    /// Frees all slots as of `start`.
    pub(super) fn begin(&mut self, start: Nanos) {
        for slot in &mut self.slots {
            slot.free_at = start;
        }
    }

    /// Uses `depth` slots from `now` on. None may be in flight if these are fewer than before.
    pub(super) fn set_depth(&mut self, depth: u32, now: Nanos) {
        if depth < self.depth {
            debug_assert_eq!(self.in_flight, 0);
            self.depth = 0;
        }
        if self.depth == 0 {
            self.free_head = 0;
        }
        for slot in self.depth..depth {
            self.slots[slot as usize].free_at = now;
            let place = self.end_of_free();
            self.free[place] = slot;
            self.depth += 1;
        }
    }

    /// Returns how many slots there are, used or not.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Returns how many slots are used.
    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.depth as usize
    }

    /// Returns the place behind the free slots in their ring.
    #[inline(always)]
    fn end_of_free(&self) -> usize {
        let length = self.free.len();
        let place = self.free_head + (self.depth - self.in_flight) as usize;
        if place >= length {
            place - length
        } else {
            place
        }
    }

    /// Returns how many slots are taken.
    #[inline(always)]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether all slots are taken.
    #[inline(always)]
    pub(super) fn full(&self) -> bool {
        self.in_flight == self.depth
    }

    /// Returns the requests in the slots that are taken.
    pub(super) fn busy(&self) -> impl Iterator<Item = &Request> {
        self.slots
            .iter()
            .filter(|slot| slot.busy)
            .map(|slot| &slot.request)
    }

    /// Returns the request in a slot: the one in flight, or the last one.
    #[inline(always)]
    pub(super) fn request(&self, slot: u32) -> &Request {
        &self.slots[slot as usize].request
    }

    /// Returns when the slot that is taken next became usable, or, if all are taken, when the queue was last drained.
    pub(super) fn usable_at(&self) -> Nanos {
        if self.full() {
            return self.drained_at;
        }
        let next = self.free[self.free_head] as usize;
        self.slots[next].free_at.max(self.drained_at)
    }

    /// Takes the slot that has been free longest, for a request that is due at `due`. There must be a free slot.
    #[inline(always)]
    pub(super) fn take(&mut self, io: &Io, intended: Nanos, due: Nanos) -> Request {
        let place = self.free[self.free_head];
        self.free_head += 1;
        if self.free_head == self.free.len() {
            self.free_head = 0;
        }
        self.in_flight += 1;
        let slot = &mut self.slots[place as usize];
        slot.busy = true;
        // The same value is stored and returned: reading it back from the slot would wait for the narrower stores into
        // it.
        let request = Request {
            slot: place,
            target: io.target,
            kind: io.kind,
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
            intended,
            ready: due.max(slot.free_at).max(self.drained_at),
            check: Check::Nothing,
            priority: 0,
        };
        slot.request = request;
        request
    }

    /// Replaces the request that was just taken by what has become of it.
    pub(super) fn replace(&mut self, request: Request) {
        self.slots[request.slot as usize].request = request;
    }

    /// Frees a slot as of `free_at` and returns the kind of its request. The slot goes to the end of the free ones. If
    /// it would have been free `earlier`, it is sorted among them by that instant, the order in which a generator that
    /// is never late would have taken them.
    #[inline(always)]
    pub(super) fn give(&mut self, slot: u32, free_at: Nanos, earlier: bool) -> Kind {
        let entry = &mut self.slots[slot as usize];
        debug_assert!(entry.busy, "slot {slot} completed twice");
        entry.free_at = free_at;
        entry.busy = false;
        let kind = entry.request.kind;
        let length = self.free.len();
        let mut place = self.end_of_free();
        self.in_flight -= 1;
        while earlier && place != self.free_head {
            let before = if place == 0 { length - 1 } else { place - 1 };
            if self.slots[self.free[before] as usize].free_at <= free_at {
                break;
            }
            self.free[place] = self.free[before];
            place = before;
        }
        self.free[place] = slot;
        kind
    }
}
