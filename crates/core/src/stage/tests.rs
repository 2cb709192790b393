//! Stages whose workers become ready, finish and fail in any order.

use proptest::prelude::*;

use crate::plan::{Checksum, ExitWhat, Rw, SchedulePlan, StagePlan, WorkerPlan};
use crate::stage::{Stage, Stop};
use crate::testing::{plan, same, stage, verify};
use crate::time::{MILLISECOND, Nanos, SECOND};

fn workers(exitall: &[bool]) -> StagePlan {
    stage(
        exitall
            .iter()
            .map(|&exitall| WorkerPlan {
                exitall,
                ..plan(Rw::Randread)
            })
            .collect(),
    )
}

/// Creates a running stage whose workers have or lack exitall, each in its group.
fn begun_in(exitall: &[bool], groups: &[u32]) -> Stage {
    let mut plan = workers(exitall);
    for (worker, &group) in plan.workers.iter_mut().zip(groups) {
        worker.group = group;
    }
    let mut stage = Stage::new(&plan);
    for worker in 0..exitall.len() {
        stage.ready(worker);
    }
    stage.begin(7);
    stage
}

/// Creates a worker that must read and write `rate_min` bytes a second, from 3 seconds on for 10 seconds.
fn slowest(rate_min: u64) -> Stage {
    let minimum = SchedulePlan {
        rate_iops: 0,
        rate_Bps: 0,
        rate_min_Bps: rate_min,
        first_ns: 0,
    };
    let plan = WorkerPlan {
        schedule: same(minimum),
        start_delay_ns: SECOND,
        ramp_ns: 2 * SECOND,
        runtime_ns: 10 * SECOND,
        ..plan(Rw::Randrw)
    };
    let mut stage = Stage::new(&stage(vec![plan]));
    stage.ready(0);
    stage.begin(START);
    stage
}

const START: Nanos = 1_000_000_007;
const RATE: u64 = 1_000_000;

/// Checks every 20 ms a worker that moves `rate` bytes a second in each direction. Returns when it was too slow.
fn first_too_slow(stage: &mut Stage, rate: [u64; 3], until: Nanos) -> Option<Nanos> {
    (0..until / (20 * MILLISECOND))
        .map(|look| look * 20 * MILLISECOND)
        .find(|&at| {
            let moved =
                rate.map(|rate| (u128::from(rate) * u128::from(at) / u128::from(SECOND)) as u64);
            stage.too_slow(0, START + at, moved, Some(0))
        })
}

#[test]
#[should_panic(expected = "a worker is not ready")]
fn no_worker_begins_before_all_are_ready() {
    let mut stage = Stage::new(&workers(&[false, false]));
    stage.ready(1);
    stage.begin(0);
}

#[test]
fn a_worker_is_too_slow_once_its_rate_has_settled() {
    // Three seconds of delay and ramp, two to settle, and one that is checked.
    assert_eq!(
        first_too_slow(&mut slowest(RATE), [RATE - 10_000; 3], 12 * SECOND),
        Some(6 * SECOND)
    );
    assert_eq!(
        first_too_slow(&mut slowest(RATE), [RATE, RATE - 10_000, 0], 12 * SECOND),
        Some(6 * SECOND)
    );
    // A direction that is never issued is not slow.
    assert_eq!(
        first_too_slow(&mut slowest(RATE), [RATE, RATE, 0], 12 * SECOND),
        None
    );
    assert_eq!(
        first_too_slow(&mut slowest(RATE), [RATE + 10_000; 3], 13 * SECOND),
        None
    );
    assert_eq!(first_too_slow(&mut slowest(0), [0; 3], 12 * SECOND), None);
}

#[test]
fn the_time_in_which_a_worker_reads_back_does_not_count() {
    let mut stage = slowest(RATE);
    let mut judge = |at, moved, reading| stage.too_slow(0, START + at, [moved; 3], reading);
    assert!(!judge(6 * SECOND, 0, Some(SECOND)));
    // It writes for half a second, and reads back for five.
    assert!(!judge(8 * SECOND, RATE / 2, None));
    assert!(!judge(
        11 * SECOND + 500 * MILLISECOND,
        RATE / 2,
        Some(6 * SECOND)
    ));
    assert!(!judge(12 * SECOND, RATE, Some(6 * SECOND)));
    let mut slow = slowest(RATE);
    assert!(!slow.too_slow(0, START + 6 * SECOND, [0; 3], Some(0)));
    assert!(slow.too_slow(0, START + 10 * SECOND, [RATE / 2; 3], Some(3 * SECOND)));
}

