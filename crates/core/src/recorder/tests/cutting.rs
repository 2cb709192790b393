//! Where slices begin and end, and which latencies they keep.

use proptest::prelude::*;

use super::world::cutters;
use crate::plan::{PerDirection, Rw, WorkerPlan};
use crate::recorder::{Counts, Cutter, Latency, kept_latencies};
use crate::request::Errno;
use crate::testing::{iops, plan};
use crate::time::SECOND;

proptest! {
    #[test]
    fn an_instant_lies_in_its_slice(cutter in cutters(), at in 0u64..10 * SECOND) {
        let (span, start, end) = cutter.slice_at(at);
        prop_assert!(start <= at && at < end && end - start <= cutter.interval);
        prop_assert_eq!(span.ramp, at < cutter.ramp_end);
        prop_assert_eq!(span.index, at / cutter.interval);
        for other in [start, end - 1] {
            prop_assert_eq!(cutter.slice_at(other), (span, start, end));
        }
        prop_assert_ne!(cutter.slice_at(end).0, span);
    }

    /// From any instant to any other there is no hole, no overlap, and no slice twice.
    #[test]
    fn slices_between_two_instants_cover_them_exactly(cutter in cutters(), from in 0u64..10 * SECOND, length in 0u64..SECOND) {
        let to = from + length;
        let mut reached = from;
        let mut last = None;
        for (span, start, end) in cutter.between(from, to) {
            prop_assert_eq!(start, reached);
            prop_assert!(start < end && end <= to);
            prop_assert_eq!(cutter.slice_at(start).0, span);
            prop_assert_eq!(cutter.slice_at(end - 1).0, span);
            prop_assert_ne!(last, Some(span));
            (reached, last) = (end, Some(span));
        }
        prop_assert_eq!(reached, to);
    }
}

#[test]
fn the_end_of_the_ramp_cuts_a_slice_in_two() {
    let cutter = Cutter {
        interval: SECOND,
        ramp_end: 3 * SECOND / 2,
    };
    let slices: Vec<_> = cutter
        .between(SECOND, 3 * SECOND)
        .map(|(span, start, end)| (span.index, span.ramp, start, end))
        .collect();
    assert_eq!(
        slices,
        [
            (1, true, SECOND, 3 * SECOND / 2),
            (1, false, 3 * SECOND / 2, 2 * SECOND),
            (2, false, 2 * SECOND, 3 * SECOND),
        ]
    );
    assert_eq!(cutter.between(SECOND, SECOND).count(), 0);
}

#[test]
fn only_latencies_that_can_differ_are_kept() {
    let mut rated = plan(Rw::Randread);
    rated.schedule.read = iops(1);
    let thinking = WorkerPlan {
        thinktime_ns: 1,
        ..plan(Rw::Randread)
    };
    for (plan, scheduled) in [(plan(Rw::Randread), false), (rated, true), (thinking, true)] {
        assert_eq!(plan.is_scheduled(), scheduled);
        for stamps in [false, true] {
            let mut plan = plan.clone();
            (plan.pattern.rw, plan.pattern.fdatasync_every) = (Rw::Randrw, 1);
            let expected = [true, stamps, stamps, scheduled, scheduled, scheduled];
            let mut of_syncs = expected;
            of_syncs[Latency::Response as usize] = true;
            let [read, write, trim, sync] = kept_latencies(&plan, stamps);
            assert_eq!([read, write, trim], [Some(expected), Some(expected), None]);
            assert_eq!(sync, Some(of_syncs));
        }
    }
}

#[test]
fn a_direction_is_kept_where_the_job_issues_it() {
    for (rw, expected) in [
        (Rw::Read, [true, false, false]),
        (Rw::Randwrite, [false, true, false]),
        (Rw::Randtrim, [false, false, true]),
        (Rw::Readwrite, [true, true, false]),
        (Rw::Randtrimwrite, [false, true, true]),
    ] {
        let mut plan = plan(rw);
        plan.schedule = PerDirection {
            read: iops(1),
            write: iops(1),
            trim: iops(1),
        };
        let [read, write, trim, sync] = plan.pattern.directions();
        assert_eq!(([read, write, trim], sync), (expected, false));
        plan.pattern.fdatasync_every = 1;
        assert!(plan.pattern.directions()[3]);
    }
}

#[test]
fn errnos_beyond_the_eighth_are_pooled() {
    let mut counts = Counts::default();
    for errno in 1..=20 {
        counts.error(Errno(errno), 2);
        counts.error(Errno(errno), 1);
    }
    let mut twice = counts;
    twice.merge(&counts);
    assert_eq!((counts.failed(), twice.failed()), (60, 120));
    assert_eq!(counts.errors[6..], [(7, 3), (0, 39)]);
    assert_eq!(twice.errors[6..], [(7, 6), (0, 78)]);
}
