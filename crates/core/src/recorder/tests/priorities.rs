//! Latencies by I/O priority.

use std::cell::RefCell;
use std::rc::Rc;

use super::world::{STAGE_START, finished};
use crate::plan::{PriorityPlan, Rw};
use crate::recorder::{Cutter, Handover, Latency, MergedSlice, Recorder, Slice, slice_of};
use crate::request::{Direction, Kind, Request};
use crate::results::priority_tallies;
use crate::testing;
use crate::time::{MILLISECOND, SECOND};

const REAL_TIME: u16 = 1 << 13;
const OWN: u16 = 2 << 13 | 5;

/// Merges the slices after the ramp.
#[derive(Clone, Default)]
struct Measured(Rc<RefCell<MergedSlice>>);

impl Handover for Measured {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        if !slice.span.ramp {
            self.0.borrow_mut().add(slice);
        }
        slice.clear();
        true
    }
}

#[test]
fn each_priority_has_the_latencies_of_its_requests() {
    let mut plan = testing::plan(Rw::Randrw);
    plan.io_priority = Some(OWN);
    plan.priority_latency = Some(Latency::Clat);
    plan.priorities = vec![PriorityPlan {
        direction: Direction::Read,
        length_bytes: 0,
        percent: 50,
        priority: REAL_TIME,
    }];
    let measured = Measured::default();
    let mut recorder = Recorder::new(Box::new(slice_of(&plan, true)), measured.clone());
    let cutter = Cutter {
        interval: SECOND,
        ramp_end: SECOND,
    };
    recorder.begin(cutter, STAGE_START, STAGE_START);
    // Parts: queued, late, submission, service. Two requests of a batch have the same instants.
    for (ms, kind, priority, times) in [
        (500, Kind::Read, REAL_TIME, 1),
        (1500, Kind::Read, REAL_TIME, 2),
        (1500, Kind::Read, 0, 1),
        (1600, Kind::Write, 0, 3),
        (2500, Kind::Read, 0, 1),
    ] {
        let done = STAGE_START + ms * MILLISECOND;
        let (request, completion) =
            finished(STAGE_START, done, [0, 0, 1000, 2000 * times], kind, true);
        for _ in 0..times {
            let request = Request {
                priority,
                ..request
            };
            recorder.record(&request, &completion);
        }
    }
    let last = recorder.close(STAGE_START + 3 * SECOND).clone();
    let mut merged = measured.0.take();
    merged.add(&last);
    let all: Vec<_> = priority_tallies(&merged)
        .iter()
        .map(|tally| {
            (
                tally.direction,
                tally.priority,
                tally.exact.count,
                tally.exact.max_ns,
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            (Direction::Read, REAL_TIME, 2, 4000),
            (Direction::Read, OWN, 2, 2000),
            (Direction::Write, OWN, 3, 6000),
        ],
        "the ramp is left out, and clat has no submission"
    );
}

#[test]
fn a_job_whose_requests_have_one_priority_records_none() {
    let plan = testing::plan(Rw::Randrw);
    assert!(slice_of(&plan, true).priorities.is_empty());
}
