//! The search for the depth that keeps a latency, on a target that serves one request at a time: a request at depth n
//! takes n times as long as at depth 1.

use proptest::prelude::*;

use super::sim::{START, Served, Trace, World, run};
use crate::plan::{LatencyTargetPlan, Rw, WorkerPlan};
use crate::results::DepthOutcome;
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

/// What the search has come to.
fn result(trace: &Trace) -> (u32, DepthOutcome) {
    let result = trace.worker.searched_depth().expect("it searches");
    (result.depth, result.outcome)
}

/// The most requests in flight around the middle of a window.
fn depth_in(trace: &Trace, window: u64) -> usize {
    let (from, to) = (START + window * WINDOW, START + (window + 1) * WINDOW);
    let in_middle = from + WINDOW / 2..to - WINDOW / 4;
    let some = trace.served.iter();
    depth_of(some.filter(|one| in_middle.contains(&one.start)))
}

proptest! {
    #[test]
    fn it_finds_the_largest_depth_that_keeps_the_latency(
        allowed in 1u32..40, iodepth in 1u32..40, percent in prop_oneof![Just(100.0), Just(90.0)],
    ) {
        let trace = run(&searching(allowed, iodepth, percent), one_at_a_time());
        let expected = allowed.min(iodepth);
        prop_assert_eq!(result(&trace), (expected, DepthOutcome::Kept));
        prop_assert!(!trace.worker.is_hopeless());
        prop_assert_eq!(depth_of(measured(&trace)), expected as usize);
        // One window is measured, at that depth alone.
        let length = trace.end - trace.worker.measured_from();
        prop_assert!((WINDOW..WINDOW + 50 * SERVICE).contains(&length), "{length}");
        prop_assert!(measured(&trace).all(|one| one.lat() <= u64::from(expected) * SERVICE));
    }
}

#[test]
fn the_depths_are_fios() {
    // 8 and 6 fail; 5 is confirmed, and then measured.
    let trace = run(&searching(5, 64, 95.0), one_at_a_time());
    let depths: Vec<_> = (0..8).map(|window| depth_in(&trace, window)).collect();
    assert_eq!(depths, [1, 2, 4, 8, 6, 5, 5, 5]);
    assert_eq!(result(&trace), (5, DepthOutcome::Kept));
}

/// A target that is slower once it has been busy for this long.
fn slower_from(busy: Nanos) -> World<'static> {
    let mut served = 0;
    World {
        service: Box::new(move |_, _| {
            served += 1;
            if served * SERVICE < busy {
                SERVICE
            } else {
                2 * SERVICE
            }
        }),
        ..one_at_a_time()
    }
}

#[test]
fn a_depth_that_is_not_confirmed_is_lowered_before_anything_is_measured() {
    // 1, 2, 4, 5 (of at most 5), and 5 again, which is too slow by then.
    let trace = run(&searching(5, 5, 90.0), slower_from(4 * WINDOW));
    assert_eq!(result(&trace), (2, DepthOutcome::Kept));
    assert_eq!(depth_of(measured(&trace)), 2);
}

#[test]
fn a_depth_that_fails_while_it_is_measured_ends_the_job_all_the_same() {
    for percent in [90.0, 100.0] {
        let trace = run(
            &searching(5, 5, percent),
            slower_from(5 * WINDOW + WINDOW / 2),
        );
        assert_eq!(result(&trace), (5, DepthOutcome::Missed));
        assert_eq!(depth_of(measured(&trace)), 5);
        assert!(!trace.worker.is_hopeless());
    }
}

#[test]
fn a_latency_that_depth_1_misses_ends_a_job_that_allows_no_miss() {
    let mut plan = searching(1, 8, 100.0);
    let target = plan.latency_target.as_mut().expect("it is there");
    target.limit_ns = SERVICE / 2;
    let trace = run(&plan, one_at_a_time());
    assert!(trace.worker.is_hopeless());
    assert_eq!(result(&trace), (1, DepthOutcome::Missed));
    assert_eq!(trace.served.len(), 1);
    // A job that allows some misses stays at depth 1 until its runtime is over.
    let target = plan.latency_target.as_mut().expect("it is there");
    target.percent = 99.0;
    let trace = run(&plan, one_at_a_time());
    assert!(!trace.worker.is_hopeless());
    assert_eq!(result(&trace), (1, DepthOutcome::Searching));
    assert_eq!(trace.end, START + plan.runtime_ns);
    assert_eq!(measured(&trace).count(), 0);
}

#[test]
fn a_search_that_goes_on_follows_its_target() {
    let mut plan = searching(6, 32, 90.0);
    let target = plan.latency_target.as_mut().expect("it is there");
    target.keeps_adjusting = true;
    let trace = run(&plan, slower_from(100 * WINDOW));
    assert_eq!(trace.worker.measured_from(), START);
    assert!(trace.end >= START + plan.runtime_ns);
    assert_eq!(result(&trace).1, DepthOutcome::Adjusting);
    // It tries the next depth now and then.
    let most = |windows: std::ops::Range<u64>| windows.map(|at| depth_in(&trace, at)).max();
    assert!(matches!(most(50..80), Some(6..=8)));
    assert!(matches!(most(150..180), Some(3..=5)));
}

#[test]
fn a_ramp_comes_before_the_search() {
    let mut plan = searching(3, 8, 100.0);
    plan.ramp_ns = 5 * WINDOW;
    let trace = run(&plan, one_at_a_time());
    let in_ramp = trace.served.iter();
    let in_ramp = in_ramp.filter(|one| one.start < START + plan.ramp_ns);
    assert_eq!(depth_of(in_ramp), 1);
    // 1, 2, 4 fails at once, 3, and 3 to confirm it.
    let begins = START + plan.ramp_ns + 4 * WINDOW;
    let measured_from = trace.worker.measured_from();
    assert!((begins..begins + WINDOW / 2).contains(&measured_from));
    assert_eq!(result(&trace), (3, DepthOutcome::Kept));
}

#[test]
fn the_runtime_counts_anew_from_the_end_of_the_search() {
    let mut plan = searching(3, 8, 90.0);
    let trace = run(&plan, one_at_a_time());
    let search = trace.worker.measured_from() - START;
    // When the search ends, less than a window is left of the runtime; and yet a window is measured.
    plan.runtime_ns = search + WINDOW / 4;
    let trace = run(&plan, one_at_a_time());
    assert_eq!(trace.worker.measured_from() - START, search);
    assert!(trace.end - trace.worker.measured_from() >= WINDOW);
    assert_eq!(result(&trace), (3, DepthOutcome::Kept));
}
