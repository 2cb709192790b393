//! How full the queue is kept. The simulation checks that it never exceeds iodepth and is refilled only once drained.

use proptest::prelude::*;

use super::invariants::plans;
use super::sim::{World, run};
use crate::plan::{Rw, WorkerPlan};
use crate::testing::plan;
use crate::worker::Worker;
use crate::{Completion, Want};

/// Takes requests from a worker until it waits. Returns the slots it used and how many completions it waits for.
fn fill(worker: &mut Worker, now: u64) -> (Vec<u32>, u32) {
    let mut slots = Vec::new();
    loop {
        match worker.next(now) {
            Want::Issue(slot) => slots.push(slot),
            Want::Wait {
                completions,
                until: None,
            } => return (slots, completions),
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn a_full_queue_is_drained_as_far_as_the_job_says(
        (iodepth, iodepth_low, complete_min) in (1u32..64).prop_flat_map(|depth| (Just(depth), 1..=depth, 0..=depth)),
    ) {
        let mut worker = Worker::new(&WorkerPlan { iodepth, iodepth_low, complete_min, ..plan(Rw::Randread) }).unwrap();
        worker.begin(0, 0, 0);
        let (slots, waits_for) = fill(&mut worker, 0);
        prop_assert_eq!(slots.len() as u32, iodepth);
        prop_assert_eq!(waits_for, complete_min.max(1));
        let drained = (iodepth - iodepth_low).max(complete_min).max(1);
        for (done, &slot) in slots[..drained as usize].iter().enumerate() {
            // A driver that wakes for each completion gets no request before all have come, either.
            let still = Want::Wait { completions: waits_for.min(drained - done as u32), until: None };
            prop_assert_eq!(worker.next(0), still);
            worker.complete(&Completion { slot, start: 0, issued: None, done: 0, result: Ok(4096) });
        }
        let (refilled, again) = fill(&mut worker, 0);
        prop_assert_eq!((refilled.len() as u32, again), (drained, waits_for));
        prop_assert_eq!(worker.requests_in_flight().count() as u32, iodepth);
    }

    /// A wait for several completions sees the first of them late, so a worker waits for one unless the job sets
    /// iodepth_batch_complete_min.
    #[test]
    fn completions_are_seen_as_they_come(plan in plans(), service in 1u64..200_000) {
        let plan = WorkerPlan { complete_min: plan.complete_min.min(1), ..plan };
        let trace = run(&plan, World::fast(service));
        prop_assert!(trace.served.iter().all(|served| served.lat() == service));
    }

    #[test]
    fn slots_that_were_free_longest_are_taken_first(seed: u64, iodepth in 1u32..64) {
        let trace = run(
            &WorkerPlan { iodepth, number_ios: 1009, time_based: false, ..plan(Rw::Randread) },
            World::random(seed, 100_000, 10_000),
        );
        let mut freed = vec![0; iodepth as usize];
        for (at, served) in trace.served.iter().enumerate() {
            let before = &trace.served[..at];
            let busy = |slot| before.iter().any(|other| other.request.slot == slot && other.done > served.start);
            let longest = (0..iodepth).filter(|&slot| !busy(slot)).map(|slot| freed[slot as usize]).min();
            prop_assert_eq!(freed[served.request.slot as usize], longest.unwrap());
            freed[served.request.slot as usize] = served.done;
        }
    }
}
