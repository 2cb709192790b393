//! Everything that one worker's thread changes while it runs.

use iogauge_core::busy::Busy;
use iogauge_core::recorder::Recorder;
use iogauge_core::results::VerifyResult;
use iogauge_core::{Nanos, Worker};

use crate::run::exchange::Slices;
use crate::run::spill::WorkerLog;

/// The state of one worker's thread.
#[derive(Debug)]
pub struct WorkerState {
    /// Decides what to issue.
    pub worker: Worker,
    /// Counts what completed.
    pub recorder: Recorder<Slices>,
    /// How busy the loop was.
    pub busy: Busy,
    /// Where every request is logged, if it is.
    pub log: Option<WorkerLog>,
    /// What the verification of data found.
    pub verified: VerifyResult,
}

impl WorkerState {
    /// Whether `limit` requests may be issued at `now`: only if the log has room for all requests that would then be in
    /// flight. The time without room is charged to the generator.
    #[inline]
    pub fn may_issue(&mut self, now: Nanos, limit: usize) -> bool {
        let Some(log) = &mut self.log else {
            return true;
        };
        if !log.fits(limit + self.worker.in_flight() as usize) {
            log.wait_began(now);
            return false;
        }
        if let Some(since) = self.log_wait_ended(now) {
            self.worker.issuing_resumed(since);
        }
        true
    }

    /// Ends the ramp at `now`: what it counts itself begins anew.
    pub fn measure_from(&mut self, now: Nanos) {
        self.busy = Busy::default();
        self.recorder.end_ramp(now);
        if let Some(log) = &mut self.log {
            log.end_ramp(now);
        }
    }

    /// Counts the part after the ramp of a wait for the log that ends at `now`. Returns when the wait began.
    #[inline]
    fn log_wait_ended(&mut self, now: Nanos) -> Option<Nanos> {
        let log = self.log.as_mut()?;
        let since = log.wait_ended()?;
        self.busy.log_wait += now.saturating_sub(since.max(log.ramp_end()));
        Some(since)
    }

    /// Ends the log at `now`. Returns how many requests it dropped.
    pub fn end_log(&mut self, now: Nanos) -> u64 {
        self.log_wait_ended(now);
        let Some(log) = &mut self.log else { return 0 };
        log.end();
        log.dropped()
    }
}

#[cfg(test)]
mod tests {
    use iogauge_core::log_record::LogOrigin;
    use iogauge_core::plan::{RunPlan, Rw};
    use iogauge_core::recorder::{self, Cutter};
    use iogauge_core::request::{Completion, Want};
    use iogauge_core::testing::{plan, run_plan};

    use super::*;
    use crate::run::exchange::slices_like;
    use crate::run::spill::Spill;

    /// The state of a worker whose log is full, at depth one.
    fn full(ramp_end: Nanos) -> WorkerState {
        let mut plan = plan(Rw::Randread);
        (plan.iodepth, plan.iodepth_low) = (1, 1);
        let run = RunPlan {
            request_log_capacity: 1,
            ..run_plan(Vec::new())
        };
        let mut log = WorkerLog::new(&Spill::without_thread(), &run, 1, LogOrigin::default());
        log.begin(0, ramp_end);
        let first = recorder::slice_of(&plan, true);
        let slices = slices_like(&first);
        let mut recorder = Recorder::new(Box::new(first), slices);
        recorder.begin(Cutter::of(&plan, 0, 1_000), 0, 0);
        let mut worker = Worker::new(&plan).unwrap();
        worker.begin(0, 0, 0);
        let Want::Issue(slot) = worker.next(0) else {
            panic!("nothing is due");
        };
        let request = *worker.request(slot);
        let completion = Completion {
            slot,
            start: 0,
            issued: None,
            done: 1,
            result: Ok(4096),
        };
        worker.complete(&completion);
        while log.fits(1) {
            log.push(&request, &completion);
        }
        WorkerState {
            worker,
            recorder,
            busy: Busy::default(),
            log: Some(log),
            verified: VerifyResult::default(),
        }
    }

    #[test]
    fn a_wait_that_the_end_cuts_short_is_counted_as_far_as_it_came_after_the_ramp() {
        for (ramp_end, waited) in [(0, 900), (400, 600), (2_000, 0)] {
            let mut state = full(ramp_end);
            assert!(!state.may_issue(100, 1));
            assert!(!state.may_issue(500, 1));
            state.end_log(1_000);
            assert_eq!(state.busy.log_wait, waited);
        }
    }
}
