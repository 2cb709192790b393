//! Runs on the null engine and on real files: every request is done, counted once, and agrees with the log.

mod common;
mod outcome;

use iogauge_core::Stop;
use iogauge_core::plan::{EngineKind, RunPlan, StagePlan, WorkerPlan};
use iogauge_core::testing::same;
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_engine::run::{Event, Run};
use outcome::{
    PATIENCE, PRIME, check, engines, execute, file, histogram, iops, ios, run_plan, worker,
};

#[test]
fn a_prime_number_of_requests_is_done_and_agrees_with_its_log() {
    let scratch = file();
    for kind in engines() {
        for (iodepth, submit_batch, reap_batch) in [(1, 1, 1), (32, 1, 1), (32, 32, 32), (7, 3, 2)]
        {
            let mut plan = WorkerPlan {
                number_ios: PRIME,
                iodepth,
                iodepth_low: iodepth,
                ..worker(kind, &scratch)
            };
            plan.engine.submit_batch = u32::try_into(submit_batch).unwrap();
            plan.engine.reap_batch = reap_batch;
            plan.pattern.fdatasync_every = if kind == EngineKind::Null { 50 } else { 0 };
            let outcome = execute(run_plan(vec![plan.clone()]));
            assert_eq!(
                (outcome.result.error.as_ref(), outcome.result.stopped_by),
                (None, None)
            );
            let row = outcome.row(0);
            assert_eq!(
                row.tallies["read"].ios + row.tallies["write"].ios,
                PRIME,
                "{kind:?} at {iodepth}"
            );
            check(&outcome, &[plan]);
            let result = &outcome.result.workers[0];
            assert!(result.depth_mean <= f64::from(iodepth) && result.submit_calls > 0);
            assert_eq!(result.overdue, 0);
            assert!(outcome.result.in_flight.is_empty() && !result.stuck);
        }
    }
}

/// Each quantile is that of the log, within the width of a bucket.
#[test]
fn quantiles_are_those_of_the_log() {
    let scratch = file();
    for kind in engines() {
        let plan = WorkerPlan {
            number_ios: PRIME,
            ..worker(kind, &scratch)
        };
        let outcome = execute(run_plan(vec![plan]));
        for (name, tally) in &outcome.row(0).tallies {
            let of = outcome
                .log
                .iter()
                .filter(|record| outcome::direction(record) == *name);
            let mut exact: Vec<u64> = of.map(|record| record.done_ns - record.start_ns).collect();
            exact.sort_unstable();
            let histogram = histogram(tally, "lat");
            assert_eq!(histogram.len(), exact.len() as u64);
            for q in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let rank = ((q * exact.len() as f64).ceil() as usize).clamp(1, exact.len());
                let (seen, exact) = (histogram.value_at_quantile(q), exact[rank - 1]);
                assert!(
                    seen.abs_diff(exact) as f64 <= exact as f64 * 0.001,
                    "{name} {q}: {seen} for {exact}"
                );
            }
        }
    }
}

#[test]
fn workers_of_one_row_are_counted_together() {
    let scratch = file();
    let plans: Vec<_> = [0, 0, 1]
        .iter()
        .zip(1..)
        .map(|(&row, seed)| WorkerPlan {
            row,
            seed,
            number_ios: 1009,
            ..worker(EngineKind::Null, &scratch)
        })
        .collect();
    // In one interval, so that no slice must be collected in time.
    let outcome = execute(RunPlan {
        interval_ns: 3_600 * SECOND,
        ..run_plan(plans.clone())
    });
    assert_eq!((ios(outcome.row(0)), ios(outcome.row(1))), (2 * 1009, 1009));
    assert_eq!(outcome.result.workers.len(), 3);
    assert!(
        outcome
            .result
            .workers
            .iter()
            .all(|worker| worker.late_handovers == 0)
    );
    check(&outcome, &plans);
}

#[test]
fn the_ramp_is_shown_and_not_counted() {
    let scratch = file();
    // The ramp ends within an interval.
    let plan = WorkerPlan {
        ramp_ns: 370 * MILLISECOND,
        runtime_ns: 100 * MILLISECOND,
        time_based: true,
        schedule: same(iops(20_000)),
        ..worker(EngineKind::Null, &scratch)
    };
    let outcome = execute(run_plan(vec![plan.clone()]));
    check(&outcome, &[plan]);
    let row = outcome.row(0);
    assert_eq!(row.start_ns, 370 * MILLISECOND);
    assert!(row.end_ns >= 470 * MILLISECOND - MILLISECOND);
    let before = outcome
        .log
        .iter()
        .filter(|record| record.done_ns < 370 * MILLISECOND)
        .count() as u64;
    assert!(before > 0 && ios(row) == outcome.log.len() as u64 - before);
    let ramps: Vec<_> = outcome
        .intervals_of(0)
        .map(|part| (part.ramp, part.start_ns, part.end_ns))
        .collect();
    assert!(ramps.contains(&(true, 350 * MILLISECOND, 370 * MILLISECOND)));
    assert!(ramps.contains(&(false, 370 * MILLISECOND, 400 * MILLISECOND)));
}

#[test]
fn a_worker_may_begin_later() {
    let scratch = file();
    let early = WorkerPlan {
        number_ios: 1009,
        ..worker(EngineKind::Null, &scratch)
    };
    let late = WorkerPlan {
        start_delay_ns: 120 * MILLISECOND,
        row: 1,
        ..early.clone()
    };
    let outcome = execute(run_plan(vec![early.clone(), late.clone()]));
    check(&outcome, &[early, late]);
    assert!(
        outcome
            .log
            .iter()
            .all(|record| record.worker == 0 || record.start_ns >= 120 * MILLISECOND)
    );
    assert_eq!((ios(outcome.row(0)), ios(outcome.row(1))), (1009, 1009));
    assert_eq!(outcome.row(1).start_ns, 120 * MILLISECOND);
}

