//! Knows what was written to each file since its last sync: the range of fio's `sync_file_range`.
//!
//! Only writes that have returned count, as in fio. A write that returns while a sync is in flight belongs to the next
//! one; fio forgets it.

use crate::plan::WorkerPlan;
use crate::request::{Completion, Kind, Request, TO_THE_END};

/// The bytes between the first and the last that were written to each file since its last sync: from, to.
#[derive(Debug)]
pub(super) struct Written(Box<[Option<(u64, u64)>]>);

impl Written {
    /// Creates what `plan` needs; nothing if it syncs no ranges.
    pub(super) fn new(plan: &WorkerPlan) -> Option<Box<Self>> {
        let ranges = vec![None; plan.files.len()];
        plan.pattern
            .sync_file_range
            .is_some()
            .then(|| Box::new(Self(ranges.into())))
    }

    /// Notes the completion of `request`.
    pub(super) fn returned(&mut self, request: &Request, completion: &Completion) {
        let (Kind::Write, Ok(moved)) = (request.kind, completion.result) else {
            return;
        };
        let (from, to) = (
            request.offset_bytes,
            request.offset_bytes + u64::from(moved),
        );
        let range = self.0[request.target as usize].get_or_insert((from, to));
        *range = (range.0.min(from), range.1.max(to));
    }

    /// Returns `request` with the range that was written to its file, which begins anew, if it is a sync. Without
    /// writes it has no bytes.
    pub(super) fn issue(&mut self, request: Request) -> Request {
        if !request.kind.is_sync() {
            return request;
        }
        let range = self.0[request.target as usize].take();
        if request.kind != Kind::RangeSync {
            return request;
        }
        let (from, to) = range.unwrap_or_default();
        Request {
            offset_bytes: from,
            length_bytes: u32::try_from(to - from).unwrap_or(TO_THE_END),
            ..request
        }
    }
}
