//! When requests of one direction are due.

use serde::Deserialize;

use crate::time::Nanos;

/// When requests of one direction are due; all zero: no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(non_snake_case)]
pub struct SchedulePlan {
    /// Requests a second.
    pub rate_iops: u64,
    /// Bytes a second.
    pub rate_Bps: u64,
    /// The stage is stopped below this over a second; 0: no limit.
    pub rate_min_Bps: u64,
    /// When the first request is due, since the worker's start, if gaps are equal.
    pub first_ns: Nanos,
}

impl SchedulePlan {
    /// Whether requests are due at a rate.
    pub const fn has_rate(&self) -> bool {
        self.rate_iops > 0 || self.rate_Bps > 0
    }
}
