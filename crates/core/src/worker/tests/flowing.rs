//! A worker that shares a flow with another.

use crate::flow::Share;
use crate::plan::{FlowPlan, Rw, WorkerPlan};
use crate::testing::plan;
use crate::time::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use crate::worker::Worker;
use crate::{Completion, Want};

/// Returns a worker, and the share of another of the same weight.
fn pair(iodepth: u32, sleep_ns: Nanos) -> (Worker, Share) {
    let unlimited = plan(Rw::Randread);
    pair_of(iodepth, sleep_ns, unlimited)
}

fn pair_of(iodepth: u32, sleep_ns: Nanos, ordinary: WorkerPlan) -> (Worker, Share) {
    let plan = WorkerPlan {
        iodepth,
        iodepth_low: iodepth,
        flow: Some(FlowPlan {
            id: 0,
            weight: 1,
            sleep_ns,
        }),
        ..ordinary
    };
    let mut shares = Share::of_one_flow([1, 1]);
    let mut worker = Worker::new(&plan).expect("the region has room");
    worker.join(&plan, shares.pop());
    worker.begin(0, 0, SECOND);
    (worker, shares.remove(0))
}

/// Takes the requests that the worker issues at `now`. Returns their slots, and what it wants then.
fn issued(worker: &mut Worker, now: Nanos) -> (Vec<u32>, Option<Want>) {
    let mut batch = Vec::new();
    let want = worker.fill(now, 100, |request| batch.push(*request));
    (batch.iter().map(|request| request.slot).collect(), want)
}

fn complete(worker: &mut Worker, slot: u32, done: Nanos) {
    worker.complete(&Completion {
        slot,
        start: done,
        issued: None,
        done,
        result: Ok(4096),
    });
}

#[test]
fn a_worker_that_is_ahead_waits_for_the_other() {
    let (mut worker, mut other) = pair(8, 0);
    let (slots, want) = issued(&mut worker, 0);
    assert_eq!(slots, [0, 1]);
    let looks_again = Want::Wait {
        completions: 1,
        until: Some(10 * MICROSECOND),
    };
    assert_eq!(want, Some(looks_again));
    other.count();
    assert_eq!(issued(&mut worker, 20 * MICROSECOND).0, [2]);
    for slot in 0..3 {
        complete(&mut worker, slot, 30 * MICROSECOND);
    }
    // With nothing in flight it does not sleep.
    let until = 31 * MICROSECOND;
    assert_eq!(
        issued(&mut worker, 30 * MICROSECOND),
        (vec![], Some(Want::Spin { until }))
    );
}

#[test]
fn a_held_worker_with_a_pause_first_waits_for_its_requests() {
    let pause = 50 * MICROSECOND;
    let (mut worker, mut other) = pair(8, pause);
    let until_the_end = Want::Wait {
        completions: 1,
        until: Some(SECOND),
    };
    assert_eq!(issued(&mut worker, 0), (vec![0, 1], Some(until_the_end)));
    complete(&mut worker, 0, 1000);
    // That the other has caught up does not matter any more.
    other.count();
    other.count();
    assert_eq!(issued(&mut worker, 1000), (vec![], Some(until_the_end)));
    complete(&mut worker, 1, 2000);
    let pausing = Want::Wait {
        completions: 0,
        until: Some(2000 + pause),
    };
    assert_eq!(issued(&mut worker, 2000), (vec![], Some(pausing)));
    assert_eq!(issued(&mut worker, 2001), (vec![], Some(pausing)));
    assert_eq!(issued(&mut worker, 2000 + pause).0.len(), 2);
}

/// Returns a worker as `pair` does, with a request due each millisecond.
fn pair_with_rate() -> (Worker, Share) {
    let mut ordinary = plan(Rw::Randread);
    ordinary.schedule.read.rate_iops = 1000;
    pair_of(8, 0, ordinary)
}

#[test]
fn what_was_due_while_a_worker_was_held_is_dropped() {
    let (mut worker, mut other) = pair_with_rate();
    let waits_until = |until| {
        Some(Want::Wait {
            completions: 1,
            until: Some(until),
        })
    };
    assert_eq!(issued(&mut worker, 0), (vec![0], waits_until(MILLISECOND)));
    let looks_again = waits_until(MILLISECOND + 10 * MICROSECOND);
    assert_eq!(issued(&mut worker, MILLISECOND), (vec![1], looks_again));
    other.count();
    let released = 5 * MILLISECOND + 1;
    let mut batch = Vec::new();
    worker.fill(released, 100, |request| batch.push(*request));
    let intended: Vec<_> = batch.iter().map(|request| request.intended).collect();
    assert_eq!(intended, [released]);
    other.count();
    other.count();
    assert_eq!(
        issued(&mut worker, released + 1),
        (vec![], waits_until(released + MILLISECOND))
    );
}

#[test]
fn a_held_worker_with_a_rate_issues_nothing_after_its_end() {
    let (mut worker, _other) = pair_with_rate();
    issued(&mut worker, 0);
    issued(&mut worker, MILLISECOND);
    complete(&mut worker, 0, 2 * MILLISECOND);
    complete(&mut worker, 1, 2 * MILLISECOND);
    assert_eq!(worker.next(SECOND), Want::Finished);
}

#[test]
fn a_worker_leaves_its_flow_when_it_issues_nothing_more() {
    for ends in [|worker: &mut Worker| worker.stop(1000), |_: &mut Worker| ()] {
        let (mut worker, mut other) = pair(8, 0);
        other.count();
        other.count();
        other.count();
        assert!(other.is_held());
        ends(&mut worker);
        assert_eq!(worker.next(SECOND), Want::Finished);
        assert!(!other.is_held());
    }
}
