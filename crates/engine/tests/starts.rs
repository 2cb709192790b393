//! When a run starts: at once, or at an instant of the host's clock, and never before it.

mod common;
mod outcome;

use std::time::Instant;

use iogauge_core::Stop;
use iogauge_core::plan::{EngineKind, RunPlan, WorkerPlan};
use iogauge_core::testing::{same, stage};
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_engine::monotonic_ns;
use outcome::{Outcome, PATIENCE, execute, file, iops, run_plan, steered, worker};

/// More than any machine has been up: 100 years.
const NEVER: u64 = 100 * 365 * 86_400 * SECOND;

/// Returns a plan of three workers at a rate, one of which begins later.
fn plan(start_at_ns: Option<u64>) -> RunPlan {
    let worker = WorkerPlan {
        number_ios: 20,
        schedule: same(iops(2_000)),
        iodepth: 1,
        iodepth_low: 1,
        ..worker(EngineKind::Null, &file())
    };
    let late = WorkerPlan {
        start_delay_ns: 5 * MILLISECOND,
        ..worker.clone()
    };
    RunPlan {
        start_at_ns,
        ..run_plan(vec![late, worker.clone(), worker])
    }
}

/// Returns when a run started and when it issued its first request, which its log confirms.
fn instants(outcome: &Outcome) -> (u64, u64) {
    let started = outcome.result.started_ns.expect("it started");
    let issued = outcome.result.first_issued_ns.expect("it issued requests");
    let first_stage = outcome.log.iter().filter(|record| record.stage == 0);
    let logged = first_stage.map(|record| record.start_ns).min();
    // Noted right before the first request was stamped.
    assert!(started <= issued && issued - started <= logged.unwrap());
    (started, issued)
}

#[test]
fn a_run_starts_at_its_instant_and_not_before() {
    for wait in [30 * MILLISECOND, 100 * MILLISECOND] {
        let instant = monotonic_ns() + wait;
        let outcome = execute(plan(Some(instant)));
        let (started, issued) = instants(&outcome);
        assert!(started >= instant && issued <= monotonic_ns());
        // The wait is not part of the run.
        assert!(outcome.result.elapsed_ns <= monotonic_ns() - started);
    }
}

#[test]
fn a_run_whose_instant_is_past_starts_at_once() {
    for start_at_ns in [Some(0), Some(monotonic_ns()), None] {
        let before = monotonic_ns();
        let (started, _) = instants(&execute(plan(start_at_ns)));
        assert!(started > before && started < monotonic_ns());
    }
}

#[test]
fn only_the_first_stage_waits() {
    let before = monotonic_ns();
    let mut plan = plan(Some(before + 40 * MILLISECOND));
    plan.stages.push(plan.stages[0].clone());
    let outcome = execute(plan);
    let (started, _) = instants(&outcome);
    assert!(started >= before + 40 * MILLISECOND);
    assert_eq!(outcome.result.workers.len(), 6);
}

#[test]
fn a_stage_without_requests_leaves_the_first_one_to_the_next() {
    let create_only = WorkerPlan {
        create_only: true,
        ..worker(EngineKind::Null, &file())
    };
    let outcome = execute(run_plan(vec![create_only.clone()]));
    assert!(outcome.result.started_ns.is_some());
    assert_eq!(outcome.result.first_issued_ns, None);
    let mut plan = plan(None);
    plan.stages.insert(0, stage(vec![create_only]));
    let outcome = execute(plan);
    assert!(outcome.result.first_issued_ns > outcome.result.started_ns);
}

#[test]
fn an_interrupt_ends_the_wait() {
    let begun = Instant::now();
    let outcome = steered(plan(Some(NEVER)), |run, _| run.stop()).unwrap();
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(outcome.result.stopped_by, Some(Stop::Interrupt));
    assert_eq!(
        (outcome.result.started_ns, outcome.result.first_issued_ns),
        (None, None)
    );
    assert!(outcome.result.workers.is_empty() && outcome.log.is_empty());
}
