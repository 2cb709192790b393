//! Accounts for stages by hand: workers issue, record and end at instants that the test chooses.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::*;
use crate::plan::{Rw, WorkerPlan};
use crate::recorder::{Slice, slice_of};
use crate::request::{Completion, Want};
use crate::stage::Stop;
use crate::testing::{BLOCK, plan, run_plan, stage};
use crate::time::{MILLISECOND, SECOND};

const START: Nanos = 1_000_000_007;
const INTERVAL: Nanos = 50 * MILLISECOND;

/// Slices that were handed over; a new slice replaces each.
#[derive(Debug, Default)]
struct Queue(RefCell<VecDeque<Box<Slice>>>);

impl Handover for Queue {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        let empty = Box::new(slice.touched());
        let full = std::mem::replace(slice, empty);
        self.0.get_mut().push_back(full);
        true
    }
}

impl SliceSource for Queue {
    fn next_full(&self) -> Option<Box<Slice>> {
        self.0.borrow_mut().pop_front()
    }

    fn give_back(&self, slice: Box<Slice>) {
        assert!(
            slice
                .sides
                .iter()
                .flatten()
                .all(|side| side.counts.ios == 0)
        );
    }
}

/// The state of a worker's thread.
struct Thread {
    worker: Worker,
    recorder: Recorder<Queue>,
}

impl Thread {
    fn new(run: &RunPlan, plan: &WorkerPlan) -> Self {
        let mut worker = Worker::new(plan).unwrap();
        worker.begin(START, plan.ramp_ns, plan.runtime_ns);
        let slice = slice_of(plan, true);
        let mut recorder = Recorder::new(Box::new(slice), Queue::default());
        recorder.begin(Cutter::of(plan, 0, run.interval_ns), START, START);
        Self { worker, recorder }
    }

    /// Issues one request at `at`, since the stage's start. Returns its slot.
    fn issue(&mut self, at: Nanos) -> u32 {
        let Want::Issue(slot) = self.worker.next(START + at) else {
            panic!("nothing is due");
        };
        slot
    }

    /// Completes a request that was issued at `from` at `to`, both since the stage's start.
    fn complete(&mut self, slot: u32, from: Nanos, to: Nanos) {
        let completion = Completion {
            slot,
            start: START + from,
            issued: Some(START + from),
            done: START + to,
            result: Ok(BLOCK as u32),
        };
        let request = self.worker.request(slot);
        self.recorder.record(request, &completion);
        self.worker.complete(&completion);
    }

    /// Runs `count` requests, one at a time, one every `apart`.
    fn run(&mut self, count: u64, apart: Nanos) {
        for request in 0..count {
            let slot = self.issue(request * apart);
            self.complete(slot, request * apart, (request + 1) * apart);
        }
    }

    /// Returns its end at `at`, since the stage's start.
    fn end(&mut self, at: Nanos) -> WorkerEnd<'_, Queue> {
        WorkerEnd {
            at: START + at,
            worker: &self.worker,
            recorder: &mut self.recorder,
            busy: &BUSY,
            usage: ThreadUsage {
                user_ns: 17,
                ..ThreadUsage::default()
            },
            cpus: vec![3],
            log_dropped: 5,
            verify: None,
            gave_up: false,
            stuck: false,
        }
    }
}

static BUSY: std::sync::LazyLock<Busy> = std::sync::LazyLock::new(|| {
    let mut busy = Busy::default();
    busy.submitted(2, 2, 2);
    busy
});

fn named(name: &str, row: u32) -> WorkerPlan {
    WorkerPlan {
        name: name.into(),
        row,
        ..plan(Rw::Randread)
    }
}

/// Begins the run's last stage. Returns its account and its workers' threads.
fn begun(run: &RunPlan) -> (StageAccount<'_>, Vec<Thread>) {
    let index = run.stages.len() - 1;
    let workers = &run.stages[index].workers;
    let mut account = StageAccount::new(run, index);
    for worker in 0..workers.len() {
        assert_eq!(account.ready(worker), worker + 1 == workers.len());
    }
    account.begin(START);
    let threads = workers.iter().map(|plan| Thread::new(run, plan));
    let threads = threads.collect();
    (account, threads)
}

fn reads(interval: &Interval) -> u64 {
    interval.tallies.get("read").map_or(0, |tally| tally.ios)
}

#[test]
fn intervals_of_a_row_hold_all_of_its_workers_and_sum_to_its_result() {
    let run = run_plan(vec![named("one", 4), named("two", 9), named("one", 4)]);
    let (mut account, mut threads) = begun(&run);
    for thread in &mut threads {
        thread.run(30, 5 * MILLISECOND);
    }
    for (worker, thread) in threads.iter().enumerate() {
        account.collect(worker, thread.recorder.handover());
    }
    let early: Vec<Interval> = account.intervals(START + 3 * INTERVAL).collect();
    assert!(!early.is_empty());
    for (worker, thread) in threads.iter_mut().enumerate() {
        assert!(!account.has_ended(worker));
        let others = account.end(worker, thread.end(160 * MILLISECOND));
        assert_eq!((others, account.has_ended(worker)), (Vec::new(), true));
    }
    assert!(account.is_over());
    let late: Vec<Interval> = account.intervals(START + 160 * MILLISECOND).collect();
    for (row, expected) in [(4, 60), (9, 30)] {
        let of_row = early.iter().chain(&late).filter(|one| one.row == row);
        assert_eq!(of_row.map(reads).sum::<u64>(), expected);
    }
    let result = account.into_result();
    let rows: Vec<_> = result
        .rows
        .iter()
        .map(|row| (row.row, &*row.name))
        .collect();
    assert_eq!(rows, [(4, "one"), (9, "two")]);
    let ios: Vec<u64> = result
        .rows
        .iter()
        .map(|row| row.tallies["read"].ios)
        .collect();
    assert_eq!(ios, [60, 30]);
    assert_eq!((result.error, result.stopped_by), (None, None));
    for worker in &result.workers {
        assert_eq!(worker.end_ns, 160 * MILLISECOND);
        assert_eq!((worker.user_ns, &worker.cpus[..]), (17, &[3][..]));
        assert_eq!((worker.submit_calls, worker.log_dropped), (2, 5));
    }
}

