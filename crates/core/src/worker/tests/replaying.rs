//! Replayed traces: which requests are issued, and when.

use proptest::prelude::*;

use super::sim::{START, Served, Trace, World, drive};
use crate::plan::{Pacing, ReplayPlan, Rw, WorkerPlan};
use crate::replay::{Fed, Feed, NEVER, Row};
use crate::request::{Direction, Kind};
use crate::testing::plan;
use crate::time::{MILLISECOND, Nanos};
use crate::worker::Worker;

const MICROSECOND: Nanos = 1_000;

/// Chunks of rows in memory; the first look at every chunk says that it is not ready, if rows are `late`.
#[derive(Debug)]
struct Chunks {
    chunks: std::vec::IntoIter<Vec<Row>>,
    late: bool,
    refused: bool,
}

impl Feed for Chunks {
    fn exchange(&mut self, chunk: &mut Vec<Row>) -> Fed {
        if self.late && !std::mem::replace(&mut self.refused, true) {
            return Fed::NotYet;
        }
        self.refused = false;
        match self.chunks.next() {
            Some(next) => *chunk = next,
            None => return Fed::End,
        }
        Fed::Chunk
    }
}

/// A request of a trace: when it arrived, and how long it took.
type Traced = (Nanos, Nanos);

/// The requests of a trace that had completed before request `index` was issued.
fn waited_for(trace: &[Traced], index: usize) -> impl Iterator<Item = usize> {
    let issued = trace[index].0;
    (0..index).filter(move |&other| trace[other].0 + trace[other].1 <= issued)
}

/// The rows of a trace, each with an offset of its own.
fn rows(trace: &[Traced], pacing: Pacing) -> Vec<Row> {
    let needed_after = |request: usize| {
        let waits = (request + 1..trace.len())
            .find(|&later| waited_for(trace, later).any(|other| other == request));
        waits.map_or(NEVER, |later| (later - request) as u32)
    };
    let mut rows: Vec<Row> = (0..trace.len())
        .map(|index| {
            let completions = waited_for(trace, index).map(|other| trace[other].0 + trace[other].1);
            Row {
                due_ns: match pacing {
                    Pacing::Think => trace[index].0 - completions.max().unwrap_or(0),
                    _ => trace[index].0,
                },
                offset_bytes: index as u64 * 4096,
                length_bytes: 512 * (1 + index as u32 % 8),
                needed_after: needed_after(index),
                kind: (index % 2) as u8,
                ..Row::default()
            }
        })
        .collect();
    for index in 0..rows.len() {
        if rows[index].needed_after != NEVER {
            let first = index + rows[index].needed_after as usize;
            rows[first].waits = 1;
        }
    }
    rows
}

fn replaying(pacing: Pacing, iodepth: u32, trace: &[Traced]) -> WorkerPlan {
    let in_flight = |index: usize| 1 + index - waited_for(trace, index).count();
    let depth = (0..trace.len()).map(in_flight).max().unwrap_or(0);
    WorkerPlan {
        replay: Some(ReplayPlan {
            fd: -1,
            rows: trace.len() as u64,
            pacing,
            trace_depth: depth as u32,
            directions: vec![Direction::Read, Direction::Write],
        }),
        iodepth,
        iodepth_low: iodepth,
        ..plan(Rw::Readwrite)
    }
}

fn replay(plan: &WorkerPlan, trace: &[Traced], late: bool, world: World<'_>) -> Trace {
    let pacing = plan.replay.as_ref().unwrap().pacing;
    let chunks: Vec<Vec<Row>> = rows(trace, pacing).chunks(7).map(<[Row]>::to_vec).collect();
    let feed = Box::new(Chunks {
        chunks: chunks.into_iter(),
        late,
        refused: false,
    });
    drive(Worker::with_feed(plan, Some(feed)).unwrap(), plan, world)
}

/// Checks that every request of the trace was issued, in its order, as it is in the trace.
fn assert_same_requests(played: &Trace, trace: &[Traced]) {
    let expected = rows(trace, Pacing::Timed);
    assert_eq!(played.served.len(), trace.len());
    for (served, row) in played.served.iter().zip(&expected) {
        let request = served.request;
        assert_eq!(request.offset_bytes, row.offset_bytes);
        assert_eq!(request.length_bytes, row.length_bytes);
        assert_eq!(request.kind == Kind::Write, row.kind == 1);
    }
}

/// When the last request completed in the replay that the trace's request `index` waits for.
fn base(served: &[Served], trace: &[Traced], index: usize) -> Nanos {
    let completions = waited_for(trace, index).map(|other| served[other].done);
    completions.max().unwrap_or(START)
}

