//! A limit of latency, on a target that serves one request at a time: at depth 4 a request takes four times as long as
//! at depth 1.

use super::sim::{START, World, run};
use crate::plan::{LatencyTargetPlan, Rw, WorkerPlan};
use crate::request::{Completion, Direction, Kind, Want};
use crate::testing::plan;
use crate::time::{MICROSECOND, MILLISECOND, Nanos};
use crate::worker::{Exceeded, Worker};

const SERVICE: Nanos = 10 * MICROSECOND;

fn limited(rw: Rw, read: Nanos, write: Nanos) -> WorkerPlan {
    let mut plan = WorkerPlan {
        iodepth: 4,
        iodepth_low: 4,
        time_based: true,
        runtime_ns: 10 * MILLISECOND,
        ..plan(rw)
    };
    (plan.max_latency_ns.read, plan.max_latency_ns.write) = (read, write);
    plan
}

fn one_at_a_time() -> World<'static> {
    World {
        servers: 1,
        ..World::fast(SERVICE)
    }
}

#[test]
fn the_first_request_above_the_limit_ends_the_job() {
    let limit = 3 * SERVICE + SERVICE / 2;
    let trace = run(&limited(Rw::Randread, limit, 0), one_at_a_time());
    let exceeded = Exceeded {
        direction: Direction::Read,
        took: 4 * SERVICE,
        limit,
    };
    assert_eq!(trace.worker.exceeded(), Some(exceeded));
    // The fourth request is the first that waits for three others; three more were issued meanwhile.
    assert_eq!(trace.served.len(), 7);
}

#[test]
fn a_limit_is_that_of_its_direction_and_may_be_reached() {
    for plan in [
        limited(Rw::Randread, 0, SERVICE),
        limited(Rw::Randwrite, SERVICE, 0),
        limited(Rw::Randread, 4 * SERVICE, 0),
    ] {
        let trace = run(&plan, one_at_a_time());
        assert_eq!(trace.worker.exceeded(), None);
        assert!(trace.end >= START + plan.runtime_ns);
    }
    let trace = run(&limited(Rw::Randwrite, 0, SERVICE), one_at_a_time());
    let exceeded = trace.worker.exceeded().expect("writes are limited");
    assert_eq!(exceeded.direction, Direction::Write);
}

#[test]
fn no_files_are_synced_after_it() {
    for (limit, syncs) in [(SERVICE, 0), (2 * SERVICE, 1)] {
        let mut plan = limited(Rw::Randwrite, 0, limit);
        (plan.pattern.sync_at_end, plan.time_based) = (true, false);
        (plan.number_ios, plan.runtime_ns) = (3, 0);
        let mut worker = Worker::new(&plan).unwrap();
        worker.begin(START, 0, 0);
        let (mut now, mut synced) = (START, 0);
        while let Want::Issue(slot) = worker.next(now) {
            synced += usize::from(worker.request(slot).kind == Kind::Sync);
            worker.complete(&Completion {
                slot,
                start: now,
                issued: Some(now),
                done: now + 2 * SERVICE,
                result: Ok(4096),
            });
            now += 2 * SERVICE;
        }
        assert_eq!(synced, syncs);
    }
}

#[test]
fn a_search_for_a_depth_ends_at_it() {
    let mut plan = limited(Rw::Randread, 2 * SERVICE, 0);
    plan.latency_target = Some(LatencyTargetPlan {
        limit_ns: MILLISECOND,
        window_ns: MILLISECOND,
        percent: 100.0,
        keeps_adjusting: false,
    });
    let trace = run(&plan, one_at_a_time());
    assert!(trace.worker.exceeded().is_some());
    assert!(trace.worker.took_too_long() && !trace.worker.is_hopeless());
}

#[test]
fn requests_of_the_ramp_are_not_judged() {
    let plan = WorkerPlan {
        ramp_ns: MILLISECOND,
        ..limited(Rw::Randread, SERVICE, 0)
    };
    let trace = run(&plan, one_at_a_time());
    assert!(trace.worker.exceeded().is_some());
    assert!(trace.end >= START + MILLISECOND && trace.end < START + 2 * MILLISECOND);
}
