//! Compares slices with a recorder that keeps every completion and sorts them by time afterwards.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::world::{Counted, Event, STAGE_START, Taken, cutters, events, finished, recorder};
use crate::recorder::histogram::bucket_of;
use crate::recorder::{Counts, Cutter, Exact, LATE, Latency, Span};
use crate::request::{Completion, Direction, Kind, Request};
use crate::time::Nanos;

/// Computes the latency of one request by docs/latency.md. Without a stamp there is no slat, and clat is lat.
fn latency(latency: Latency, request: &Request, completion: &Completion) -> Nanos {
    let issued = completion.issued;
    match latency {
        Latency::Lat => completion.done - completion.start,
        Latency::Clat => completion.done - issued.unwrap_or(completion.start),
        Latency::Slat => issued.map_or(0, |issued| issued - completion.start),
        Latency::Response => completion.done - request.intended,
        Latency::Queued => request.ready - request.intended,
        Latency::Lateness => completion.start - request.ready,
    }
}

/// Computes what one direction of a slice should hold, each value counted separately.
fn expected<'a>(
    kept: impl Iterator<Item = &'a (Request, Completion)>,
) -> (Counts, [Counted; Latency::COUNT]) {
    let mut counts = Counts::default();
    let mut values: [Vec<Nanos>; Latency::COUNT] = Default::default();
    for (request, completion) in kept {
        match completion.result {
            Err(errno) => counts.error(errno, 1),
            Ok(bytes) => {
                counts.ios += 1;
                counts.bytes += u64::from(bytes);
                counts.short += u64::from(bytes < 4096);
                counts.late += u64::from(completion.start - request.ready > LATE);
                for (values, of) in values.iter_mut().zip(Latency::ALL) {
                    values.push(latency(of, request, completion));
                }
            }
        }
    }
    let counted = values.map(|values| {
        let mut buckets = BTreeMap::new();
        values
            .iter()
            .for_each(|&value| *buckets.entry(bucket_of(value)).or_insert(0) += 1);
        let exact = Exact {
            count: values.len() as u64,
            sum_ns: values.iter().sum(),
            min_ns: values.iter().copied().min().unwrap_or(Nanos::MAX),
            max_ns: values.iter().copied().max().unwrap_or(0),
        };
        (buckets.into_iter().collect(), exact)
    });
    (counts, counted)
}

/// The slices that a recorder handed over, and everything that completed.
struct Recorded {
    slices: Vec<Taken>,
    refused: u64,
    refusals: u64,
    kept: Vec<(Request, Completion)>,
    end: Nanos,
}

