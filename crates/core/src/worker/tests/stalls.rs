//! A generator that stalls: the delay is charged to the generator, not to the target or the load, and every request
//! that was due is issued.

use proptest::prelude::*;

use super::sim::{START, Trace, World, run};
use crate::Worker;
use crate::plan::{Rw, WorkerPlan};
use crate::recorder::LATE;
use crate::request::{Completion, Kind, Request};
use crate::testing::{iops, plan, same};
use crate::time::{MILLISECOND, Nanos, SECOND};

const SERVICE: Nanos = 80_000;

fn rated(rate_iops: u64, iodepth: u32, runtime_ns: Nanos) -> WorkerPlan {
    WorkerPlan {
        schedule: same(iops(rate_iops)),
        time_based: true,
        runtime_ns,
        iodepth,
        iodepth_low: iodepth,
        ..plan(Rw::Randread)
    }
}

fn stalled(plan: &WorkerPlan, from: Nanos, length: Nanos) -> Trace {
    run(
        plan,
        World {
            stalls: vec![(from, length)],
            ..World::fast(SERVICE)
        },
    )
}

fn late(trace: &Trace) -> u64 {
    trace
        .served
        .iter()
        .filter(|served| served.lateness() > LATE)
        .count() as u64
}

#[test]
fn two_seconds_at_a_thousand_a_second() {
    // The stall begins with a request, in the middle of one, and between two.
    for into in [0, SERVICE / 2, MILLISECOND / 2] {
        for iodepth in [1, 8] {
            let plan = rated(1_000, iodepth, 5 * SECOND);
            let trace = stalled(&plan, START + 2 * SECOND + into, 2 * SECOND);
            assert_eq!(trace.served.len(), 5_000, "all that was scheduled");
            let slowest = trace
                .served
                .iter()
                .map(|served| served.response())
                .max()
                .unwrap();
            assert!((2 * SECOND - MILLISECOND..2 * SECOND + MILLISECOND).contains(&slowest));
            // Requests due in the stall, and those due while the backlog was worked off.
            let expected = 2_000 + 2_000 * SERVICE / MILLISECOND / u64::from(iodepth);
            assert!(
                late(&trace).abs_diff(expected) < 200,
                "{} late of {expected}",
                late(&trace)
            );
            let across = trace
                .served
                .iter()
                .filter(|served| served.lat() > SERVICE)
                .count();
            assert!(across <= iodepth as usize, "{across} requests look slow");
            // With one slot, the next request waits in the queue only while that slot is taken.
            let most_queued = trace
                .served
                .iter()
                .map(|served| served.queued())
                .max()
                .unwrap();
            assert!(
                most_queued <= 2 * SERVICE,
                "{most_queued} ns charged to the load"
            );
        }
    }
}

/// A stall across the end of the runtime: the generator issues the requests that it would have issued without the
/// stall.
#[test]
fn a_stall_over_the_end_takes_nothing_away() {
    for iodepth in [1, 8] {
        for (from, length) in [(1_500, 1_000), (1_999, 3_000), (10, 10_000)] {
            let plan = rated(1_000, iodepth, 2 * SECOND);
            let trace = stalled(&plan, START + from * MILLISECOND, length * MILLISECOND);
            assert_eq!(trace.served.len(), 2_000);
            assert!(
                trace
                    .served
                    .iter()
                    .all(|served| served.request.intended < START + 2 * SECOND)
            );
            assert_eq!(trace.worker.overdue(u64::MAX), 0);
        }
    }
}

/// A direction without a rate is not caught up on, since its requests have no due times.
#[test]
fn only_requests_that_were_due_are_caught_up_on() {
    let mut plan = WorkerPlan {
        schedule: same(iops(0)),
        ..rated(0, 8, SECOND)
    };
    plan.pattern.rw = Rw::Randrw;
    plan.schedule.read = iops(1_000);
    let trace = stalled(&plan, START + 900 * MILLISECOND, SECOND);
    assert_eq!(trace.count(Kind::Read), 1_000);
    assert!(
        trace
            .of_kind(Kind::Write)
            .all(|served| served.start < START + SECOND)
    );
}

/// A slow request that returns after the end does not prevent the others from being issued.
#[test]
fn a_slow_request_does_not_end_the_catching_up() {
    for slow in [1_005, 1_100] {
        let plan = rated(1_000, 8, 2 * SECOND);
        let world = World {
            service: Box::new(move |request, _| {
                if request.intended == START + 1_500 * MILLISECOND {
                    slow * MILLISECOND
                } else {
                    SERVICE
                }
            }),
            stalls: vec![(START + 1_500 * MILLISECOND + SERVICE / 2, SECOND)],
            ..World::fast(0)
        };
        let trace = run(&plan, world);
        assert_eq!(trace.served.len(), 2_000);
        let across = trace.served.iter().filter(|served| served.lat() > SERVICE);
        assert_eq!(across.count(), 1);
    }
}

