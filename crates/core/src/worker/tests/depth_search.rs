//! The search for the depth that keeps a latency, on a target that serves one request at a time: a request at depth n
//! takes n times as long as at depth 1.

use proptest::prelude::*;

use super::sim::{START, Served, Trace, World, run};
use crate::plan::{LatencyTargetPlan, Rw, WorkerPlan};
use crate::testing::plan;
use crate::time::{MICROSECOND, MILLISECOND, Nanos};

const SERVICE: Nanos = 10 * MICROSECOND;
const WINDOW: Nanos = MILLISECOND;

/// A job whose latency allows `allowed` requests in flight.
fn searching(allowed: u32, iodepth: u32, percent: f64) -> WorkerPlan {
    WorkerPlan {
        iodepth,
        iodepth_low: iodepth,
        time_based: true,
        runtime_ns: 200 * WINDOW,
        latency_target: Some(LatencyTargetPlan {
            limit_ns: u64::from(allowed) * SERVICE + SERVICE / 2,
            window_ns: WINDOW,
            percent,
            keeps_adjusting: false,
        }),
        ..plan(Rw::Randread)
    }
}

fn one_at_a_time() -> World<'static> {
    World {
        servers: 1,
        ..World::fast(SERVICE)
    }
}

/// The most requests in flight at once.
fn depth_of<'a>(served: impl Iterator<Item = &'a Served> + Clone) -> usize {
    let at_once = |one: &Served| {
        served
            .clone()
            .filter(|other| other.start <= one.start && one.start < other.done)
            .count()
    };
    served.clone().map(at_once).max().unwrap_or(0)
}

/// The requests that were issued once it was measured.
fn measured(trace: &Trace) -> impl Iterator<Item = &Served> + Clone {
    let from = trace.worker.measured_from();
    trace.served.iter().filter(move |one| one.start >= from)
}

proptest! {
    #[test]
    fn it_arrives_at_the_largest_depth_that_keeps_the_latency(
        allowed in 1u32..40, iodepth in 1u32..40, percent in prop_oneof![Just(100.0), Just(90.0)],
    ) {
        let trace = run(&searching(allowed, iodepth, percent), one_at_a_time());
        let expected = allowed.min(iodepth);
        prop_assert_eq!(trace.worker.searched_depth(), Some((expected, true)));
        prop_assert!(!trace.worker.misses_target());
        prop_assert_eq!(depth_of(measured(&trace)), expected as usize);
        // One more window is measured, at that depth alone.
        let length = trace.end - trace.worker.measured_from();
        prop_assert!((WINDOW..WINDOW + 50 * SERVICE).contains(&length), "{length}");
        prop_assert!(measured(&trace).all(|one| one.lat() <= u64::from(expected) * SERVICE));
    }
}

#[test]
fn the_depths_are_fios() {
    // 1, 2, 4, 8 fails, 6 fails, 5, then 5 again to measure.
    let trace = run(&searching(5, 64, 95.0), one_at_a_time());
    let mut depths = Vec::new();
    for window in 0..7 {
        let (from, to) = (START + window * WINDOW, START + (window + 1) * WINDOW);
        let in_middle = from + WINDOW / 2..to - WINDOW / 4;
        let some = trace
            .served
            .iter()
            .filter(|one| in_middle.contains(&one.start));
        depths.push(depth_of(some));
    }
    assert_eq!(depths, [1, 2, 4, 8, 6, 5, 5]);
}

#[test]
fn a_latency_that_depth_1_misses_ends_a_job_that_allows_no_miss() {
    let mut plan = searching(1, 8, 100.0);
    if let Some(target) = &mut plan.latency_target {
        target.limit_ns = SERVICE / 2;
    }
    let trace = run(&plan, one_at_a_time());
    assert!(trace.worker.misses_target());
    assert_eq!(trace.served.len(), 1);
    // A job that allows some misses stays at depth 1 until its runtime is over.
    if let Some(target) = &mut plan.latency_target {
        target.percent = 99.0;
    }
    let trace = run(&plan, one_at_a_time());
    assert!(!trace.worker.misses_target());
    assert_eq!(trace.worker.searched_depth(), Some((1, false)));
    assert_eq!(trace.end, START + plan.runtime_ns);
    assert_eq!(measured(&trace).count(), 0);
}

#[test]
fn a_search_that_goes_on_follows_its_target() {
    let mut plan = searching(6, 32, 90.0);
    if let Some(target) = &mut plan.latency_target {
        target.keeps_adjusting = true;
    }
    // Twice as slow in the second half.
    let half = START + plan.runtime_ns / 2;
    let served = std::cell::Cell::new(0u64);
    let world = World {
        service: Box::new(move |_, _| {
            served.set(served.get() + 1);
            if served.get() * SERVICE < 100 * WINDOW {
                SERVICE
            } else {
                2 * SERVICE
            }
        }),
        ..one_at_a_time()
    };
    let trace = run(&plan, world);
    assert_eq!(trace.worker.measured_from(), START);
    assert!(trace.end >= START + plan.runtime_ns);
    let around = |from: Nanos, to: Nanos| {
        depth_of(
            trace
                .served
                .iter()
                .filter(|one| (from..to).contains(&one.start)),
        )
    };
    let quarter = plan.runtime_ns / 4;
    // It tries the next depth now and then.
    assert!((6..=8).contains(&around(START + quarter, half - quarter / 2)));
    assert!((3..=5).contains(&around(half + quarter, half + quarter + quarter / 2)));
}

#[test]
fn a_ramp_comes_before_the_search_and_the_runtime_counts_from_its_end() {
    let mut plan = searching(3, 8, 100.0);
    plan.ramp_ns = 5 * WINDOW;
    if let Some(target) = &mut plan.latency_target {
        // So that only the runtime ends it.
        target.window_ns = 2 * WINDOW;
    }
    plan.runtime_ns = 100 * WINDOW;
    let trace = run(&plan, one_at_a_time());
    let in_ramp = trace
        .served
        .iter()
        .filter(|one| one.start < START + plan.ramp_ns);
    assert_eq!(depth_of(in_ramp), 1);
    assert!(trace.worker.measured_from() > START + plan.ramp_ns + 2 * WINDOW);
    assert_eq!(trace.worker.searched_depth(), Some((3, true)));
}
