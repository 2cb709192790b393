//! Think time: the worker issues some requests, waits for all of them, then pauses.

use proptest::prelude::*;

use super::sim::{START, World, run};
use crate::plan::{Rw, WorkerPlan};
use crate::testing::{iops, plan, same};
use crate::time::{MILLISECOND, Nanos, SECOND};

fn thinking(pause: Nanos, spin: Nanos, blocks: u64, iodepth: u32) -> WorkerPlan {
    WorkerPlan {
        thinktime_ns: pause,
        thinktime_spin_ns: spin,
        thinktime_blocks: blocks,
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
