//! Runs that end early: stopped, failed, too slow, given up. Each keeps its measurements until then.

mod common;
mod outcome;

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;

use common::plan;
use iogauge_core::Stop;
use iogauge_core::plan::{EngineKind, FilePlan, Rw, SchedulePlan, StagePlan, WorkerPlan};
use iogauge_core::testing::same;
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_engine::Error;
use outcome::{
    Outcome, PRIME, check, engines, execute, file, iops, ios, run_plan, spilled, steered, worker,
};

/// Creates a job without end, slow enough for the log.
fn endless(kind: EngineKind, scratch: &common::Scratch) -> WorkerPlan {
    WorkerPlan {
        schedule: same(iops(5_000)),
        ..worker(kind, scratch)
    }
}

/// Creates a job that reads a file whose second half is missing.
fn beyond_the_end(scratch: &common::Scratch) -> WorkerPlan {
    let file = FilePlan {
        region_bytes: 2 * 4096 * outcome::BLOCKS,
        namespace: None,
        ..scratch.plan()
    };
    WorkerPlan {
        iodepth: 1,
        iodepth_low: 1,
        ..plan(EngineKind::Psync, Rw::Read, vec![file])
    }
}

#[test]
fn a_stop_ends_the_run_and_keeps_its_measurements() {
    let scratch = file();
    for kind in engines() {
        let plan = endless(kind, &scratch);
        let outcome = steered(run_plan(vec![plan.clone()]), |run, intervals| {
            if intervals.len() >= 2 {
                run.stop();
            }
        })
        .unwrap();
        assert_eq!(
            (outcome.result.stopped_by, outcome.result.error.as_ref()),
            (Some(Stop::Interrupt), None)
        );
        assert!(ios(outcome.row(0)) > 0 && outcome.result.in_flight.is_empty());
        check(&outcome, &[plan]);
    }
}

#[test]
fn a_stop_reaches_a_worker_that_has_not_begun() {
    let scratch = file();
    let late = WorkerPlan {
        start_delay_ns: 3_600 * SECOND,
        row: 1,
        ..endless(EngineKind::Null, &scratch)
    };
    let plans = vec![endless(EngineKind::Null, &scratch), late];
    let outcome = steered(run_plan(plans), |run, intervals| {
        if !intervals.is_empty() {
            run.stop();
        }
    })
    .unwrap();
    assert_eq!(outcome.result.stopped_by, Some(Stop::Interrupt));
    assert_eq!(ios(outcome.row(1)), 0);
    assert!(
        outcome.row(1).start_ns <= outcome.row(1).end_ns && outcome.row(1).end_ns < 60 * SECOND
    );
}

#[test]
fn an_error_ends_its_worker_alone() {
    let scratch = file();
    let other = WorkerPlan {
        row: 1,
        number_ios: PRIME,
        ..worker(EngineKind::Null, &scratch)
    };
    let outcome = execute(run_plan(vec![beyond_the_end(&scratch), other]));
    let error = outcome.result.error.clone().unwrap();
    assert!(
        error.contains("test: a request to") && error.contains(scratch.path.to_str().unwrap()),
        "{error}"
    );
    assert_eq!(outcome.result.stopped_by, None);
    assert_eq!(outcome.row(0).tallies["read"].ios, outcome::BLOCKS);
    assert_eq!(outcome.row(0).tallies["read"].errors[&libc::ENODATA], 1);
    assert_eq!(ios(outcome.row(1)), PRIME);
    assert_eq!(outcome.result.workers[1].error, None);
}

#[test]
fn an_error_of_an_exitall_job_ends_all() {
    let scratch = file();
    let failing = WorkerPlan {
        exitall: true,
        ..beyond_the_end(&scratch)
    };
    let outcome = execute(run_plan(vec![
        failing,
        WorkerPlan {
            row: 1,
            ..endless(EngineKind::Null, &scratch)
        },
    ]));
    assert_eq!(outcome.result.stopped_by, Some(Stop::Error));
}

