//! Confines a job to one zone of each region at a time: fio's zonemode=strided.
//!
//! After `size` bytes the job moves to the next zone, `range + skip` bytes further on in the file of the request; after
//! the last zone that has room it begins again. A zone that is covered before is covered again. The bytes of a zone count
//! over all directions and files, as in fio.
//!
//! Source: fio's io_u.c (setup_strided_zone_mode).

use super::region::Region;
use super::rng::Rng;
use crate::plan::StridesPlan;

/// Where the zones are, and how far the current one is.
#[derive(Clone, Debug)]
pub(super) struct Strides {
    plan: StridesPlan,
    /// The regions, `(offset, bytes)` of each file.
    regions: Box<[(u64, u64)]>,
    /// Offset of the current zone in each region.
    zones: Box<[u64]>,
    issued_bytes: u64,
}

impl Strides {
    pub(super) fn new(plan: StridesPlan, regions: &[(u64, u64)]) -> Self {
        Self {
            plan,
            regions: regions.into(),
            zones: vec![0; regions.len()].into(),
            issued_bytes: 0,
        }
    }

    /// Returns the first zone of each region.
    pub(super) fn windows(plan: StridesPlan, regions: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let cut = |&(offset, bytes): &(u64, u64)| (offset, bytes.min(plan.range_bytes));
        regions.iter().map(cut).collect()
    }

    /// Prepares a region for its next request of one direction: moves it to the next zone, or begins its zone anew.
    #[inline]
    pub(super) fn turn(
        &mut self,
        target: usize,
        direction: usize,
        region: &mut Region,
        rng: &mut Rng,
    ) {
        if self.issued_bytes >= self.plan.size_bytes {
            self.issued_bytes = 0;
            let (offset, bytes) = self.regions[target];
            let next = self.zones[target] + self.plan.range_bytes + self.plan.skip_bytes;
            let fits = next + self.plan.range_bytes <= bytes;
            self.zones[target] = if fits { next } else { 0 };
            region.begin_at(offset + self.zones[target]);
        }
        if self.issued_bytes.is_multiple_of(self.plan.range_bytes) {
            region.replay(rng);
        } else {
            region.wrap(direction);
        }
    }

    /// Counts the bytes of a request.
    #[inline]
    pub(super) fn issued(&mut self, bytes: u32) {
        self.issued_bytes += u64::from(bytes);
    }

    /// Begins with the first zones again.
    pub(super) fn replay(&mut self, regions: &mut [Region]) {
        self.issued_bytes = 0;
        for ((region, zone), &(offset, _)) in
            regions.iter_mut().zip(&mut self.zones).zip(&self.regions)
        {
            *zone = 0;
            region.begin_at(offset);
        }
    }
}
