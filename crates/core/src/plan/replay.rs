//! The trace that a worker replays: the part of a plan that says so.

use serde::Deserialize;

use crate::plan::PatternPlan;
use crate::request::Direction;

/// When the requests of a trace are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// At the instants of the trace, whatever the target does.
    Timed,
    /// As soon as a slot is free.
    Closed,
    /// Once those have completed that had completed before it in the trace, and as long after them.
    Think,
    /// As soon as those have completed.
    Dependent,
}

impl Pacing {
    /// Whether requests wait for others.
    #[inline]
    pub const fn waits(self) -> bool {
        matches!(self, Self::Think | Self::Dependent)
    }
}

/// The trace that a worker replays instead of drawing from its pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ReplayPlan {
    /// A descriptor of the file with its rows.
    pub fd: i32,
    /// How many rows there are, positive.
    pub rows: u64,
    /// When they are issued.
    pub pacing: Pacing,
    /// The most requests in flight in the trace; 0: unknown.
    pub trace_depth: u32,
    /// The directions of its requests.
    pub directions: Vec<Direction>,
}

impl ReplayPlan {
    /// Returns which directions its requests can have, by [`Direction`]; of the pattern, only syncs at the end count.
    pub fn issued(&self, pattern: &PatternPlan) -> [bool; Direction::COUNT] {
        let mut issued = Direction::ALL.map(|direction| self.directions.contains(&direction));
        issued[Direction::Sync as usize] |= pattern.sync_at_end && pattern.rw.writes();
        issued
    }
}
