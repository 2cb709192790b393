//! How a worker ends: what it wants once it may issue no further request.

use crate::plan::{Rw, WorkerPlan};
use crate::request::{Completion, Errno, Want};
use crate::testing::{iops, plan, same};
use crate::time::{MILLISECOND, Nanos, SECOND};
use crate::worker::Worker;

fn worker(plan: &WorkerPlan) -> Worker {
    let mut worker = Worker::new(plan).unwrap();
    worker.begin(0, plan.ramp_ns, plan.runtime_ns);
    worker
}

fn done(slot: u32, done: Nanos, result: Result<u32, Errno>) -> Completion {
    Completion {
        slot,
        start: 0,
        issued: None,
        done,
        result,
    }
}

const NOTHING_MORE: Want = Want::Wait {
    completions: 1,
    until: None,
};

/// Returns a worker with two requests in flight, of a job that continues for a second.
fn two_in_flight() -> Worker {
    let plan = WorkerPlan {
        iodepth: 2,
        time_based: true,
        runtime_ns: SECOND,
        ..plan(Rw::Randread)
    };
    let mut worker = worker(&plan);
    assert!(matches!(worker.next(0), Want::Issue(_)) && matches!(worker.next(0), Want::Issue(_)));
    assert_eq!(
        worker.next(0),
        Want::Wait {
            completions: 1,
            until: Some(SECOND)
        }
    );
    worker
}

#[test]
fn a_finished_worker_waits_for_requests_in_flight() {
    let mut stopped = two_in_flight();
    stopped.stop(5);
    assert_eq!(stopped.next(5), NOTHING_MORE);
    let mut expired = two_in_flight();
    assert_eq!(expired.next(SECOND), NOTHING_MORE);
    for worker in [&mut stopped, &mut expired] {
        worker.complete(&done(1, SECOND, Ok(4096)));
        assert_eq!(
            worker.next(SECOND),
            Want::Wait {
                completions: 1,
                until: None
            }
        );
        worker.complete(&done(0, SECOND + 1, Ok(4096)));
        assert_eq!(worker.next(SECOND + 1), Want::Finished);
        assert_eq!(worker.next(2 * SECOND), Want::Finished);
        assert_eq!(worker.failed(), None);
    }
}

#[test]
fn the_first_error_is_kept() {
    let mut worker = two_in_flight();
    worker.complete(&done(0, 7, Err(Errno(5))));
    assert_eq!(
        worker.next(8),
        Want::Wait {
            completions: 1,
            until: None
        }
    );
    worker.complete(&done(1, 9, Err(Errno(6))));
    assert_eq!(worker.next(9), Want::Finished);
    assert_eq!(worker.failed(), Some(Errno(5)));
}

#[test]
fn nothing_is_overdue_after_an_early_end() {
    let plan = WorkerPlan {
        schedule: same(iops(1_000)),
        time_based: true,
        runtime_ns: 60 * SECOND,
        ..plan(Rw::Randread)
    };
    // An error or a stop ends it: requests due until then are counted as overdue, later ones are not.
    let mut failed = worker(&plan);
    assert!(matches!(failed.next(0), Want::Issue(_)));
    failed.complete(&done(0, 10 * MILLISECOND, Err(Errno(5))));
    assert_eq!(failed.overdue(u64::MAX), 9);
    let mut stopped = worker(&plan);
    assert!(matches!(stopped.next(0), Want::Issue(_)));
    stopped.stop(10 * MILLISECOND);
    assert_eq!(stopped.overdue(u64::MAX), 9);
}

#[test]
fn a_stop_before_the_beginning_issues_nothing() {
    let mut worker = worker(&plan(Rw::Randread));
    worker.stop(0);
    assert_eq!(worker.next(0), Want::Finished);
}

#[test]
fn without_a_runtime_the_schedule_has_no_end() {
    let plan = WorkerPlan {
        schedule: same(iops(1)),
        ..plan(Rw::Read)
    };
    let mut worker = worker(&plan);
    for second in 0..256 {
        assert!(
            matches!(worker.next(second * SECOND), Want::Issue(request) if request.intended == second * SECOND)
        );
        let slot = worker.requests_in_flight().next().unwrap().slot;
        worker.complete(&Completion {
            start: second * SECOND,
            ..done(slot, second * SECOND + 1, Ok(4096))
        });
        let next = worker.next(second * SECOND + 1);
        let expected = if second < 255 {
            Want::Wait {
                completions: 0,
                until: Some((second + 1) * SECOND),
            }
        } else {
            Want::Finished
        };
        assert_eq!(next, expected);
    }
}

#[test]
fn a_worker_that_has_issued_everything_is_over_before_the_next_call() {
    let timed = WorkerPlan {
        iodepth: 512,
        runtime_ns: SECOND,
        ..plan(Rw::Randread)
    };
    let counted = WorkerPlan {
        number_ios: 100,
        ..timed.clone()
    };
    // 256 blocks, once.
    for (plan, requests) in [(&timed, 256), (&counted, 100)] {
        let mut worker = worker(plan);
        for _ in 0..requests {
            assert!(!worker.is_over(0));
            assert!(matches!(worker.next(0), Want::Issue(_)));
        }
        assert!(worker.is_over(0));
        assert_eq!(worker.next(0), NOTHING_MORE);
    }
    let mut late = worker(&timed);
    assert!(!late.is_over(SECOND - 1));
    assert!(late.is_over(SECOND));
    let owing = WorkerPlan {
        schedule: same(iops(1_000)),
        ..timed
    };
    assert!(!worker(&owing).is_over(SECOND));
}
