//! Decides which file the next request goes to: fio's file_service_type.
//!
//! A file that is finished in this pass is passed over, and ends its run of requests. With fio's openfiles, only so many
//! files take turns; the next one begins when one of them is finished.
//!
//! If a distribution makes some files likelier than others (`weights`), `pattern` lets a file that is finished begin again:
//! otherwise the likely files would be finished first, and the rest of the pass would be left to the others.
//!
//! Source: fio 3.33's io_u.c (get_next_file).

mod weights;

use super::region::Region;
use super::rng::{Rng, Stream};
use crate::plan::{FileOrder, PatternPlan};

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    seed: u64,
    draws: Option<Rng>,
    /// How likely each file is, unless all are alike.
    weights: Option<Box<[f64]>>,
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
        let weights = || {
            let mut rng = Rng::new(seed, Stream::Scatter);
            weights::weights(&plan.file_distribution, files, &mut rng)
        };
        let mut turns = Self {
            seed,
            draws: (plan.file_order == FileOrder::Random).then(|| Rng::new(seed, Stream::Files)),
            weights: plan.favours_files().then(weights).flatten(),
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

    /// Whether some files are likelier than others.
    #[inline]
    pub(super) fn favour_files(&self) -> bool {
        self.weights.is_some()
    }

    /// Lets another file take the place of this one, which was open.
    pub(super) fn close(&mut self, file: usize) {
        if let Some(begun) = &mut self.begun {
            begun[file] = false;
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
        self.current = match (&mut self.draws, &self.weights) {
            (Some(draws), Some(weights)) => {
                let files = || (0..regions.len()).filter(may_come);
                let mut point = draws.unit() * files().map(|file| weights[file]).sum::<f64>();
                let drawn = files().find(|file| {
                    point -= weights[*file];
                    point < 0.0
                });
                // The sum is zero, or the last difference rounds up to it.
                drawn.or_else(|| files().next_back())?
            }
            (Some(draws), None) => {
                let count = (0..regions.len()).filter(may_come).count();
                if count == 0 {
                    return None;
                }
                let nth = draws.below(count as u64) as usize;
                (0..regions.len()).filter(may_come).nth(nth)?
            }
            (None, _) => {
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
