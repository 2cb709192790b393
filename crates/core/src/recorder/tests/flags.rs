//! Gaps of the loop, and the requests that spanned them.

use proptest::prelude::*;

use super::world::{STAGE_START, finished, recorder};
use crate::recorder::{Cutter, LONG_GAP};
use crate::request::Kind;
use crate::time::{MILLISECOND, Nanos};

const CUTTER: Cutter = Cutter {
    interval: 1 << 62,
    ramp_end: 0,
};

/// Returns which of the requests, `(start, done)`, are flagged if these gaps, `(from, to)`, end before each is done.
fn flagged(gaps: &[(Nanos, Nanos)], requests: &[(Nanos, Nanos)]) -> Vec<bool> {
    let (mut recorder, _) = recorder(CUTTER, 0);
    let mut gaps = gaps.iter().peekable();
    let mut before = 0;
    let mut seen = Vec::new();
    for &(start, done) in requests {
        while let Some(&(from, to)) = gaps.next_if(|gap| gap.1 <= done) {
            recorder.gap(to - from, STAGE_START + to);
        }
        let (request, completion) = finished(
            STAGE_START,
            STAGE_START + done,
            [0, 0, 0, done - start],
            Kind::Read,
            false,
        );
        let completion = crate::Completion {
            start: STAGE_START + start,
            ..completion
        };
        recorder.record(&request, &completion);
        let count = recorder.close(STAGE_START + done).sides[0]
            .as_ref()
            .unwrap()
            .counts
            .flagged;
        seen.push(count > before);
        before = count;
    }
    seen
}

#[test]
fn a_gap_flags_requests_that_it_may_have_lengthened() {
    let ms = MILLISECOND;
    let gap = [(10 * ms, 30 * ms)];
    for (start, done, expected) in [
        (5 * ms, 31 * ms, true),
        // Began within the gap.
        (29 * ms, 31 * ms, true),
        // Began after the gap.
        (30 * ms, 31 * ms, false),
        // A tenth of the latency or less does not matter.
        (ms, 200 * ms, true),
        (ms, 202 * ms, false),
    ] {
        assert_eq!(
            flagged(&gap, &[(start, done)]),
            [expected],
            "{start} to {done}"
        );
    }
    assert_eq!(
        flagged(&[(10 * ms, 10 * ms + LONG_GAP)], &[(9 * ms, 12 * ms)]),
        [false],
        "not long enough"
    );
}

#[test]
fn a_short_gap_does_not_hide_a_long_one() {
    let ms = MILLISECOND;
    let gaps = [(10 * ms, 2_010 * ms), (2_015 * ms, 2_017 * ms)];
    assert_eq!(
        flagged(&gaps, &[(2_012 * ms, 2_018 * ms), (5 * ms, 2_020 * ms)]),
        [true, true]
    );
    // A gap long ago is replaced by a shorter one.
    let gaps = [
        (10 * ms, 20 * ms),
        (1_000 * ms, 1_002 * ms),
        (2_000 * ms, 2_003 * ms),
    ];
    assert_eq!(
        flagged(&gaps, &[(999 * ms, 1_003 * ms), (1_999 * ms, 2_004 * ms)]),
        [true, true]
    );
}

#[test]
fn every_gap_is_in_the_histogram() {
    let (mut recorder, _) = recorder(CUTTER, 0);
    for length in [0, 100, 100, 5 * MILLISECOND] {
        recorder.gap(length, STAGE_START + 10 * MILLISECOND);
    }
    let gaps = recorder
        .close(STAGE_START + 10 * MILLISECOND)
        .loop_gap
        .clone();
    assert_eq!(
        (gaps.exact().count, gaps.exact().max_ns),
        (4, 5 * MILLISECOND)
    );
}

proptest! {
    /// Every flag has a reason, and requests that span the last gap or the longest so far are always flagged.
    #[test]
    fn flags_follow_the_rule(
        steps in prop::collection::vec((0u64..20 * MILLISECOND, 0u64..20 * MILLISECOND), 1..8),
        length in 1u64..200 * MILLISECOND,
        after in 0u64..20 * MILLISECOND,
    ) {
        let mut at = MILLISECOND;
        let gaps: Vec<(Nanos, Nanos)> = steps.iter().map(|&(pause, length)| {
            let from = at + pause;
            at = from + length;
            (from, at)
        }).collect();
        let done = at + after;
        let start = done.saturating_sub(length);
        let long = |gap: &&(Nanos, Nanos)| gap.1 - gap.0 > LONG_GAP;
        let touched = |&(from, to): &(Nanos, Nanos)| to > start && (to - from) * 10 > done - start;
        let seen = flagged(&gaps, &[(start, done)])[0];
        prop_assert!(!seen || gaps.iter().filter(long).any(touched), "flagged for nothing");
        let longest = gaps.iter().filter(long).max_by_key(|gap| (gap.1 - gap.0, gap.1));
        let last = gaps.iter().rfind(long);
        prop_assert!(seen || !longest.is_some_and(touched) && !last.is_some_and(touched), "{:?}", (start, done));
    }
}
