//! Properties of every plan. The simulation checks them at each step of plans of all kinds.

use proptest::prelude::*;

use super::sim::{START, World, run};
use crate::plan::{Rw, SchedulePlan, WorkerPlan};
use crate::request::{Direction, Errno, Kind};
use crate::testing::{BLOCK, file, plan, same};
use crate::time::Nanos;

const KINDS: [Rw; 10] = [
    Rw::Read,
    Rw::Write,
    Rw::Trim,
    Rw::Randread,
    Rw::Randwrite,
    Rw::Randtrim,
    Rw::Readwrite,
    Rw::Randrw,
    Rw::Trimwrite,
    Rw::Randtrimwrite,
];

fn rate() -> impl Strategy<Value = SchedulePlan> {
    let none = SchedulePlan {
        rate_iops: 0,
        rate_Bps: 0,
        rate_min_Bps: 0,
        first_ns: 0,
    };
    prop_oneof![
        2 => Just(none),
        1 => (1_000u64..200_000).prop_map(move |rate_iops| SchedulePlan { rate_iops, ..none }),
        1 => (1_000u64..200_000).prop_map(move |rate| SchedulePlan { rate_Bps: rate * BLOCK, ..none }),
    ]
}

prop_compose! {
    fn pattern_plans()(
        rw in prop::sample::select(&KINDS[..]),
        blocks in prop::collection::vec(2u64..64, 1..3),
        largest in 1u32..4,
        random_map: bool,
        percentage_random in prop_oneof![Just(100.0), 0.0..100.0],
        (fsync_every, fdatasync_every) in (0u64..4, 0u64..6),
    ) -> WorkerPlan {
        let mut plan = plan(rw);
        plan.files = blocks.into_iter().map(file).collect();
        let mut sizes = plan.pattern.sizes.read.clone();
        sizes.maximum_bytes = largest * sizes.minimum_bytes;
        plan.pattern.sizes = same(sizes);
        plan.pattern.random_map = random_map;
        plan.pattern.percentage_random = same(percentage_random);
        (plan.pattern.fsync_every, plan.pattern.fdatasync_every) = (fsync_every, fdatasync_every);
        plan
    }
}

prop_compose! {
    /// Plans of every kind, short enough to run hundreds of them.
    pub(super) fn plans()(
        plan in pattern_plans(),
        (iodepth, low, complete_min) in (1u32..20).prop_flat_map(|depth| (Just(depth), 1..=depth, 0..=depth)),
        (runtime_ns, time_based) in prop_oneof![
            Just((0, false)), (1u64..4_000_000).prop_map(|runtime| (runtime, false)),
            (1u64..4_000_000).prop_map(|runtime| (runtime, true)),
        ],
        ramp_ns in prop_oneof![Just(0), 1u64..2_000_000],
        (loops, replay_loops) in (1u64..4, any::<bool>()),
        io_blocks in prop_oneof![Just(0), 1u64..300],
        number_ios in prop_oneof![Just(0), 1u64..300],
        (read, write, trim, poisson) in (rate(), rate(), rate(), any::<bool>()),
        thinking in prop_oneof![
            3 => Just((0, 0, 1, false, 0)),
            1 => (1u64..1_000_000, 0u64..500_000, 0u64..20, any::<bool>(), 0u64..1_000_000),
        ],
    ) -> WorkerPlan {
        WorkerPlan {
            iodepth, iodepth_low: low, complete_min, runtime_ns, time_based, ramp_ns, loops, replay_loops, number_ios,
            io_bytes: io_blocks * BLOCK, poisson,
            schedule: crate::plan::PerDirection { read, write, trim },
            thinktime_ns: thinking.0, thinktime_spin_ns: thinking.1.min(thinking.0), thinktime_blocks: thinking.2,
            thinktime_at_issue: thinking.3, thinktime_iotime_ns: thinking.4,
            ..plan
        }
    }
}

/// Returns when the plan's time is over.
fn end(plan: &WorkerPlan) -> Nanos {
    if plan.runtime_ns == 0 {
        Nanos::MAX
    } else {
        START + plan.ramp_ns + plan.runtime_ns
    }
}