#[test]
fn an_end_with_exitall_names_the_workers_to_stop_and_keeps_the_first_error() {
    let exitall = WorkerPlan {
        exitall: true,
        ..named("first", 0)
    };
    let run = run_plan(vec![named("zeroth", 1), exitall, named("third", 2)]);
    let (mut account, mut threads) = begun(&run);
    account.fail(1, "the cause".into());
    account.fail(1, "a consequence".into());
    assert_eq!(account.end(1, threads[1].end(10)), [0, 2]);
    account.fail(2, "a later one".into());
    assert!(account.end(0, threads[0].end(20)).is_empty());
    assert!(account.end(2, threads[2].end(30)).is_empty());
    account.fail(0, "after its end".into());
    let result = account.into_result();
    let errors: Vec<_> = result
        .workers
        .iter()
        .map(|one| one.error.as_deref())
        .collect();
    assert_eq!(errors, [None, Some("the cause"), Some("a later one")]);
    assert_eq!(result.error.as_deref(), Some("the cause"));
    assert_eq!(result.stopped_by, Some(Stop::Error));
}

#[test]
fn requests_left_in_flight_are_kept_under_their_worker_of_the_run() {
    let mut run = run_plan(vec![named("before", 0), named("before", 0)]);
    run.stages
        .push(stage(vec![named("ends", 1), named("stuck", 2)]));
    let (mut account, mut threads) = begun(&run);
    for thread in &mut threads {
        thread.issue(0);
        thread.issue(1);
    }
    account.end(0, threads[0].end(SECOND));
    let stuck = WorkerEnd {
        gave_up: true,
        stuck: true,
        ..threads[1].end(SECOND)
    };
    account.end(1, stuck);
    let result = account.into_result();
    let left: Vec<_> = result
        .in_flight
        .iter()
        .map(|request| (request.worker, &*request.path, request.age_ns))
        .collect();
    assert_eq!(
        left,
        [(3, "simulated", SECOND), (3, "simulated", SECOND - 1)]
    );
    assert_eq!(
        (result.workers[0].stuck, result.workers[1].stuck),
        (false, true)
    );
    assert!(result.workers.iter().all(|worker| worker.stage == 1));
}

#[test]
fn a_worker_below_its_minimum_fails_alone() {
    let mut slow = named("slow", 0);
    slow.schedule.read.rate_min_Bps = 1_000_000;
    let run = run_plan(vec![slow, named("other", 1)]);
    let (mut account, mut threads) = begun(&run);
    let looks = (0..40).map(|look| START + look * 100 * MILLISECOND);
    let slow: Vec<bool> = looks
        .map(|now| {
            assert!(!account.is_too_slow(1, now, [0; 3], Some(0)));
            account.is_too_slow(0, now, [0; 3], Some(0))
        })
        .collect();
    assert!(slow.contains(&true));
    for (worker, thread) in threads.iter_mut().enumerate() {
        assert!(account.end(worker, thread.end(4 * SECOND)).is_empty());
    }
    let result = account.into_result();
    assert_eq!(
        result.error.as_deref(),
        Some("slow: slower than its rate_min or rate_iops_min")
    );
    assert_eq!((&result.workers[1].error, result.stopped_by), (&None, None));
}

#[test]
fn a_request_above_max_latency_fails_its_worker_alone() {
    let mut slow = named("slow", 0);
    slow.max_latency_ns.read = MILLISECOND;
    let run = run_plan(vec![slow, named("other", 1)]);
    let (mut account, mut threads) = begun(&run);
    let Want::Issue(slot) = threads[0].worker.next(START) else {
        panic!("it reads");
    };
    threads[0].worker.complete(&Completion {
        slot,
        start: START,
        issued: Some(START),
        done: START + 2 * MILLISECOND,
        result: Ok(4096),
    });
    for (worker, thread) in threads.iter_mut().enumerate() {
        assert!(account.end(worker, thread.end(SECOND)).is_empty());
    }
    let result = account.into_result();
    assert_eq!(
        result.error.as_deref(),
        Some("slow: a read took 2000 us, more than its max_latency of 1000 us")
    );
    assert_eq!((&result.workers[1].error, result.stopped_by), (&None, None));
}

#[test]
fn an_end_before_the_start_lasts_no_time() {
    let run = run_plan(vec![named("early", 0)]);
    let (mut account, mut threads) = begun(&run);
    let early = WorkerEnd {
        at: START - 100,
        ..threads[0].end(0)
    };
    account.end(0, early);
    assert!(account.interrupt() && !account.interrupt());
    let result = account.into_result();
    assert_eq!((result.workers[0].end_ns, result.rows[0].end_ns), (0, 0));
    assert_eq!(result.stopped_by, Some(Stop::Interrupt));
}
