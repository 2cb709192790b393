//! What a worker says to the kernel about its requests.

use serde::Deserialize;

use super::WorkerPlan;
use crate::request::Direction;

/// In which order it says that its files are accessed: fio's fadvise_hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// It says nothing.
    None,
    /// At random: the kernel reads nothing ahead.
    Random,
    /// In sequence: the kernel reads further ahead.
    Sequential,
}

/// The share of some requests that have an I/O priority of their own: fio's cmdprio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct PriorityPlan {
    /// Reads or writes.
    pub direction: Direction,
    /// Only requests of this length; 0: of any.
    pub length_bytes: u32,
    /// The share of these requests, in `[0, 100]`. The shares of one direction and length add up to 100 at most.
    pub percent: u32,
    /// As ioprio_set takes it; not 0.
    pub priority: u16,
}

/// Which latency is reported for each I/O priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum PriorityLatency {
    Lat,
    Clat,
}

impl WorkerPlan {
    /// Returns the directions and priorities that its reads and writes can have. Priority 0 is that of its thread.
    pub fn priorities_of_requests(&self) -> Vec<(Direction, u16)> {
        let mut all = Vec::new();
        for direction in [Direction::Read, Direction::Write] {
            if !self.directions()[direction as usize] {
                continue;
            }
            all.push((direction, 0));
            for share in &self.priorities {
                let one = (direction, share.priority);
                if share.direction == direction && !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }
}
