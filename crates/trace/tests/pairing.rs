//! Requests of events: merged, split, overlapping, lost.

use std::collections::BTreeMap;

use iogauge_trace::{Direction, Kind, Pairing, Row, UNKNOWN};
use proptest::prelude::*;

fn event(time_ns: i64, kind: Kind, direction: Direction, offset: i64, size: i64) -> Row {
    Row {
        kind: kind as u8,
        ..Row::request(time_ns, 0, direction, offset, size)
    }
}

fn begin(time_ns: i64, offset: i64, size: i64) -> Row {
    event(time_ns, Kind::Begin, Direction::Read, offset, size)
}

fn end(time_ns: i64, offset: i64, size: i64) -> Row {
    event(time_ns, Kind::End, Direction::Read, offset, size)
}

fn latencies(events: &[Row]) -> (Vec<i64>, u64) {
    let mut pairing = Pairing::default();
    let mut rows = Vec::new();
    pairing.feed(events, &mut rows);
    pairing.end(&mut rows);
    assert!(rows.is_sorted_by_key(|row| row.time_ns));
    assert!(rows.iter().all(|row| row.kind == Kind::Request as u8));
    (
        rows.iter().map(|row| row.latency_ns).collect(),
        pairing.unmatched(),
    )
}

#[test]
fn merged_requests_complete_together() {
    assert_eq!(
        latencies(&[begin(0, 0, 10), begin(1, 10, 10), end(5, 0, 20)]),
        (vec![5, 4], 0)
    );
}

#[test]
fn a_split_request_is_complete_with_its_last_piece() {
    assert_eq!(
        latencies(&[
            begin(0, 0, 30),
            end(5, 20, 10),
            end(6, 0, 10),
            end(9, 10, 10)
        ]),
        (vec![9], 0)
    );
}

#[test]
fn of_two_for_the_same_bytes_the_first_completes_first() {
    assert_eq!(
        latencies(&[
            begin(0, 0, 10),
            begin(1, 0, 10),
            end(5, 0, 10),
            end(8, 0, 10)
        ]),
        (vec![5, 7], 0)
    );
}

#[test]
fn flushes_complete_in_their_order() {
    let flush = |time, kind| event(time, kind, Direction::Sync, 0, 0);
    let events = [
        flush(0, Kind::Begin),
        flush(1, Kind::Begin),
        flush(5, Kind::End),
        flush(6, Kind::End),
    ];
    assert_eq!(latencies(&events), (vec![5, 5], 0));
}

#[test]
fn what_the_trace_does_not_have_is_counted_or_unknown() {
    let write = event(2, Kind::End, Direction::Write, 0, 10);
    assert_eq!(
        latencies(&[end(0, 0, 10), begin(1, 0, 10), write]),
        (vec![UNKNOWN], 2)
    );
}

#[test]
fn the_memory_is_bounded_by_requests_that_never_complete() {
    let mut pairing = Pairing::default();
    let mut rows = Vec::new();
    let most = 1 << 20;
    let events: Vec<Row> = (0..most + 3)
        .map(|number| begin(number, number * 10, 10))
        .collect();
    pairing.feed(&events, &mut rows);
    assert_eq!(rows.len(), 3);
    // Too late for the first; the fourth still waits.
    pairing.feed(&[end(most + 10, 0, 10), end(most + 11, 30, 10)], &mut rows);
    assert_eq!(pairing.unmatched(), 1);
    assert_eq!(
        rows.last().map(|row| (row.time_ns, row.latency_ns)),
        Some((3, most + 8))
    );
}

proptest! {
    /// Requests that do not overlap while in flight have the latencies they were made with, however they are completed.
    #[test]
    fn latencies_are_those_that_were_made(
        requests in prop::collection::vec((1i64..50, 1i64..100, 1i64..5, any::<bool>()), 1..60),
    ) {
        let mut events = BTreeMap::new();
        let mut expected = Vec::new();
        let mut time = 0;
        for (number, (gap, latency, size, split)) in requests.iter().enumerate() {
            time += gap;
            let number = number as i64;
            let offset = number * 1000;
            events.insert((time, number, 0), begin(time, offset, size * 2));
            if *split {
                events.insert((time + latency, number, 1), end(time + latency, offset + size, *size));
                events.insert((time + latency + 1, number, 2), end(time + latency + 1, offset, *size));
            } else {
                events.insert((time + latency, number, 1), end(time + latency, offset, size * 2));
            }
            expected.push(latency + i64::from(*split));
        }
        let events: Vec<Row> = events.into_values().collect();
        prop_assert_eq!(latencies(&events), (expected, 0));
    }
}
