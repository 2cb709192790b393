//! The ranges that a worker syncs.

use proptest::prelude::*;

use super::sim::{World, run};
use crate::plan::{Rw, WorkerPlan};
use crate::request::{Completion, Errno, Kind, TO_THE_END, Want};
use crate::testing::{file, plan, range_syncs};
use crate::worker::Worker;

fn syncing(every: u64, iodepth: u32) -> WorkerPlan {
    let mut plan = plan(Rw::Randwrite);
    plan.files = vec![file(64), file(64), file(64)];
    plan.pattern.sync_file_range = range_syncs(every);
    WorkerPlan {
        iodepth,
        iodepth_low: iodepth,
        number_ios: 200,
        time_based: false,
        ..plan
    }
}

proptest! {
    #[test]
    fn a_range_covers_what_returned_since_the_last_sync_of_its_file(
        every in 1u64..9,
        fdatasync_every in 0u64..9,
        iodepth in 1u32..9,
        failing in 0u64..5,
        seed: u64,
    ) {
        let mut plan = syncing(every, iodepth);
        plan.pattern.fdatasync_every = fdatasync_every;
        plan.continue_on_write_error = true;
        let fails = |offset: u64| (offset >> 12) % 5 < failing;
        let mut world = World::random(seed, 100_000, 0);
        world.result = Box::new(|request| match request.kind {
            Kind::Write if fails(request.offset_bytes) => Err(Errno(5)),
            _ => Ok(request.length_bytes),
        });
        let served = run(&plan, world).served;
        let mut ranges = 0;
        for (at, sync) in served.iter().enumerate().filter(|(_, served)| served.request.kind == Kind::RangeSync) {
            ranges += 1;
            let target = sync.request.target;
            let same_file = || served[..at].iter().filter(|other| other.request.target == target);
            let last_sync = same_file().filter(|other| other.request.kind.is_sync()).map(|other| other.start).max();
            let (mut from, mut to) = (u64::MAX, 0);
            for write in same_file().filter(|other| other.request.kind == Kind::Write) {
                let offset = write.request.offset_bytes;
                let returned = write.done <= sync.start && last_sync.is_none_or(|last| write.done > last);
                if returned && !fails(offset) {
                    (from, to) = (from.min(offset), to.max(offset + u64::from(write.request.length_bytes)));
                }
            }
            let expected = if to == 0 { (0, 0) } else { (from, (to - from) as u32) };
            prop_assert_eq!((sync.request.offset_bytes, sync.request.length_bytes), expected);
        }
        // A data sync that is due at the same time comes instead.
        let hidden = fdatasync_every > 0 && every.is_multiple_of(fdatasync_every);
        prop_assert_eq!(ranges == 0, hidden);
    }
}

#[test]
fn a_range_beyond_32_bits_goes_on_to_the_end_of_the_file() {
    let mut plan = syncing(2, 1);
    plan.files = vec![file(4 << 20)];
    plan.pattern.rw = Rw::Write;
    plan.pattern.sequence = (8 << 30) - 4096;
    plan.number_ios = 0;
    let mut worker = Worker::new(&plan).expect("the file has room");
    worker.begin(0, 0, 0);
    let mut requests = Vec::new();
    for now in 0..3 {
        let Want::Issue(slot) = worker.next(now) else {
            panic!("nothing is in flight");
        };
        let request = *worker.request(slot);
        requests.push(request);
        worker.complete(&Completion {
            slot,
            start: now,
            issued: None,
            done: now,
            result: Ok(request.length_bytes),
        });
    }
    assert_eq!(requests[1].offset_bytes, 8 << 30);
    let sync = requests[2];
    assert_eq!(
        (sync.kind, sync.offset_bytes, sync.length_bytes),
        (Kind::RangeSync, 0, TO_THE_END)
    );
}
