//! Schedules on a real clock: all scheduled requests are done, each with its own intended start, however busy the
//! machine is.

mod common;
mod outcome;

use iogauge_core::plan::{EngineKind, PerDirection, Rw, WorkerPlan};
use iogauge_core::testing::same;
use iogauge_core::time::{MILLISECOND, SECOND};
use outcome::{check, direction, engines, execute, file, iops, run_plan, worker};

fn rated(kind: EngineKind, scratch: &common::Scratch) -> WorkerPlan {
    // With slots for all requests that become due while the thread is late.
    let mut plan = WorkerPlan {
        iodepth: 256,
        iodepth_low: 256,
        time_based: true,
        ..worker(kind, scratch)
    };
    plan.pattern.rw = Rw::Randread;
    plan
}

#[test]
fn a_constant_rate_is_done_to_the_last_request() {
    let scratch = file();
    for kind in engines() {
        let rate = 7_001;
        let plan = WorkerPlan {
            schedule: same(iops(rate)),
            runtime_ns: 400 * MILLISECOND,
            ..rated(kind, &scratch)
        };
        let outcome = execute(run_plan(vec![plan.clone()]));
        check(&outcome, &[plan]);
        let mut intended: Vec<_> = outcome
            .log
            .iter()
            .map(|record| record.intended_ns)
            .collect();
        intended.sort_unstable();
        let expected: Vec<_> = (0..)
            .map(|k: u64| k * SECOND / rate)
            .take_while(|due| *due < 400 * MILLISECOND)
            .collect();
        assert!(
            intended == expected,
            "{} of {} requests",
            intended.len(),
            expected.len()
        );
        assert_eq!(outcome.result.workers[0].overdue, 0);
        let tally = &outcome.row(0).tallies["read"];
        for latency in ["lat", "response", "queued", "lateness"] {
            assert_eq!(tally.exact[latency].count, expected.len() as u64);
        }
        assert!(tally.exact["response"].sum_ns >= tally.exact["lat"].sum_ns);
    }
}

#[test]
fn reads_and_writes_have_rates_of_their_own() {
    let scratch = file();
    let mut plan = rated(EngineKind::Null, &scratch);
    plan.pattern.rw = Rw::Randrw;
    plan.runtime_ns = 300 * MILLISECOND;
    plan.schedule = PerDirection {
        read: iops(10_000),
        write: iops(1_000),
        trim: iops(1_000),
    };
    let outcome = execute(run_plan(vec![plan.clone()]));
    check(&outcome, &[plan]);
    let count = |name| {
        outcome
            .log
            .iter()
            .filter(|record| direction(record) == name)
            .count()
    };
    assert_eq!(
        (count("read"), count("write"), outcome.log.len()),
        (3_000, 300, 3_300)
    );
    assert_eq!(outcome.result.workers[0].overdue, 0);
}

#[test]
fn the_next_burst_is_intended_for_the_end_of_the_pause() {
    let scratch = file();
    let plan = WorkerPlan {
        thinktime_ns: 3 * MILLISECOND,
        thinktime_spin_ns: MILLISECOND,
        thinktime_blocks: 4,
        thinktime_at_issue: true,
        number_ios: 101,
        ..worker(EngineKind::Null, &scratch)
    };
    let outcome = execute(run_plan(vec![plan.clone()]));
    check(&outcome, &[plan]);
    assert_eq!(outcome.log.len(), 101);
    for pair in outcome.log.chunks(4).collect::<Vec<_>>().windows(2) {
        let quiet_from = pair[0].iter().map(|record| record.done_ns).max().unwrap();
        assert_eq!(pair[1][0].intended_ns, quiet_from + 3 * MILLISECOND);
        assert!(
            pair[1]
                .iter()
                .all(|record| record.start_ns >= quiet_from + 3 * MILLISECOND)
        );
    }
}