#[test]
fn an_exitall_job_ends_all() {
    let scratch = file();
    let first = WorkerPlan {
        exitall: true,
        number_ios: PRIME,
        ..worker(EngineKind::Null, &scratch)
    };
    let plans = vec![
        first,
        WorkerPlan {
            row: 1,
            ..endless(EngineKind::Null, &scratch)
        },
    ];
    let outcome = execute(run_plan(plans.clone()));
    assert_eq!(
        (outcome.result.stopped_by, outcome.result.error.as_ref()),
        (Some(Stop::Exitall), None)
    );
    assert_eq!(ios(outcome.row(0)), PRIME);
    check(&outcome, &plans);
}

/// The end of a file is not an error of the medium: it ends even a job that continues after errors.
#[test]
fn a_job_continues_only_after_errors_of_the_medium() {
    let scratch = file();
    let plan = WorkerPlan {
        continue_on_read_error: true,
        ..beyond_the_end(&scratch)
    };
    let outcome = execute(run_plan(vec![plan]));
    assert!(outcome.result.error.is_some());
    let tally = &outcome.row(0).tallies["read"];
    assert_eq!(
        (tally.ios, tally.errors[&libc::ENODATA]),
        (outcome::BLOCKS, 1)
    );
    // Failed requests have no latency.
    assert_eq!(tally.exact["lat"].count, outcome::BLOCKS);
    let failed = outcome.log.iter().filter(|record| record.result < 0);
    assert_eq!(
        failed.map(|record| record.result).collect::<Vec<_>>(),
        [-libc::ENODATA]
    );
}

#[test]
fn a_job_below_its_rate_min_is_ended() {
    let scratch = file();
    let schedule = SchedulePlan {
        rate_iops: 100,
        rate_Bps: 0,
        rate_min_Bps: 1_000_000,
        first_ns: 0,
    };
    let mut slow = WorkerPlan {
        schedule: same(schedule),
        ..worker(EngineKind::Null, &scratch)
    };
    slow.pattern.rw = Rw::Randread;
    let other = WorkerPlan {
        row: 1,
        time_based: true,
        runtime_ns: 3_500 * MILLISECOND,
        schedule: same(iops(1_000)),
        ..worker(EngineKind::Null, &scratch)
    };
    let outcome = execute(run_plan(vec![slow, other]));
    assert_eq!(
        outcome.result.error.as_deref(),
        Some("test: slower than its rate_min or rate_iops_min")
    );
    assert_eq!(outcome.result.workers[1].error, None);
    assert_eq!(ios(outcome.row(1)), 7_000, "3,500 of each direction");
}

/// Reads a pipe that nobody writes to, with two requests at once that never return.
fn stuck(pipe: &std::io::PipeReader, scratch: &common::Scratch) -> WorkerPlan {
    let file = FilePlan {
        path: "pipe".into(),
        fd: pipe.as_raw_fd(),
        writable: false,
        ..scratch.plan()
    };
    WorkerPlan {
        iodepth: 2,
        iodepth_low: 2,
        ..plan(EngineKind::IoUring, Rw::Read, vec![file])
    }
}

/// Checks that both requests of the stuck worker are reported, and no other.
fn check_stuck(outcome: &Outcome) {
    assert_eq!(outcome.result.in_flight.len(), 2);
    for (request, offset) in outcome.result.in_flight.iter().zip([0, 4096]) {
        assert_eq!((request.worker, request.path.as_str()), (0, "pipe"));
        assert_eq!((request.offset_bytes, request.length_bytes), (offset, 4096));
        assert!(request.age_ns > 0 && request.age_ns <= outcome.result.elapsed_ns);
    }
}

