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

impl WorkerPlan {
    /// Returns the directions and priorities that its reads, writes and trims can have. Priority 0 is that of its thread.
    pub fn priorities_of_requests(&self) -> Vec<(Direction, u16)> {
        let issued = self.directions();
        let data = [Direction::Read, Direction::Write, Direction::Trim];
        let data = data.into_iter().filter(|one| issued[*one as usize]);
        let mut all: Vec<_> = data.map(|direction| (direction, 0)).collect();
        for share in self.drawn_priorities() {
            let one = (share.direction, share.priority);
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// Returns which of its requests have a priority of their own. As in fio, what only verifies its writes has none.
    pub fn drawn_priorities(&self) -> impl Iterator<Item = &PriorityPlan> {
        let rated = self.rated_directions();
        let shares = self.priorities.iter();
        shares.filter(move |share| rated[share.direction as usize])
    }
}