#[test]
fn a_worker_begins_once_another_has_ended_while_others_run() {
    let scratch = file();
    let first = WorkerPlan {
        number_ios: 500,
        schedule: same(iops(5_000)),
        ..worker(EngineKind::Psync, &scratch)
    };
    let beside = WorkerPlan {
        number_ios: 2_000,
        row: 1,
        ..first.clone()
    };
    let waiting = WorkerPlan {
        waits_for: vec![0],
        ramp_ns: 20 * MILLISECOND,
        invalidate: true,
        row: 2,
        ..first.clone()
    };
    let outcome = execute(run_plan(vec![first, beside, waiting]));
    assert_eq!(
        (outcome.result.error.as_ref(), outcome.result.stopped_by),
        (None, None)
    );
    let ended = outcome.row(0).end_ns;
    let begun = outcome.row(2).start_ns;
    assert!(
        begun >= ended + 20 * MILLISECOND && begun < outcome.row(1).end_ns,
        "{begun} {ended}"
    );
    // A request of the ramp may return after it.
    assert!((500..=501).contains(&ios(outcome.row(2))));
    let mut of_waiting = outcome.log.iter().filter(|record| record.worker == 2);
    assert!(of_waiting.all(|record| record.start_ns >= ended));
    let mut parts = outcome.intervals_of(2);
    assert!(parts.all(|part| part.start_ns >= ended));
}

#[test]
fn stages_run_one_after_the_other() {
    let scratch = file();
    let stage = |row| StagePlan {
        held: false,
        workers: vec![WorkerPlan {
            row,
            number_ios: 1009,
            ..worker(EngineKind::Null, &scratch)
        }],
    };
    let mut plan = run_plan(Vec::new());
    plan.stages = vec![stage(0), stage(1), stage(2)];
    let outcome = execute(plan);
    let seen: Vec<_> = outcome
        .result
        .rows
        .iter()
        .map(|row| (row.row, row.stage, ios(row)))
        .collect();
    assert_eq!(seen, [(0, 0, 1009), (1, 1, 1009), (2, 2, 1009)]);
    let stages: Vec<_> = outcome
        .intervals
        .iter()
        .map(|interval| interval.stage)
        .collect();
    assert!(stages.is_sorted());
    for (worker, result) in outcome.result.workers.iter().enumerate() {
        assert_eq!(result.stage as usize, worker);
        assert_eq!(
            outcome
                .log
                .iter()
                .filter(|record| record.worker as usize == worker)
                .count(),
            1009
        );
    }
}

/// The answer to a run that is held before its second stage.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Proceed,
    Refuse,
    Stop,
}

#[test]
fn a_held_stage_begins_once_the_run_is_let_go_on() {
    let scratch = file();
    for answer in [Answer::Proceed, Answer::Refuse, Answer::Stop] {
        let stage = |row, held| StagePlan {
            held,
            workers: vec![WorkerPlan {
                row,
                number_ios: 7,
                ..worker(EngineKind::Null, &scratch)
            }],
        };
        let mut plan = run_plan(Vec::new());
        (plan.request_log, plan.stages) = (false, vec![stage(0, false), stage(1, true)]);
        let run = Run::start(plan, None).unwrap();
        let (mut rows, mut ended, mut last) = (Vec::new(), None, None);
        while ended.is_none() {
            for event in run.poll(PATIENCE) {
                match event {
                    Event::Interval(interval) => {
                        let place = (interval.row, interval.index);
                        assert_ne!(
                            last.replace(place),
                            Some(place),
                            "nothing is reported twice"
                        );
                        // A thread that waits for its CPU may cross the end of an interval.
                        if rows.last() != Some(&interval.row) {
                            rows.push(interval.row);
                        }
                    }
                    Event::Held(index) => {
                        assert_eq!((index, &rows[..]), (1, &[0][..]), "the first stage is over");
                        match answer {
                            Answer::Proceed => run.proceed(Ok(())),
                            Answer::Refuse => run.proceed(Err("refused".into())),
                            Answer::Stop => run.stop(),
                        }
                    }
                    Event::Finished(result) => ended = Some(result),
                    Event::Failed(error) => panic!("{error}"),
                }
            }
        }
        let result = ended.expect("it ended");
        let (expected, error, stopped): (&[u32], _, _) = match answer {
            Answer::Proceed => (&[0, 1], None, None),
            Answer::Refuse => (&[0], Some("refused"), None),
            Answer::Stop => (&[0], None, Some(Stop::Interrupt)),
        };
        assert_eq!(rows, expected, "{answer:?}");
        assert_eq!(
            (result.error.as_deref(), result.stopped_by),
            (error, stopped)
        );
    }
}

/// The intervals are too short to be collected in time: some slices continue into the next interval, and nothing is
/// lost.
#[test]
fn intervals_that_nobody_collects_in_time_keep_everything() {
    let scratch = file();
    let plan = WorkerPlan {
        // A count, not a time, ends the job: a thread that sleeps past the end of a time leaves requests over.
        number_ios: 30_000,
        schedule: same(iops(50_000)),
        ..worker(EngineKind::Null, &scratch)
    };
    let mut run = run_plan(vec![plan.clone()]);
    run.interval_ns = 100_000;
    let outcome = execute(run);
    assert!(outcome.result.workers[0].late_handovers > 0);
    assert_eq!(ios(outcome.row(0)), 30_000);
    let parts: u64 = outcome
        .intervals
        .iter()
        .flat_map(|part| part.tallies.values())
        .map(|tally| tally.ios)
        .sum();
    assert_eq!(parts, 30_000);
}
