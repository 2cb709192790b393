//! Starts the workers of a stage together, and ends them together if the job says so.
//!
//! A stage knows which workers are ready, running and finished, and how many bytes each has moved. It does no I/O and
//! reads no clock; its driver reports to it and stops the workers that it names. Stonewalls are the boundaries between
//! stages. Delays count from the stage's start, and ramps from when the worker begins.

use crate::plan::{ExitWhat, StagePlan};
use crate::time::{Nanos, SECOND};

/// How long a rate may settle before its minimum is checked, as in fio.
const SETTLE: Nanos = 2 * SECOND;

/// Why a stage ends before its workers are finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A worker with `exitall` finished.
    Exitall,
    /// A worker with `exitall` ended with an error.
    Error,
    /// The run was interrupted.
    Interrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Preparing,
    Ready,
    /// Its wait is over; it has not reported that it began.
    Released,
    Running,
    Finished,
}

/// One worker as its stage sees it.
#[derive(Clone, Debug)]
struct StageWorker {
    phase: Phase,
    exitall: bool,
    exitall_on_error: bool,
    exit_what: ExitWhat,
    group: u32,
    /// Stopped by another's end, or by an interrupt.
    ending: bool,
    /// Bytes a second at least, by direction; 0: no limit.
    rate_min: [u64; 3],
    /// The workers that it waits for.
    waits_for: Vec<u32>,
    /// The time in which the minimum is checked: from, to, since it began.
    checked: (Nanos, Nanos),
    /// When it began, since the stage's start; absent until it has.
    begun: Option<Nanos>,
    /// The current window: its start, and the bytes completed by then.
    window: Option<(Nanos, [u64; 3])>,
    /// How long the worker had done nothing but read back by then.
    reading: Nanos,
}

/// The workers of a stage, and how far each is.
#[derive(Clone, Debug)]
pub struct Stage {
    workers: Vec<StageWorker>,
    /// How many are still preparing.
    preparing: usize,
    start: Option<Nanos>,
    stopped: Option<Stop>,
    ends_run: bool,
}

impl Stage {
    /// Creates a stage whose workers are preparing.
    pub fn new(plan: &StagePlan) -> Self {
        let workers: Vec<StageWorker> = plan
            .workers
            .iter()
            .map(|worker| {
                let end = if worker.runtime_ns == 0 {
                    Nanos::MAX
                } else {
                    worker.runtime_ns
                };
                StageWorker {
                    phase: Phase::Preparing,
                    exitall: worker.exitall,
                    exitall_on_error: worker.exitall_on_error,
                    exit_what: worker.exit_what,
                    group: worker.group,
                    ending: false,
                    rate_min: worker.rate_min_bytes(),
                    waits_for: worker.waits_for.clone(),
                    checked: (
                        worker.ramp_ns.saturating_add(SETTLE),
                        worker.ramp_ns.saturating_add(end),
                    ),
                    begun: worker.waits_for.is_empty().then_some(worker.start_delay_ns),
                    window: None,
                    reading: 0,
                }
            })
            .collect();
        Self {
            preparing: workers.len(),
            workers,
            start: None,
            stopped: None,
            ends_run: false,
        }
    }

    /// Notes that a worker is prepared. Returns true once all are.
    pub fn ready(&mut self, worker: usize) -> bool {
        if self.workers[worker].phase == Phase::Preparing {
            self.workers[worker].phase = Phase::Ready;
            self.preparing -= 1;
        }
        self.preparing == 0
    }

    /// Starts all workers that wait for no other at `now`, or `start_delay` after it.
    ///
    /// # Panics
    /// If a worker is not ready: the caller keeps the barrier.
    pub fn begin(&mut self, now: Nanos) {
        assert!(
            self.workers
                .iter()
                .all(|worker| worker.phase == Phase::Ready),
            "a worker is not ready"
        );
        self.workers
            .iter_mut()
            .filter(|worker| worker.waits_for.is_empty())
            .for_each(|worker| worker.phase = Phase::Running);
        self.start = Some(now);
    }

    /// Returns the workers whose wait is over, once; the driver begins them, and reports when with [`Self::begun`].
    pub fn release(&mut self) -> Vec<usize> {
        let finished = |&other: &u32| self.workers[other as usize].phase == Phase::Finished;
        let released: Vec<usize> = (0..self.workers.len())
            .filter(|&worker| {
                let worker = &self.workers[worker];
                let waits = worker.phase == Phase::Ready && !worker.ending;
                waits && self.start.is_some() && worker.waits_for.iter().all(finished)
            })
            .collect();
        for &worker in &released {
            self.workers[worker].phase = Phase::Released;
        }
        released
    }