fn traces() -> impl Strategy<Value = Vec<Traced>> {
    let request = (0..40 * MICROSECOND, 0..200 * MICROSECOND);
    proptest::collection::vec(request, 1..60).prop_map(|steps| {
        let mut now = 0;
        let arrive = |(gap, latency)| {
            now += gap;
            (now, latency)
        };
        steps.into_iter().map(arrive).collect()
    })
}

proptest! {
    /// Open loop: the intended instants are the trace's, however late the thread and however slow the target.
    #[test]
    fn timed_requests_keep_the_instants_of_the_trace(
        trace in traces(), seed: u64, iodepth in 1u32..20, late: bool,
    ) {
        let plan = replaying(Pacing::Timed, iodepth, &trace);
        let world = World::random(seed, 300 * MICROSECOND, 30 * MICROSECOND);
        let played = replay(&plan, &trace, late, world);
        assert_same_requests(&played, &trace);
        for (served, &(time, _)) in played.served.iter().zip(&trace) {
            prop_assert_eq!(served.request.intended, START + time);
            prop_assert!(served.start >= served.request.intended);
        }
    }

    /// A request is issued when all have completed that had completed before it in the trace, and a gap later.
    #[test]
    fn waiting_requests_follow_those_they_waited_for(
        trace in traces(), seed: u64, think: bool, late: bool,
    ) {
        let pacing = if think { Pacing::Think } else { Pacing::Dependent };
        let plan = replaying(pacing, 64, &trace);
        let world = World::random(seed, 300 * MICROSECOND, 30 * MICROSECOND);
        let played = replay(&plan, &trace, late, world);
        assert_same_requests(&played, &trace);
        let gaps = rows(&trace, pacing);
        for (index, served) in played.served.iter().enumerate() {
            let gap = if think { gaps[index].due_ns } else { 0 };
            let due = base(&played.served, &trace, index) + gap;
            prop_assert_eq!(served.request.intended, due);
            prop_assert!(served.start >= due);
        }
    }

    /// On a target that is as fast as the trace's, think time gives the trace's own instants.
    #[test]
    fn think_time_on_the_same_target_gives_the_same_instants(trace in traces()) {
        let plan = replaying(Pacing::Think, 64, &trace);
        let mut latencies = trace.iter().map(|&(_, latency)| latency);
        let mut world = World::fast(0);
        world.service = Box::new(move |_, _| latencies.next().unwrap());
        let played = replay(&plan, &trace, false, world);
        for (served, &(time, _)) in played.served.iter().zip(&trace) {
            prop_assert_eq!(served.start, START + time);
        }
    }

    /// Closed loop: as many requests are in flight as the depth allows, and none is late.
    #[test]
    fn closed_requests_fill_the_depth(trace in traces(), iodepth in 1u32..20) {
        let plan = replaying(Pacing::Closed, iodepth, &trace);
        let played = replay(&plan, &trace, false, World::fast(MILLISECOND));
        assert_same_requests(&played, &trace);
        for (index, served) in played.served.iter().enumerate() {
            let round = index as u64 / u64::from(iodepth);
            prop_assert_eq!(served.start, START + round * MILLISECOND);
            prop_assert_eq!(served.lateness(), 0);
        }
    }
}

#[test]
fn the_runtime_cuts_a_trace_and_the_rest_is_overdue_only_if_it_was_due() {
    let trace: Vec<Traced> = (0..7).map(|index| (index * MILLISECOND, 1)).collect();
    let plan = WorkerPlan {
        runtime_ns: 3 * MILLISECOND,
        ..replaying(Pacing::Timed, 4, &trace)
    };
    let played = replay(&plan, &trace, false, World::fast(1));
    assert_eq!(played.served.len(), 3);
    assert_eq!(played.worker.overdue(u64::MAX), 0);
    // One slot, and a target that takes longer than the trace: two of three due requests are not issued.
    let plan = WorkerPlan {
        iodepth: 1,
        iodepth_low: 1,
        ..plan
    };
    let played = replay(&plan, &trace, false, World::fast(10 * MILLISECOND));
    assert_eq!(played.served.len(), 1);
    assert_eq!(played.worker.overdue(u64::MAX), 2);
}

#[test]
fn a_limit_of_requests_ends_a_trace() {
    let trace: Vec<Traced> = (0..20).map(|index| (index, 1)).collect();
    let plan = WorkerPlan {
        number_ios: 5,
        ..replaying(Pacing::Timed, 4, &trace)
    };
    assert_eq!(replay(&plan, &trace, false, World::fast(1)).served.len(), 5);
}
