//! How a worker ends: what it wants once it may issue no further request.

use crate::plan::{Rw, WorkerPlan};
use crate::request::{Completion, Errno, Kind, Want};
use crate::testing::{file, iops, plan, same};
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
        let Want::Issue(slot) = worker.next(second * SECOND) else {
            panic!("a request is due");
        };
        assert_eq!(worker.request(slot).intended, second * SECOND);
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

/// Issues all of a job's requests, completes each at once with `result`, and returns the files of its syncs in order.
fn syncs_of(plan: &WorkerPlan, result: Result<u32, Errno>) -> Vec<u32> {
    let mut worker = worker(plan);
    let mut synced = Vec::new();
    for now in 1.. {
        match worker.next(now) {
            Want::Issue(slot) => {
                let request = *worker.request(slot);
                if request.kind == Kind::Sync {
                    assert_eq!(
                        worker.in_flight(),
                        1,
                        "a sync of the end has the queue to itself"
                    );
                    synced.push(request.target);
                }
                worker.complete(&done(request.slot, now, result));
            }
            Want::Finished => break,
            want => panic!("{want:?}"),
        }
    }
    synced
}

#[test]
fn every_file_is_synced_at_the_end_of_writes() {
    let mut plan = plan(Rw::Randrw);
    plan.files = vec![file(8), file(8), file(8)];
    (plan.number_ios, plan.pattern.random_map) = (7, true);
    assert_eq!(syncs_of(&plan, Ok(4096)), [0; 0]);
    plan.pattern.sync_at_end = true;
    assert_eq!(syncs_of(&plan, Ok(4096)), [0, 1, 2]);
    plan.pattern.rw = Rw::Randread;
    assert_eq!(syncs_of(&plan, Ok(4096)), [0; 0]);
}

#[test]
fn nothing_is_synced_after_an_error_or_once_more_after_a_sync() {
    let mut plan = plan(Rw::Write);
    (plan.number_ios, plan.pattern.sync_at_end) = (6, true);
    assert_eq!(syncs_of(&plan, Err(Errno(5))), [0; 0]);
    plan.pattern.fsync_every = 3;
    assert_eq!(
        syncs_of(&plan, Ok(4096)).len(),
        2,
        "after the third write and after the last"
    );
    plan.pattern.fsync_every = 4;
    assert_eq!(
        syncs_of(&plan, Ok(4096)).len(),
        2,
        "after the fourth write and at the end"
    );
}

/// As fio 3.33 syncs: `strace -e fsync fio --rw=write --bs=4k --size=16k --end_fsync=1`, with the options given.
#[test]
fn files_are_synced_after_each_pass() {
    let mut looping = plan(Rw::Write);
    looping.files = vec![file(4)];
    looping.pattern.sync_at_end = true;
    for (loops, io_bytes, expected) in [(1, 0, 1), (3, 0, 3), (1, 12 * 4096, 3), (1, 6 * 4096, 2)] {
        (looping.loops, looping.io_bytes) = (loops, io_bytes);
        let synced = syncs_of(&looping, Ok(4096)).len();
        assert_eq!(synced, expected, "loops={loops} io_size={io_bytes}");
    }
    // The sync of fsync=4 comes before the next write, so it follows the one at the end of the pass.
    (looping.loops, looping.io_bytes) = (3, 0);
    looping.pattern.fsync_every = 4;
    assert_eq!(syncs_of(&looping, Ok(4096)).len(), 5);
}

#[test]
fn a_worker_that_is_stopped_syncs_what_it_wrote() {
    let plan = WorkerPlan {
        time_based: true,
        runtime_ns: SECOND,
        pattern: crate::plan::PatternPlan {
            sync_at_end: true,
            ..plan(Rw::Randwrite).pattern
        },
        ..plan(Rw::Randwrite)
    };
    let mut worker = worker(&plan);
    let Want::Issue(write) = worker.next(1) else {
        panic!("it has a request");
    };
    worker.stop(2);
    assert_eq!(worker.next(2), NOTHING_MORE);
    worker.complete(&done(write, 3, Ok(4096)));
    let Want::Issue(sync) = worker.next(3) else {
        panic!("it has a sync");
    };
    let sync = worker.request(sync);
    assert_eq!((sync.kind, sync.intended), (Kind::Sync, 3));
}

#[test]
fn the_errors_that_are_ignored_are_those_of_the_job() {
    const ENOSPC: i32 = 28;
    let tolerant = WorkerPlan {
        continue_on_write_error: true,
        ignored_write_errors: vec![ENOSPC],
        ..plan(Rw::Write)
    };
    for (errno, goes_on) in [(ENOSPC, true), (5, false)] {
        let mut worker = Worker::new(&tolerant).unwrap();
        worker.begin(0, 0, 0);
        assert!(matches!(worker.next(0), Want::Issue(_)));
        worker.complete(&done(0, 7, Err(Errno(errno))));
        assert_eq!(worker.failed().is_none(), goes_on);
    }
}

#[test]
fn a_job_that_only_creates_files_issues_nothing() {
    let mut creating = WorkerPlan {
        create_only: true,
        runtime_ns: SECOND,
        ..plan(Rw::Write)
    };
    creating.pattern.sync_at_end = true;
    let mut worker = Worker::new(&creating).unwrap();
    worker.begin(0, 0, SECOND);
    assert_eq!(worker.next(0), Want::Finished);
}