#[test]
fn a_request_that_never_comes_back_is_reported_with_its_age() {
    if !engines().contains(&EngineKind::IoUring) {
        return;
    }
    let scratch = file();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let other = WorkerPlan {
        row: 1,
        number_ios: PRIME,
        ..worker(EngineKind::Null, &scratch)
    };
    let mut plan = run_plan(vec![stuck(&pipe, &scratch), other]);
    plan.give_up_ns = 3_600 * SECOND;
    // Giving up does not wait for the log, either.
    let log = common::Scratch::new(b"");
    let spill = OpenOptions::new().append(true).open(&log.path).unwrap();
    let outcome = spilled(plan, spill, |run, intervals| {
        let others = intervals.iter().filter(|interval| interval.row == 1);
        let ios = others.flat_map(|interval| interval.tallies.values().map(|tally| tally.ios));
        if ios.sum::<u64>() == PRIME {
            run.give_up();
        }
    })
    .unwrap();
    check_stuck(&outcome);
    assert_eq!((ios(outcome.row(0)), ios(outcome.row(1))), (0, PRIME));
    assert_eq!(outcome.result.stopped_by, Some(Stop::Interrupt));
    assert_eq!(outcome.result.error, None);
}

/// A worker that waits for its start has nothing in flight and does not count as stuck.
#[test]
fn a_worker_whose_requests_do_not_come_back_is_given_up_alone() {
    if !engines().contains(&EngineKind::IoUring) {
        return;
    }
    let scratch = file();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let stuck = WorkerPlan {
        exitall: true,
        ..stuck(&pipe, &scratch)
    };
    let waiting = WorkerPlan {
        row: 1,
        start_delay_ns: 3_600 * SECOND,
        ..endless(EngineKind::Null, &scratch)
    };
    let mut plan = run_plan(vec![stuck, waiting]);
    plan.give_up_ns = 300 * MILLISECOND;
    let outcome = execute(plan);
    check_stuck(&outcome);
    assert_eq!(outcome.result.stopped_by, Some(Stop::Error));
    assert!(outcome.result.workers[0].error.is_some());
    assert_eq!(outcome.result.workers[1].error, None);
}

#[test]
fn a_run_that_cannot_begin_is_an_error() {
    let scratch = file();
    let closed = WorkerPlan {
        row: 1,
        ..plan(
            EngineKind::Psync,
            Rw::Read,
            vec![FilePlan {
                fd: -1,
                ..scratch.plan()
            }],
        )
    };
    let good = WorkerPlan {
        number_ios: PRIME,
        ..worker(EngineKind::Null, &scratch)
    };
    let together = run_plan(vec![good.clone(), closed.clone()]);
    let error = steered(together, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error}");
    // The run keeps the measurements of an earlier stage.
    let mut after = run_plan(vec![good]);
    after.stages.push(StagePlan {
        held: false,
        workers: vec![closed],
    });
    let outcome = execute(after);
    assert!(
        outcome
            .result
            .error
            .is_some_and(|error| error.contains(scratch.path.to_str().unwrap()))
    );
    assert_eq!(ios(&outcome.result.rows[0]), PRIME);
}

#[test]
fn a_worker_that_waits_for_another_ends_with_the_run() {
    let scratch = file();
    for exitall in [false, true] {
        let running = endless(EngineKind::Psync, &scratch);
        let ending = WorkerPlan {
            row: 1,
            exitall,
            number_ios: 1_000,
            ..running.clone()
        };
        let waiting = WorkerPlan {
            waits_for: vec![0],
            row: 2,
            ..running.clone()
        };
        let plan = run_plan(vec![running, ending, waiting]);
        let outcome = steered(plan, |run, intervals| {
            if !exitall && intervals.len() >= 2 {
                run.stop();
            }
        })
        .unwrap();
        let expected = if exitall {
            Stop::Exitall
        } else {
            Stop::Interrupt
        };
        assert_eq!(outcome.result.stopped_by, Some(expected));
        assert_eq!((ios(outcome.row(2)), outcome.result.workers.len()), (0, 3));
        assert_eq!(outcome.intervals_of(2).count(), 0, "it never began");
    }
}
