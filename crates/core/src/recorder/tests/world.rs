//! Drives a recorder: completions in order of their `done`, gaps, and handovers that sometimes find no empty slice.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;

use crate::recorder::{Counts, Cutter, Exact, Handover, Latency, Recorder, Slice, Span};
use crate::request::{Completion, Direction, Errno, Kind, Request};
use crate::time::Nanos;

/// A histogram's used buckets with their counts, and its exact figures.
pub(super) type Counted = (Vec<(usize, u64)>, Exact);

/// What a slice held, without the memory of one.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) span: Span,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) sides: [(Counts, [Counted; Latency::COUNT]); Direction::COUNT],
}

impl Taken {
    pub(super) fn from(slice: &Slice) -> Self {
        let sides = slice.sides.each_ref().map(|side| {
            let side = side.as_ref().unwrap();
            let histograms = side.histograms.each_ref().map(|histogram| {
                let histogram = histogram.as_ref().unwrap();
                (histogram.nonzero().collect(), *histogram.exact())
            });
            (side.counts, histograms)
        });
        Self {
            span: slice.span,
            start: slice.start,
            end: slice.end,
            sides,
        }
    }

    pub(super) fn ios(&self) -> u64 {
        self.sides.iter().map(|(counts, _)| counts.ios).sum()
    }
}

/// Slices handed over, and whether the next handover finds an empty one.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) taken: Rc<RefCell<Vec<Taken>>>,
    pub(super) refuse: Rc<RefCell<u32>>,
}

impl Handover for Shelf {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        let mut refuse = self.refuse.borrow_mut();
        if *refuse > 0 {
            *refuse -= 1;
            return false;
        }
        self.taken.borrow_mut().push(Taken::from(slice));
        slice.clear();
        true
    }
}

/// One event.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// `count` completions that share their stamps, `after` the event before.
    Done {
        after: Nanos,
        parts: [Nanos; 4],
        kind: Kind,
        result: Result<u32, Errno>,
        times: u32,
        stamped: bool,
    },
    /// Nothing completes, and the loop looks.
    Look { after: Nanos },
    /// The next handovers find no empty slice.
    Refuse(u32),
}

const KINDS: [Kind; 6] = [
    Kind::Read,
    Kind::Write,
    Kind::Trim,
    Kind::Sync,
    Kind::DataSync,
    Kind::RangeSync,
];

fn moments() -> impl Strategy<Value = Nanos> {
    prop_oneof![4 => 0u64..1_000, 4 => 0u64..1_000_000, 1 => 0u64..100_000_000, 1 => 0u64..5_000_000_000]
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let result = prop_oneof![
        6 => Just(Ok(4096)), 1 => (0u32..4096).prop_map(Ok), 1 => (1i32..15).prop_map(|errno| Err(Errno(errno))),
    ];
    let done = (
        moments(),
        [moments(), moments(), moments(), moments()],
        prop::sample::select(&KINDS[..]),
        result,
        1u32..40,
        any::<bool>(),
    );
    let event = prop_oneof![
        12 => done.prop_map(|(after, parts, kind, result, times, stamped)| Event::Done {
            after, parts, kind, result, times, stamped,
        }),
        2 => moments().prop_map(|after| Event::Look { after }),
        1 => (1u32..4).prop_map(Event::Refuse),
    ];
    prop::collection::vec(event, 1..120)
}

prop_compose! {
    /// Cutters as in a run: the ramp may end within a slice.
    pub(super) fn cutters()(
        interval in prop_oneof![1_000_000u64..50_000_000, 50_000_000u64..2_000_000_000],
        ramp_end in prop_oneof![Just(0), 1u64..3_000_000_000],
    ) -> Cutter {
        Cutter { interval, ramp_end }
    }
}

pub(super) const STAGE_START: Nanos = 10_000_000_019;

/// Creates a recorder of all latencies, at its beginning.
pub(super) fn recorder(cutter: Cutter, began: Nanos) -> (Recorder<Shelf>, Shelf) {
    let shelf = Shelf::default();
    let mut recorder = Recorder::new(
        Box::new(Slice::new([Some([true; Latency::COUNT]); 4])),
        shelf.clone(),
    );
    recorder.begin(cutter, STAGE_START, STAGE_START + began);
    (recorder, shelf)
}

/// Creates a request that was done at `done` and has these parts (queued, late, submission, service), cut off at
/// `began`.
pub(super) fn finished(
    began: Nanos,
    done: Nanos,
    parts: [Nanos; 4],
    kind: Kind,
    stamped: bool,
) -> (Request, Completion) {
    let back = |from: Nanos, part: Nanos| from.saturating_sub(part).max(began);
    let issued = back(done, parts[3]);
    let start = back(issued, parts[2]);
    let ready = back(start, parts[1]);
    let intended = back(ready, parts[0]);
    let request = Request {
        slot: 0,
        target: 0,
        kind,
        offset_bytes: 0,
        length_bytes: 4096,
        intended,
        ready,
        check: Default::default(),
        priority: 0,
    };
    (
        request,
        Completion {
            slot: 0,
            start,
            issued: stamped.then_some(issued),
            done,
            result: Ok(4096),
        },
    )
}
