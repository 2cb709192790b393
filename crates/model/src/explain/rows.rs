//! The requests of one reported row: the sums of its threads.

use iogauge_core::Direction;

use super::bands::{self, RowParts};
use super::host::HostBook;
use super::sums::Sums;

/// The requests of one reported row.
#[derive(Debug)]
pub(crate) struct RowSums {
    row: u32,
    name: String,
    /// By direction.
    sums: [Sums; Direction::ALL.len()],
}

impl RowSums {
    /// Creates the sums of a row without requests.
    pub(crate) fn new(row: u32, name: &str) -> Self {
        Self {
            row,
            name: name.to_owned(),
            sums: Default::default(),
        }
    }

    /// Returns the reported row.
    pub(crate) fn row(&self) -> u32 {
        self.row
    }

    /// Adds the requests of a thread of this row.
    pub(crate) fn add(&mut self, thread: &HostBook) {
        for (sums, more) in self.sums.iter_mut().zip(thread.sums()) {
            sums.add_all(more);
        }
    }

    /// Returns the mean parts of the row in the stage at this index.
    pub(crate) fn row_parts(&self, stage: u32) -> RowParts {
        let directions = Direction::ALL.iter().zip(&self.sums);
        RowParts {
            stage,
            row: self.row,
            name: self.name.clone(),
            directions: directions
                .filter_map(|(direction, sums)| {
                    bands::of(sums).map(|parts| (direction.name(), parts))
                })
                .collect(),
        }
    }
}
