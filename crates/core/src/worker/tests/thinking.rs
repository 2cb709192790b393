//! Think time: the worker issues some requests, waits for all of them, then pauses.

use proptest::prelude::*;

use super::sim::{START, Served, World, run};
use crate::plan::{Rw, WorkerPlan};
use crate::testing::{iops, plan, same};
use crate::time::{MILLISECOND, Nanos, SECOND};

fn thinking(pause: Nanos, spin: Nanos, blocks: u64, iodepth: u32) -> WorkerPlan {
    WorkerPlan {
        thinktime_ns: pause,
        thinktime_spin_ns: spin,
        thinktime_blocks: blocks,
        thinktime_at_issue: true,
        iodepth,
        iodepth_low: iodepth,
        time_based: true,
        runtime_ns: 50 * MILLISECOND,
        ..plan(Rw::Randread)
    }
}

/// fio 3.33 on its null engine, thinktime=10000, runtime=1: 100, 792, 3200 and 400 requests.
#[test]
fn as_many_requests_between_pauses_as_fio() {
    for (iodepth, blocks, expected) in [(32, 1, 100), (32, 8, 800), (8, 32, 3_200), (1, 4, 400)] {
        let plan = WorkerPlan {
            runtime_ns: SECOND,
            ..thinking(10 * MILLISECOND, 0, blocks, iodepth)
        };
        assert_eq!(run(&plan, World::fast(1)).served.len(), expected);
    }
}

/// Returns how many requests were issued between two pauses, in order.
fn bursts(plan: &WorkerPlan, world: World<'_>) -> Vec<usize> {
    let served = run(plan, world).served;
    let pauses = |pair: &[Served]| pair[1].start >= pair[0].start + plan.thinktime_ns;
    let ends = (1..served.len()).filter(|&k| pauses(&served[k - 1..=k]));
    let ends: Vec<usize> = ends.chain([served.len()]).collect();
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(&ends).map(|(from, to)| to - from).collect()
}

/// fio 3.33 on a file, libaio, iodepth=4, 64 requests: what strace shows between its sleeps.
#[test]
fn completions_that_a_pause_waits_for_count_toward_the_next() {
    for (at_issue, expected) in [(true, vec![8; 8]), (false, vec![11, 8, 8, 8, 8, 8, 8, 5])] {
        let plan = WorkerPlan {
            number_ios: 64,
            time_based: false,
            runtime_ns: 0,
            thinktime_at_issue: at_issue,
            ..thinking(MILLISECOND, 0, 8, 4)
        };
        let one_at_a_time = World {
            servers: 1,
            ..World::fast(1_000)
        };
        assert_eq!(bursts(&plan, one_at_a_time), expected);
    }
}

#[test]
fn pauses_come_by_time_or_by_number_whichever_is_first() {
    let burst = |blocks, io_time| {
        let plan = WorkerPlan {
            thinktime_iotime_ns: io_time,
            ..thinking(5 * MILLISECOND, 0, blocks, 1)
        };
        bursts(&plan, World::fast(100_000))[..4].to_vec()
    };
    assert_eq!(burst(0, MILLISECOND), [10; 4]);
    assert_eq!(burst(20, MILLISECOND), [10; 4]);
    assert_eq!(burst(7, MILLISECOND), [7; 4]);
    assert_eq!(burst(7, 0), [7; 4]);
}

proptest! {
    #[test]
    fn pauses_are_whole_and_nothing_is_in_flight_in_them(
        pause in 1u64..2 * MILLISECOND, spin_percent in 0u64..=100, blocks in 1u64..20, iodepth in 1u32..17,
        seed: u64, latest in prop_oneof![Just(0), 1u64..3 * MILLISECOND],
    ) {
        let plan = thinking(pause, pause * spin_percent / 100, blocks, iodepth);
        let trace = run(&plan, World::random(seed, 100_000, latest));
        let bursts: Vec<_> = trace.served.chunks(blocks as usize).collect();
        for pair in bursts.windows(2) {
            let quiet_from = pair[0].iter().map(|served| served.done).max().unwrap();
            let first = pair[1][0];
            // The first request of a burst is intended for the end of the pause; its lateness is charged to the
            // generator.
            prop_assert_eq!(first.request.intended, quiet_from + pause);
            prop_assert!(pair[1].iter().all(|served| served.start >= quiet_from + pause));
            prop_assert!(pair[1][1..].iter().all(|served| served.request.intended == served.start));
        }
        prop_assert!(trace.served.iter().all(|served| served.start < START + plan.runtime_ns));
        for &(from, until) in &trace.spins {
            prop_assert!(until - from <= plan.thinktime_spin_ns);
        }
        prop_assert_eq!(plan.thinktime_spin_ns > 0 && latest == 0, latest == 0 && !trace.spins.is_empty());
    }

    /// With a rate as well, a request is intended once both the rate and the pause allow it. The pause does not count
    /// as lateness.
    #[test]
    fn a_pause_delays_requests_with_a_rate(rate in 500u64..20_000, pause in 1u64..3 * MILLISECOND, blocks in 1u64..6) {
        let plan = WorkerPlan { schedule: same(iops(rate)), ..thinking(pause, 0, blocks, 1) };
        let trace = run(&plan, World::fast(1_000));
        prop_assert!(trace.served.iter().all(|served| served.lateness() == 0));
        for (k, served) in trace.served.iter().enumerate() {
            let due = START + k as u64 * SECOND / rate;
            prop_assert!(served.request.intended >= due);
            if !(k as u64).is_multiple_of(blocks) {
                prop_assert!(served.request.intended <= due.max(trace.served[k - 1].done));
            }
        }
    }
}
