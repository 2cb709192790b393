//! Decides when a job has issued enough.

use crate::plan::WorkerPlan;

/// What counts toward the limits: reads, writes and trims, not syncs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) ios: u64,
    pub(super) bytes: u64,
}

impl Counted {
    /// Returns what is counted after `count` more requests of `length` bytes each.
    #[inline(always)]
    pub(super) fn plus(self, count: u64, length: u64) -> Self {
        Self {
            ios: self.ios + count,
            bytes: self.bytes + count * length,
        }
    }
}

/// Ends a job that is not time_based, by fio 3.33's rules. The loops multiply the limits. If the region is used up
/// sooner, it is covered `loops` times, and then again until `io_bytes` are reached once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// 0: no limit.
    ios: u64,
    /// 0: no limit.
    io_bytes: u64,
    /// 0: no limit.
    all_bytes: u64,
    passes_left: u64,
    /// Whether the region is never used up: a random pattern without a random map.
    endless: bool,
}

impl Limits {
    pub(super) fn new(plan: &WorkerPlan) -> Self {
        // Holes may wrap around and never use a region up.
        let has_holes = !plan.pattern.rw.random() && plan.pattern.sequence != 0;
        let all_bytes = match plan.io_bytes {
            0 if has_holes => plan.files.iter().map(|file| file.region_bytes).sum(),
            io_bytes => io_bytes,
        };
        Self {
            ios: plan.number_ios.saturating_mul(plan.loops),
            io_bytes: plan.io_bytes,
            all_bytes: all_bytes.saturating_mul(plan.loops),
            passes_left: plan.loops,
            endless: plan.io_bytes > 0 && plan.pattern.rw.random() && !plan.pattern.random_map,
        }
    }

    /// Whether a pass over the region is no unit of the job, as in fio: only the limits end it.
    pub(super) fn is_endless(&self) -> bool {
        self.endless
    }

    #[inline]
    pub(super) fn reached(&self, issued: Counted) -> bool {
        (self.ios > 0 && issued.ios >= self.ios)
            || (self.all_bytes > 0
                && issued.bytes
                    >= if self.passes_left == 0 && self.io_bytes > 0 {
                        self.io_bytes
                    } else {
                        self.all_bytes
                    })
    }

    /// Ends a pass. Returns whether another one follows.
    pub(super) fn next_pass(&mut self, issued: Counted) -> bool {
        if !self.endless {
            self.passes_left = self.passes_left.saturating_sub(1);
        }
        self.passes_left > 0 || issued.bytes < self.io_bytes
    }
}