fn has_rate(plan: &WorkerPlan, kind: Kind) -> bool {
    let rate = match kind {
        Kind::Read => plan.schedule.read,
        Kind::Write => plan.schedule.write,
        Kind::Trim => plan.schedule.trim,
        Kind::Sync | Kind::DataSync | Kind::RangeSync => return false,
    };
    rate.rate_iops > 0 || rate.rate_Bps > 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_request_is_served_once_and_in_its_time(plan in plans(), seed: u64, batch in 1usize..40) {
        let world = World { batch, ..World::random(seed, 300_000, 3_000_000) };
        let trace = run(&plan, world);
        prop_assert!(trace.served.iter().all(|served| served.done >= served.start && served.done > 0));
        for served in &trace.served {
            let request = served.request;
            if has_rate(&plan, request.kind) {
                prop_assert!(request.intended < end(&plan));
                // Requests that were due in the ramp and not issued are dropped at its end.
                let ramp_end = START + plan.ramp_ns;
                prop_assert!(served.start < ramp_end || request.intended >= ramp_end);
            } else if !plan.is_scheduled() {
                let syncs = request.kind.direction() == Direction::Sync;
                prop_assert!(request.intended <= served.start && served.start < end(&plan));
                prop_assert!(syncs || request.intended == served.start);
            }
        }
    }

    #[test]
    fn a_sync_is_wanted_since_the_first_write_that_it_makes_last(plan in plans(), seed: u64) {
        let trace = run(&plan, World::random(seed, 300_000, 0));
        let mut first_unsynced = None::<Nanos>;
        for served in &trace.served {
            let request = served.request;
            match request.kind.direction() {
                Direction::Write => {
                    first_unsynced = Some(first_unsynced.map_or(request.intended, |first| first.min(request.intended)));
                }
                Direction::Sync => {
                    prop_assert_eq!(Some(request.intended), first_unsynced.take());
                    // A sync is due only when it is drawn, so it did not wait for the generator or a slot before.
                    prop_assert!(request.ready >= request.intended && request.ready <= served.start);
                }
                Direction::Read | Direction::Trim => {}
            }
        }
    }

    #[test]
    fn a_worker_in_time_is_never_late_and_issues_nothing_after_its_end(plan in plans(), seed: u64) {
        let trace = run(&plan, World::random(seed, 300_000, 0));
        for served in &trace.served {
            prop_assert!(served.start < end(&plan), "{:?}", served);
            prop_assert_eq!(served.lateness(), 0, "{:?}", served);
        }
    }

    #[test]
    fn after_a_stop_nothing_is_issued(plan in plans(), seed: u64, after in 0u64..3_000_000) {
        let stop = START + after;
        let trace = run(&plan, World { stop: Some(stop), ..World::random(seed, 300_000, 2_000_000) });
        prop_assert!(trace.served.iter().all(|served| served.start < stop));
    }

    #[test]
    fn errors_end_a_worker_unless_they_are_forgiven(
        plan in plans(), seed: u64, nth in 1usize..200, forgiven: (bool, bool),
    ) {
        let plan = WorkerPlan {
            continue_on_read_error: forgiven.0, continue_on_write_error: forgiven.1, ..plan
        };
        let mut count = 0;
        let mut failed = None;
        let world = World {
            result: Box::new(|request| {
                count += 1;
                if count != nth {
                    return Ok(request.length_bytes);
                }
                failed = Some((request.kind, request.slot));
                Err(Errno(5))
            }),
            ..World::random(seed, 300_000, 1_000_000)
        };
        let trace = run(&plan, world);
        let Some((kind, _)) = failed else { return Ok(()) };
        let goes_on = if kind == Kind::Read { forgiven.0 } else { forgiven.1 };
        prop_assert_eq!(trace.worker.failed(), (!goes_on).then_some(Errno(5)));
        if !goes_on {
            // Completions are in order of `done`, so the failure is seen before anything later is issued.
            let mut seen: Vec<_> = trace.served.iter().map(|served| served.done).collect();
            seen.sort_unstable();
            prop_assert!(trace.served.iter().all(|served| served.start <= seen[nth - 1]));
            prop_assert!(trace.served.len() < nth + plan.iodepth as usize);
        } else {
            let unfailed = run(&plan, World::random(seed, 300_000, 1_000_000));
            // A failed request does not count toward the next pause. It then comes later, and the runtime may end before.
            if plan.thinktime_ns == 0 || plan.runtime_ns == 0 {
                prop_assert_eq!(unfailed.served.len(), trace.served.len());
            }
        }
    }
}