    /// Notes that a worker that had waited began, so long after the stage's start.
    pub fn begun(&mut self, worker: usize, since_start: Nanos) {
        let worker = &mut self.workers[worker];
        (worker.phase, worker.begun) = (Phase::Running, Some(since_start));
    }

    /// Notes that these workers are being stopped: if they still wait, they never begin.
    pub fn stopping(&mut self, workers: &[usize]) {
        for &worker in workers {
            self.workers[worker].ending = true;
        }
    }

    /// Whether a worker has begun.
    pub fn has_begun(&self, worker: usize) -> bool {
        self.workers[worker].begun.is_some()
    }

    /// Notes that a worker has finished. If it has `exitall`, whether it failed or not, or `exitall_on_error` and
    /// failed, returns the workers that end with it: those that its `exit_what` names, as in fio.
    pub fn finished(&mut self, worker: usize, failed: bool) -> Vec<usize> {
        let worker = &mut self.workers[worker];
        let phase = std::mem::replace(&mut worker.phase, Phase::Finished);
        let began = phase == Phase::Running || (phase == Phase::Released && failed);
        if !began || !(worker.exitall || worker.exitall_on_error && failed) {
            return Vec::new();
        }
        let (group, what) = (worker.group, worker.exit_what);
        self.ends_run |= what == ExitWhat::All;
        let ended: Vec<usize> = (0..self.workers.len())
            .filter(|&other| what != ExitWhat::Group || self.workers[other].group == group)
            .filter(|&other| {
                let phase = self.workers[other].phase;
                // As in fio, the jobs that are still to begin are not ended by "stonewall".
                let spared = what == ExitWhat::Stonewall && phase != Phase::Running;
                phase != Phase::Finished && !spared && !self.workers[other].ending
            })
            .collect();
        for &other in &ended {
            self.workers[other].ending = true;
        }
        if !ended.is_empty() {
            let why = if failed { Stop::Error } else { Stop::Exitall };
            self.stopped.get_or_insert(why);
        }
        ended
    }

    /// Checks how far a worker is (bytes completed by direction: read, write, trim). Returns true if it fell below its
    /// `rate_min` over the last second or more. That worker alone then ends with an error, as in fio. Nothing is
    /// checked while the rate settles, at the end of the worker or the stage, or after a pause between checks that is
    /// so long that the process must have stopped.
    ///
    /// `reading` is how long the worker has done nothing but read back, or `None` while it does so. That time does not
    /// count, and in it nothing is checked.
    pub fn too_slow(
        &mut self,
        worker: usize,
        now: Nanos,
        bytes: [u64; 3],
        reading: Option<Nanos>,
    ) -> bool {
        let Some(start) = self.start else {
            return false;
        };
        let Some(reading) = reading else {
            return false;
        };
        let worker = &mut self.workers[worker];
        let Some(begun) = worker.begun else {
            return false;
        };
        let at = now.saturating_sub(start.saturating_add(begun));
        let (from, to) = worker.checked;
        let ending = worker.ending || at >= to;
        if worker.phase != Phase::Running || worker.rate_min == [0; 3] || ending || at < from {
            return false;
        }
        let Some((since, before)) = worker.window else {
            (worker.window, worker.reading) = (Some((at, bytes)), reading);
            return false;
        };
        let length = (at - since).saturating_sub(reading - worker.reading);
        if length < SECOND {
            return false;
        }
        (worker.window, worker.reading) = (Some((at, bytes)), reading);
        if length >= 2 * SECOND {
            return false;
        }
        (0..3).any(|direction| {
            let moved = u128::from(bytes[direction] - before[direction]) * u128::from(SECOND);
            moved < u128::from(worker.rate_min[direction]) * u128::from(length)
        })
    }

    /// Stops all workers because the run is interrupted. Returns true the first time.
    pub fn interrupt(&mut self) -> bool {
        let first = self.stopped != Some(Stop::Interrupt);
        self.stopped = Some(Stop::Interrupt);
        for worker in &mut self.workers {
            worker.ending = true;
        }
        first
    }

    /// Returns why the stage ended early, if it did.
    pub fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    /// Whether the run ends with this stage.
    pub fn ends_run(&self) -> bool {
        self.ends_run
    }

    /// Whether all workers are finished.
    pub fn done(&self) -> bool {
        self.workers
            .iter()
            .all(|worker| worker.phase == Phase::Finished)
    }
}

#[cfg(test)]
mod tests;