fn record(cutter: Cutter, began: Nanos, events: &[Event]) -> Recorded {
    let (mut recorder, shelf) = recorder(cutter, began);
    let mut now = STAGE_START + began;
    let (mut kept, mut refusals) = (Vec::new(), 0);
    for event in events {
        match *event {
            Event::Refuse(times) => {
                *shelf.refuse.borrow_mut() += times;
                refusals += u64::from(times);
            }
            Event::Look { after } => {
                now += after;
                recorder.advance(now);
            }
            Event::Done {
                after,
                parts,
                kind,
                result,
                times,
                stamped,
            } => {
                now += after;
                let (request, completion) = finished(STAGE_START, now, parts, kind, stamped);
                let completion = Completion {
                    result,
                    ..completion
                };
                for _ in 0..times {
                    recorder.record(&request, &completion);
                    kept.push((request, completion));
                }
            }
        }
    }
    let last = Taken::from(recorder.close(now));
    let mut slices = shelf.taken.take();
    slices.push(last);
    refusals -= u64::from(*shelf.refuse.borrow());
    Recorded {
        slices,
        refused: recorder.late_handovers(),
        refusals,
        kept,
        end: now - STAGE_START,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn slices_hold_the_requests_that_completed_in_them(
        cutter in cutters(), began in 0u64..3_000_000_000, events in events(),
    ) {
        let recorded = record(cutter, began, &events);
        prop_assert_eq!(recorded.refused, recorded.refusals, "every refusal is counted");
        let mut reached = began;
        let mut held = 0;
        for slice in &recorded.slices {
            // Slices are in order, and the time between two slices has no completions. The span of a slice holds its
            // start.
            prop_assert!(reached <= slice.start && slice.start <= slice.end);
            let (span, start, end) = cutter.slice_at(slice.start);
            prop_assert_eq!(slice.span, span);
            prop_assert!(slice.start == start || slice.start == began);
            prop_assert!(slice.end == end || recorded.refused > 0 || slice.end == recorded.end);
            prop_assert!(span.ramp == (slice.start < cutter.ramp_end));
            prop_assert!(!span.ramp || slice.end <= cutter.ramp_end);
            reached = slice.end;
            let last = slice.end == recorded.end;
            let within: Vec<_> = recorded.kept.iter().filter(|(_, completion)| {
                let at = completion.done - STAGE_START;
                slice.start <= at && (at < slice.end || last)
            }).collect();
            held += within.len();
            for (direction, side) in Direction::ALL.iter().zip(&slice.sides) {
                let of = within.iter().copied().filter(|(request, _)| request.kind.direction() == *direction);
                prop_assert_eq!(side, &expected(of));
            }
        }
        // Nothing is lost, except slices of the ramp that could not be handed over when it ended.
        let measured = |at: Nanos| at - STAGE_START >= cutter.ramp_end;
        let in_ramp = recorded.kept.iter().filter(|(_, completion)| !measured(completion.done)).count();
        let may_be_lost = if recorded.refused > 0 { in_ramp } else { 0 };
        prop_assert!(held <= recorded.kept.len(), "nothing is counted twice");
        prop_assert!(recorded.kept.len() - held <= may_be_lost);
    }
}

/// A write and a read with equal stamps are counted apart.
#[test]
fn completions_with_equal_stamps_are_counted_by_direction() {
    let one = |kind| Event::Done {
        after: 0,
        parts: [5; 4],
        kind,
        result: Ok(4096),
        times: 3,
        stamped: true,
    };
    let recorded = record(
        Cutter {
            interval: 1_000,
            ramp_end: 0,
        },
        500,
        &[one(Kind::Write), one(Kind::Read)],
    );
    let counts = |direction: usize| {
        recorded.slices[0].sides[direction]
            .1
            .each_ref()
            .map(|counted| counted.1.count)
    };
    assert_eq!((counts(0), counts(1), counts(2)), ([3; 6], [3; 6], [0; 6]));
}

#[test]
fn a_slice_that_nobody_takes_continues() {
    let cutter = Cutter {
        interval: 1_000_000,
        ramp_end: 0,
    };
    let one = |after| Event::Done {
        after,
        parts: [0; 4],
        kind: Kind::Read,
        result: Ok(4096),
        times: 1,
        stamped: false,
    };
    let recorded = record(
        cutter,
        0,
        &[
            one(10),
            Event::Refuse(2),
            one(1_000_000),
            one(1_000_000),
            one(1_000_000),
        ],
    );
    let seen: Vec<_> = recorded
        .slices
        .iter()
        .map(|slice| (slice.span.index, slice.start, slice.end, slice.ios()))
        .collect();
    assert_eq!(seen, [(0, 0, 3_000_000, 3), (3, 3_000_000, 3_000_010, 1)]);
    assert_eq!(recorded.refused, 2);
}

#[test]
fn the_end_of_the_ramp_does_not_discard_measurements() {
    let cutter = Cutter {
        interval: 1_000_000,
        ramp_end: 1_500_000,
    };
    let one = |after| Event::Done {
        after,
        parts: [0; 4],
        kind: Kind::Read,
        result: Ok(4096),
        times: 1,
        stamped: false,
    };
    let recorded = record(cutter, 0, &[one(1_200_000), Event::Refuse(1), one(400_000)]);
    let seen: Vec<_> = recorded
        .slices
        .iter()
        .map(|slice| (slice.span, slice.start, slice.end, slice.ios()))
        .collect();
    let span = |index, ramp| Span { index, ramp };
    assert_eq!(
        seen,
        [
            (span(0, true), 0, 1_000_000, 0),
            (span(1, false), 1_500_000, 1_600_000, 1)
        ]
    );
}
