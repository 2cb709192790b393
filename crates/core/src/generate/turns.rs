//! Decides which file the next request goes to: fio's file_service_type.
//!
//! A file that is finished in this pass is passed over, and ends its run of requests. With fio's openfiles, only so many
//! files take turns; the next one begins when one of them is finished.

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
    /// Which files have begun in this pass, if not all may be open at once.
    begun: Option<Box<[bool]>>,
    most_open: usize,
}

impl Turns {
    pub(super) fn new(plan: &PatternPlan, files: usize, seed: u64) -> Self {
        let most_open = plan.open_files as usize;
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
            begun: (0 < most_open && most_open < files).then(|| vec![false; files].into()),
            most_open,
        };
        turns.replay();
        turns
    }

    /// Begins anew, with the same draws.
    pub(super) fn replay(&mut self) {
        (self.current, self.next) = (0, 0);
        self.end_pass();
        if let Some(draws) = &mut self.draws {
            *draws = Rng::new(self.seed, Stream::Files);
        }
    }

    /// Ends the run of requests to the current file, and closes all files.
    pub(super) fn end_pass(&mut self) {
        self.left = 0;
        if let Some(begun) = &mut self.begun {
            begun.fill(false);
        }
    }

    /// Returns the file of the next request; `None` if all are finished.
    #[inline]
    pub(super) fn take(&mut self, regions: &[Region]) -> Option<usize> {
        // Most jobs have one file, which needs no turns.
        if let [only] = regions {
            return (!only.done).then_some(0);
        }
        if self.left > 0 && !regions[self.current].done {
            self.left -= 1;
            return Some(self.current);
        }
        self.take_next(regions)
    }

    fn take_next(&mut self, regions: &[Region]) -> Option<usize> {
        let only_begun = self.begun.as_ref().filter(|begun| {
            let open = begun.iter().zip(regions);
            open.filter(|(begun, region)| **begun && !region.done)
                .count()
                >= self.most_open
        });
        let may_come =
            |file: &usize| !regions[*file].done && only_begun.is_none_or(|begun| begun[*file]);
        self.current = match &mut self.draws {
            Some(draws) => {
                let count = (0..regions.len()).filter(may_come).count();
                if count == 0 {
                    return None;
                }
                let nth = draws.below(count as u64) as usize;
                (0..regions.len()).filter(may_come).nth(nth)?
            }
            None => {
                let mut ahead = (0..regions.len()).map(|step| (self.next + step) % regions.len());
                let file = ahead.find(may_come)?;
                self.next = (file + 1) % regions.len();
                file
            }
        };
        if let Some(begun) = &mut self.begun {
            begun[self.current] = true;
        }
        self.left = self.run - 1;
        Some(self.current)
    }
}