#[test]
fn a_job_that_reads_back_has_no_minimum_for_these_reads() {
    let minimum = SchedulePlan {
        rate_iops: 0,
        rate_Bps: 0,
        rate_min_Bps: RATE,
        first_ns: 0,
    };
    let plan = WorkerPlan {
        schedule: same(minimum),
        verify: Some(verify(Checksum::Crc32c, 4096)),
        ..plan(Rw::Write)
    };
    assert_eq!(plan.rate_min_bytes(), [0, RATE, 0]);
}

#[test]
fn no_worker_is_too_slow_at_its_end() {
    let mut stage = slowest(RATE);
    assert!(!stage.too_slow(0, START + 12_500 * MILLISECOND, [0; 3], Some(0)));
    assert!(
        !stage.too_slow(0, START + 13_600 * MILLISECOND, [0; 3], Some(0)),
        "its time is over"
    );
    let mut stopped = slowest(RATE);
    assert!(!stopped.too_slow(0, START + 6 * SECOND, [0; 3], Some(0)));
    stopped.interrupt();
    assert!(!stopped.too_slow(0, START + 7 * SECOND + 1, [0; 3], Some(0)));
    let mut finished = slowest(RATE);
    assert!(!finished.too_slow(0, START + 6 * SECOND, [0; 3], Some(0)));
    finished.finished(0, false);
    assert!(!finished.too_slow(0, START + 7 * SECOND + 1, [0; 3], Some(0)));
}

#[test]
fn after_a_long_pause_no_rate_is_judged() {
    let mut stage = slowest(RATE);
    assert!(!stage.too_slow(0, START + 6 * SECOND, [0; 3], Some(0)));
    assert!(
        !stage.too_slow(0, START + 8 * SECOND, [0; 3], Some(0)),
        "the process stood still"
    );
    assert!(stage.too_slow(0, START + 9 * SECOND, [0; 3], Some(0)));
}

#[test]
fn before_the_start_no_worker_is_too_slow() {
    let minimum = SchedulePlan {
        rate_iops: 0,
        rate_Bps: 0,
        rate_min_Bps: 1,
        first_ns: 0,
    };
    let mut stage = Stage::new(&stage(vec![WorkerPlan {
        schedule: same(minimum),
        ..plan(Rw::Read)
    }]));
    for second in 0..5 {
        assert!(!stage.too_slow(0, second * SECOND, [0; 3], Some(0)));
    }
}

#[derive(Clone, Debug)]
enum Event {
    Finished { worker: usize, failed: bool },
    Interrupt,
}

fn events(count: usize) -> impl Strategy<Value = Vec<Event>> {
    let ends = prop::collection::vec(any::<bool>(), count);
    let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
    (ends, order, prop::option::of(0..=count)).prop_map(|(failed, order, interrupt)| {
        let mut events: Vec<Event> = order
            .into_iter()
            .map(|worker| Event::Finished {
                worker,
                failed: failed[worker],
            })
            .collect();
        if let Some(at) = interrupt {
            events.insert(at, Event::Interrupt);
        }
        events
    })
}

proptest! {
    #[test]
    fn all_are_ready_once_the_last_is(
        order in (1usize..20).prop_flat_map(|count| Just((0..count).collect::<Vec<_>>()).prop_shuffle()),
    ) {
        let mut stage = Stage::new(&workers(&vec![false; order.len()]));
        for (place, &worker) in order.iter().enumerate() {
            let all = place + 1 == order.len();
            prop_assert_eq!(stage.ready(worker), all);
            prop_assert_eq!(stage.ready(worker), all, "twice is once");
        }
        stage.begin(3);
        prop_assert!(!stage.done());
        prop_assert_eq!(stage.stopped(), None);
    }

    /// In any order: a worker with exitall ends those of its group that have not ended, each is named once, an
    /// interrupt ends all, and every worker still has to finish.
    #[test]
    fn an_end_ends_its_group(
        (exitall, groups, events) in (1usize..12).prop_flat_map(|n| {
            (prop::collection::vec(any::<bool>(), n), prop::collection::vec(0u32..3, n), events(n))
        }),
    ) {
        let mut stage = begun_in(&exitall, &groups);
        let mut ended = vec![false; exitall.len()];
        let mut finished = vec![false; exitall.len()];
        let mut interrupted = false;
        for event in events {
            prop_assert_eq!(stage.done(), finished.iter().all(|&done| done));
            match event {
                Event::Interrupt => {
                    prop_assert!(stage.interrupt());
                    prop_assert!(!stage.interrupt(), "twice is once");
                    interrupted = true;
                    ended.fill(true);
                    prop_assert_eq!(stage.stopped(), Some(Stop::Interrupt));
                }
                Event::Finished { worker, failed } => {
                    finished[worker] = true;
                    let due: Vec<usize> = (0..exitall.len())
                        .filter(|&other| exitall[worker] && groups[other] == groups[worker])
                        .filter(|&other| !finished[other] && !ended[other])
                        .collect();
                    let before = stage.stopped();
                    prop_assert_eq!(stage.finished(worker, failed), due.clone());
                    let reason = if failed { Stop::Error } else { Stop::Exitall };
                    let first = (!due.is_empty()).then_some(reason);
                    prop_assert_eq!(stage.stopped(), before.or(first));
                    due.into_iter().for_each(|other| ended[other] = true);
                }
            }
        }
        prop_assert!(stage.done());
        prop_assert_eq!(stage.stopped() == Some(Stop::Interrupt), interrupted);
    }

    /// The minimum holds over every checked second or more, to the byte.
    #[test]
    fn a_minimum_is_exact(rate in 1u64..1 << 40, short in 0u64..3, length in SECOND..2 * SECOND, direction in 0usize..2) {
        let mut stage = slowest(rate);
        let from = START + 6 * SECOND;
        prop_assert!(!stage.too_slow(0, from, [0; 3], Some(0)));
        let needed = (u128::from(rate) * u128::from(length)).div_ceil(u128::from(SECOND)) as u64;
        let mut moved = [u64::MAX; 3];
        moved[direction] = needed - short.min(needed);
        prop_assert_eq!(stage.too_slow(0, from + length, moved, Some(0)), moved[direction] < needed);
    }
}