/// The worker does not issue requests that an overloaded target would have kept waiting anyway.
#[test]
fn a_stall_over_the_end_does_not_excuse_the_target() {
    let plan = rated(10_000, 4, SECOND);
    let slow = |stalls| World {
        servers: 1,
        stalls,
        ..World::fast(MILLISECOND)
    };
    let in_time = run(&plan, slow(vec![]));
    let stalled = run(&plan, slow(vec![(START + 900 * MILLISECOND, SECOND)]));
    assert_eq!(in_time.served.len(), 1_003);
    assert!(
        stalled.served.len().abs_diff(in_time.served.len()) <= 110,
        "{}",
        stalled.served.len()
    );
    assert!(stalled.worker.overdue(u64::MAX) > 8_800);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn after_any_stalls_all_is_issued_and_charged_to_the_generator(
        rate in 500u64..5_000,
        iodepth in 1u32..17,
        gaps in prop::collection::vec((5u64..300, 2u64..200), 1..6),
        seed: u64,
    ) {
        let plan = rated(rate, iodepth, SECOND);
        let mut at = START;
        let stalls: Vec<(Nanos, Nanos)> = gaps
            .iter()
            .map(|&(pause, length)| {
                at += pause * MILLISECOND;
                let stall = (at, length * MILLISECOND);
                at += length * MILLISECOND;
                stall
            })
            .collect();
        let lost: Nanos = stalls.iter().map(|stall| stall.1).sum();
        let world = World { stalls, seed, ..World::fast(20_000) };
        let trace = run(&plan, world);
        // Requests that are late by less than LATE at the end are not caught up on.
        let missing = rate - trace.served.len() as u64;
        prop_assert!(missing <= rate * LATE / SECOND, "{} requests were not issued", missing);
        // At a tenth of the target's rate, nothing queues for longer than a few requests take.
        let most_queued = trace.served.iter().map(|served| served.queued()).max().unwrap();
        prop_assert!(most_queued <= LATE + 100_000, "{} ns charged to the load", most_queued);
        let latest = trace.served.iter().map(|served| served.lateness()).max().unwrap();
        prop_assert!(latest <= lost + 10 * MILLISECOND);
    }
}

/// A request that the generator held back was ready when its slot was free. The requests after it are ready when they
/// are issued.
#[test]
fn a_request_that_was_held_was_ready_before() {
    let plan = WorkerPlan {
        iodepth: 2,
        iodepth_low: 2,
        time_based: true,
        ..plan(Rw::Randread)
    };
    let mut worker = Worker::new(&plan).unwrap();
    worker.begin(START, 0, 0);
    let mut issued = Vec::new();
    let mut fill = |worker: &mut Worker, now| {
        issued.clear();
        worker.fill(now, 2, |request| issued.push(*request));
        issued.clone()
    };
    let complete = |worker: &mut Worker, slot, done| {
        worker.complete(&Completion {
            slot,
            start: done - SERVICE,
            issued: None,
            done,
            result: Ok(4096),
        });
    };
    let first = fill(&mut worker, START);
    let [early, late] = [START + SERVICE, START + 5 * SERVICE];
    complete(&mut worker, first[0].slot, early);
    complete(&mut worker, first[1].slot, late);
    let (since, now) = (START + 2 * SERVICE, START + SECOND);
    worker.issuing_resumed(since);
    let readies = |requests: &[Request]| -> Vec<_> {
        assert!(requests.iter().all(|one| one.intended == one.ready));
        requests.iter().map(|request| request.ready).collect()
    };
    let held = fill(&mut worker, now);
    assert_eq!(readies(&held), [since, late]);
    for request in &held {
        complete(&mut worker, request.slot, now + SERVICE);
    }
    let next = now + 2 * SERVICE;
    assert_eq!(readies(&fill(&mut worker, next)), [next, next]);
}

proptest! {
    /// A request that could have been issued in the hold is intended for the instant at which a run without the hold
    /// issued it. No later request is charged with the hold, and none is intended within a pause.
    #[test]
    fn a_held_request_is_intended_for_the_instant_at_which_it_would_have_been_issued(
        iodepth in 1u32..9, into in 0..10 * SERVICE, length in 1u64..20 * SERVICE,
        pause in prop_oneof![Just(0), 1u64..10 * SERVICE], blocks in 1u64..12, rate in prop_oneof![Just(0), 1_000u64..50_000],
    ) {
        let mut plan = WorkerPlan {
            iodepth,
            iodepth_low: iodepth,
            time_based: true,
            runtime_ns: 100 * SERVICE,
            thinktime_ns: pause,
            thinktime_blocks: blocks,
            thinktime_at_issue: true,
            ..plan(Rw::Randrw)
        };
        plan.schedule.read = iops(rate);
        let free = run(&plan, World::fast(SERVICE));
        let hold = Some((START + into, length));
        let held = run(&plan, World { hold, ..World::fast(SERVICE) });
        let resumed = START + into + length;
        for (k, served) in held.served.iter().enumerate() {
            let intended = served.request.intended;
            if served.start < resumed {
                prop_assert_eq!(served.start, free.served[k].start);
            } else if served.start == resumed && rate == 0 {
                prop_assert_eq!(intended, free.served[k].start);
            } else if served.start > resumed && (rate == 0 || served.request.kind == Kind::Write) {
                prop_assert_eq!(intended, served.start);
            }
            // All requests before a pause are done, and the next come after it.
            if pause > 0 && k as u64 >= blocks {
                let burst = k / blocks as usize * blocks as usize;
                let last = held.served[..burst].iter().map(|served| served.done).max().unwrap();
                prop_assert!(intended >= last + pause);
            }
        }
    }
}
