//! Decides which file the next request goes to: fio's file_service_type.
//!
//! A file that is finished in this pass is passed over, and ends its run of requests.

use super::region::Region;
use super::rng::{Rng, Stream};
use crate::plan::{FileOrder, PatternPlan};

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    seed: u64,
    draws: Option<Rng>,
    /// Requests in a row to one file; `u64::MAX`: until it is finished.
    run: u64,
    left: u64,
    current: usize,
    /// The file after the current one.
    next: usize,
}

impl Turns {
    pub(super) fn new(plan: &PatternPlan, seed: u64) -> Self {
        let mut turns = Self {
            seed,
            draws: (plan.file_order == FileOrder::Random).then(|| Rng::new(seed, Stream::Files)),
            run: match plan.file_order {
                FileOrder::Sequential => u64::MAX,
                FileOrder::Roundrobin | FileOrder::Random => plan.file_run.max(1),
            },
            left: 0,
            current: 0,
            next: 0,
        };
        turns.replay();
        turns
    }

    /// Begins anew, with the same draws.
    pub(super) fn replay(&mut self) {
        (self.left, self.current, self.next) = (0, 0, 0);
        if let Some(draws) = &mut self.draws {
            *draws = Rng::new(self.seed, Stream::Files);
        }
    }

    /// Ends the run of requests to the current file.
    pub(super) fn end_run(&mut self) {
        self.left = 0;
    }

    /// Returns the file of the next request; `None` if all are finished.
    #[inline]
    pub(super) fn take(&mut self, regions: &[Region]) -> Option<usize> {
        if self.left > 0 && !regions[self.current].done {
            self.left -= 1;
            return Some(self.current);
        }
        self.current = match &mut self.draws {
            Some(draws) => {
                let open = regions.iter().filter(|region| !region.done).count();
                if open == 0 {
                    return None;
                }
                let nth = draws.below(open as u64) as usize;
                (0..regions.len())
                    .filter(|&file| !regions[file].done)
                    .nth(nth)?
            }
            None => {
                let mut ahead = (0..regions.len()).map(|step| (self.next + step) % regions.len());
                let file = ahead.find(|&file| !regions[file].done)?;
                self.next = (file + 1) % regions.len();
                file
            }
        };
        self.left = self.run - 1;
        Some(self.current)
    }
}