fn ending(what: ExitWhat) -> Stage {
    let worker = |group, exitall_on_error| WorkerPlan {
        group,
        exitall_on_error,
        exit_what: what,
        ..plan(Rw::Read)
    };
    let mut stage = Stage::new(&stage(vec![
        worker(0, true),
        worker(0, false),
        worker(1, true),
    ]));
    (0..3).for_each(|worker| {
        stage.ready(worker);
    });
    stage.begin(0);
    stage
}

#[test]
fn an_error_ends_those_that_exit_what_names() {
    for (what, ended, ends_run) in [
        (ExitWhat::Group, vec![1], false),
        (ExitWhat::Stonewall, vec![1, 2], false),
        (ExitWhat::All, vec![1, 2], true),
    ] {
        let mut stage = ending(what);
        assert_eq!(stage.finished(0, true), ended);
        assert_eq!(stage.ends_run(), ends_run);
        assert_eq!(stage.stopped(), Some(Stop::Error));
    }
}

#[test]
fn exitall_on_error_does_nothing_without_an_error() {
    let mut stage = ending(ExitWhat::All);
    assert!(stage.finished(0, false).is_empty());
    assert!(!stage.ends_run());
    // A worker without the option ends alone, even with an error.
    assert!(stage.finished(1, true).is_empty());
}

#[test]
fn a_worker_begins_once_those_that_it_waits_for_have_finished() {
    let mut plan = workers(&[false, false, false, false]);
    plan.workers[2].waits_for = vec![0, 1];
    plan.workers[3].waits_for = vec![2];
    let mut stage = Stage::new(&plan);
    (0..4).for_each(|worker| {
        stage.ready(worker);
    });
    stage.begin(7);
    assert!(stage.release().is_empty());
    stage.finished(1, false);
    assert!(stage.release().is_empty());
    stage.finished(0, false);
    assert_eq!(stage.release(), [2]);
    assert!(stage.release().is_empty(), "it is released once");
    stage.begun(2, SECOND);
    stage.finished(2, false);
    assert_eq!(stage.release(), [3]);
    stage.begun(3, 2 * SECOND);
    stage.finished(3, false);
    assert!(stage.done());
}

#[test]
fn a_worker_that_waits_is_not_ended_by_exit_what_stonewall() {
    for (what, ended) in [(ExitWhat::Stonewall, &[1][..]), (ExitWhat::All, &[1, 2])] {
        let mut plan = workers(&[true, true, true]);
        plan.workers[2].waits_for = vec![0];
        for worker in &mut plan.workers {
            worker.exit_what = what;
        }
        let mut stage = Stage::new(&plan);
        (0..3).for_each(|worker| {
            stage.ready(worker);
        });
        stage.begin(7);
        assert_eq!(stage.finished(0, false), ended);
        assert_eq!(stage.release().is_empty(), what == ExitWhat::All);
    }
}

#[test]
fn a_worker_that_waits_ends_with_an_interrupt() {
    let mut plan = workers(&[false, false]);
    plan.workers[1].waits_for = vec![0];
    let mut stage = Stage::new(&plan);
    (0..2).for_each(|worker| {
        stage.ready(worker);
    });
    stage.begin(7);
    stage.interrupt();
    stage.finished(0, false);
    assert!(stage.release().is_empty(), "it never begins");
    stage.finished(1, false);
    assert!(stage.done());
}
