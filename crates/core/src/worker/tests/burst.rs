//! A batch holds the same requests as repeated calls of `next`.

use proptest::prelude::*;

use super::invariants::plans;
use crate::plan::{Rw, WorkerPlan};
use crate::request::{Completion, Request, Want};
use crate::testing::plan;
use crate::time::Nanos;
use crate::worker::Worker;

/// Fills the same batch by [`Worker::next`].
fn fill_one_by_one(
    worker: &mut Worker,
    now: Nanos,
    limit: usize,
    batch: &mut Vec<Request>,
) -> Option<Want> {
    while batch.len() < limit || worker.slots.full() {
        match worker.next(now) {
            Want::Issue(slot) => batch.push(*worker.request(slot)),
            want => return Some(want),
        }
    }
    None
}

fn completion(request: &Request, done: Nanos) -> Completion {
    Completion {
        slot: request.slot,
        start: request.ready,
        issued: None,
        done,
        result: Ok(request.length_bytes),
    }
}

/// Drives two workers in the same way, in batches of `limit`. `picks` decides the order of completions.
fn compare(plan: &WorkerPlan, limit: usize, picks: &[u8]) {
    let mut workers = [Worker::new(plan).unwrap(), Worker::new(plan).unwrap()];
    for worker in &mut workers {
        worker.begin(0, plan.ramp_ns, plan.runtime_ns);
    }
    let [at_once, one_by_one] = &mut workers;
    let mut in_flight: Vec<Request> = Vec::new();
    let mut now = 0;
    for &pick in picks {
        let (mut batch, mut expected) = (Vec::new(), Vec::new());
        let want = at_once.fill(now, limit, |request| batch.push(*request));
        assert_eq!(want, fill_one_by_one(one_by_one, now, limit, &mut expected));
        assert_eq!(batch, expected);
        in_flight.append(&mut batch);
        now += 1 + Nanos::from(pick) * 1000;
        for _ in 0..usize::from(pick).min(in_flight.len()) {
            let request = in_flight.swap_remove(usize::from(pick) % in_flight.len());
            let done = completion(&request, now);
            at_once.complete(&done);
            one_by_one.complete(&done);
        }
    }
}

proptest! {
    #[test]
    fn a_batch_equals_single_calls_of_next(
        plan in plans(),
        limit in 1usize..40,
        picks in prop::collection::vec(any::<u8>(), 1..100),
    ) {
        compare(&plan, limit, &picks);
    }

    /// Plans that take the fast path.
    #[test]
    fn a_burst_equals_single_calls_of_next(
        rw in prop::sample::select(vec![Rw::Randread, Rw::Randwrite, Rw::Randtrim]),
        (iodepth, iodepth_low) in (1u32..64).prop_flat_map(|depth| (Just(depth), 1..=depth)),
        (ramp_ns, runtime_ns) in (0u64..100_000, 1_000u64..2_000_000),
        (time_based, number_ios, io_blocks) in (any::<bool>(), 0u64..200, 0u64..200),
        limit in 1usize..80,
        picks in prop::collection::vec(any::<u8>(), 1..100),
    ) {
        let plan = WorkerPlan {
            iodepth,
            iodepth_low,
            ramp_ns,
            runtime_ns,
            time_based,
            number_ios,
            io_bytes: io_blocks * 4096,
            ..plan(rw)
        };
        prop_assert!(Worker::new(&plan).unwrap().is_uniform);
        compare(&plan, limit, &picks);
    }
}
