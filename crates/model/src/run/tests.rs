//! Compares runs on small drives with times computed by hand.

use iogauge_core::Stop;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{EnginePlan, FilePlan, LogOverflow, RunPlan, Rw, StagePlan, WorkerPlan};
use iogauge_core::results::{Interval, RunResult};
use iogauge_core::testing::{self, file, iops, same};
use iogauge_core::time::{MILLISECOND, SECOND};

use super::{Event, run};
use crate::drive::Drive;
use crate::machine::{EngineCosts, IdleSpec, Machine};
use crate::media::xpoint::tests::{link, plain};
use crate::media::xpoint::{Xpoint, XpointSpec};
use crate::stalls::StallSpec;

const COSTS: EngineCosts = EngineCosts {
    call_ns: 300,
    request_ns: 700,
    reap_ns: 500,
};

const HOST: Machine = Machine {
    sync: COSTS,
    queued: COSTS,
    wake_ns: 1_500,
    poll_ns: 100,
    timer_late_ns: 0,
    polls: false,
    idle: Vec::new(),
    noise: Vec::new(),
};

/// Creates random reads of a region of 128 MiB for a tenth of a second.
fn reader(iodepth: u32) -> WorkerPlan {
    let ordinary = testing::plan(Rw::Randread);
    WorkerPlan {
        iodepth,
        iodepth_low: iodepth,
        files: vec![region()],
        time_based: true,
        runtime_ns: SECOND / 10,
        engine: EnginePlan {
            submit_batch: std::num::NonZeroU32::MIN,
            kind: iogauge_core::plan::EngineKind::Libaio,
            ..ordinary.engine
        },
        ..ordinary
    }
}

fn region() -> FilePlan {
    file(1 << 15)
}

fn writer(iodepth: u32) -> WorkerPlan {
    let mut plan = reader(iodepth);
    plan.pattern.rw = Rw::Randwrite;
    plan.row = 1;
    plan.seed = 43;
    plan
}

fn plan(stages: Vec<Vec<WorkerPlan>>) -> RunPlan {
    RunPlan {
        schema_version: 1,
        seed: 1,
        interval_ns: 10 * MILLISECOND,
        give_up_ns: SECOND,
        start_at_ns: None,
        stages: stages
            .into_iter()
            .map(|workers| StagePlan {
                held: false,
                workers,
            })
            .collect(),
        request_log: true,
        request_log_capacity: 1,
        log_overflow: LogOverflow::Wait,
        stamp_logs: Vec::new(),
    }
}

struct RunOutcome {
    result: RunResult<()>,
    intervals: Vec<Interval>,
    log: Vec<LogRecord>,
}

fn seen(plan: &RunPlan, spec: XpointSpec, machine: &Machine) -> RunOutcome {
    let (mut intervals, mut log) = (Vec::new(), Vec::new());
    let mut drive = Xpoint::new(spec, link(), plan.seed);
    let mut sink = |event| match event {
        Event::Interval(interval) => intervals.push(*interval),
        Event::Request(record) => log.push(record),
        Event::Held(_) | Event::Explained(_) => {}
    };
    let result = run(
        plan,
        machine,
        std::slice::from_mut(&mut drive),
        (),
        &mut sink,
        &mut || true,
    )
    .unwrap();
    RunOutcome {
        result,
        intervals,
        log,
    }
}

fn noisy() -> XpointSpec {
    XpointSpec {
        jitter_ns: 400.0,
        read_stalls: vec![StallSpec {
            every_services: 100.0,
            mean_ns: 5_000.0,
            spread: 1.0,
        }],
        ..plain()
    }
}

fn mean_lat(seen: &RunOutcome, row: usize, direction: &str) -> f64 {
    let lat = &seen.result.rows[row].tallies[direction].exact["lat"];
    lat.sum_ns as f64 / lat.count as f64
}

fn rate(seen: &RunOutcome, row: usize, direction: &str) -> f64 {
    let row = &seen.result.rows[row];
    row.tallies[direction].ios as f64 * 1e9 / (row.end_ns - row.start_ns) as f64
}

#[test]
fn a_sleep_ends_late_and_a_rate_is_kept() {
    let lateness = |timer_late_ns, polls| {
        let mut slow = reader(1);
        slow.schedule.read = iops(1_000);
        slow.runtime_ns = 10 * SECOND;
        let machine = Machine {
            timer_late_ns,
            polls,
            ..HOST
        };
        let seen = seen(&plan(vec![vec![slow]]), plain(), &machine);
        let tally = &seen.result.rows[0].tallies["read"];
        assert_eq!(tally.ios, 10_000);
        tally.exact["lateness"]
    };
    let late = lateness(20_000, false);
    let mean = late.sum_ns as f64 / late.count as f64;
    // Ten thousand exponential values: three standard errors are 3 %. The first request does not wait.
    assert!((mean / 20_000.0 - 1.0).abs() < 0.03, "{mean}");
    assert_eq!(lateness(0, false).max_ns, 0);
    assert_eq!(lateness(20_000, true).max_ns, 0);
}

#[test]
fn the_longer_a_thread_sleeps_the_later_it_wakes() {
    let state = |after_ns, exit_ns| IdleSpec { after_ns, exit_ns };
    let later = |idle| {
        let machine = Machine { idle, ..HOST };
        let seen = seen(&plan(vec![vec![reader(1)]]), plain(), &machine);
        mean_lat(&seen, 0, "read") - (7_600.0 + 300.0 + 700.0 + 1_500.0)
    };
    // The drive takes 7.6 us.
    let later = |idle| f64::round(later(idle));
    assert_eq!(later(vec![state(7_601, 400)]), 0.0);
    assert_eq!(later(vec![state(5_000, 400), state(7_601, 2_000)]), 400.0);
    assert_eq!(later(vec![state(5_000, 400), state(7_600, 2_000)]), 2_000.0);
}

#[test]
fn a_worker_begins_at_the_instant_at_which_another_ends() {
    let of = |row, number_ios, waits_for| WorkerPlan {
        time_based: false,
        row,
        number_ios,
        waits_for,
        ..reader(1)
    };
    let stage = vec![of(0, 100, vec![]), of(1, 1_000, vec![]), of(2, 50, vec![0])];
    let seen = seen(&plan(vec![stage]), plain(), &Machine::ideal());
    let [first, beside, waiting] = &seen.result.rows[..] else {
        panic!("three rows");
    };
    assert_eq!(waiting.start_ns, first.end_ns);
    assert!(waiting.end_ns < beside.end_ns);
    let mut of_waiting = seen.log.iter().filter(|record| record.worker == 2);
    assert_eq!(
        of_waiting.next().map(|record| record.start_ns),
        Some(first.end_ns)
    );
    assert_eq!(of_waiting.count(), 49);
}

#[test]
fn the_host_spends_time_before_and_after_the_drive() {
    let means = |depth: u32| {
        let mut drive = Xpoint::new(plain(), link(), 1);
        drive.explain();
        let mut means = Vec::new();
        let mut sink = |event| {
            if let Event::Explained(row) = event {
                means.push(row.directions["read"].parts_ns.clone());
            }
        };
        let drives = std::slice::from_mut(&mut drive);
        let plan = plan(vec![vec![reader(depth)]]);
        run(&plan, &HOST, drives, (), &mut sink, &mut || true).unwrap();
        means.remove(0)
    };
    let alone = [
        ("channel", 4_000.0),
        ("controller", 1_000.0),
        ("link", 1_000.0),
        ("pipe", 1_600.0),
        ("submission", 1_000.0),
        ("wake-up", 1_500.0),
    ];
    assert_eq!(Vec::from_iter(means(1)), alone);
    // Of 16, most wait while the thread takes completions and submits others, for 1.5 us each.
    let deep = means(16);
    let busy = deep["busy thread"] + deep["queue"] + deep["channel queue"];
    assert!(
        (busy / (16.0 * 1_600.0 - 8_600.0) - 1.0).abs() < 0.1,
        "{deep:?}"
    );
}

#[test]
fn one_request_at_a_time_takes_as_long_as_its_parts() {
    let ideal = seen(&plan(vec![vec![reader(1)]]), plain(), &Machine::ideal());
    assert_eq!(mean_lat(&ideal, 0, "read"), 7_600.0);
    let host = seen(&plan(vec![vec![reader(1)]]), plain(), &HOST);
    assert_eq!(
        mean_lat(&host, 0, "read"),
        7_600.0 + 300.0 + 700.0 + 1_500.0
    );
    // The next request begins when the last has been reaped.
    assert!((rate(&host, 0, "read") - 1e9 / 10_600.0).abs() < 20.0);
    let polled = Machine {
        polls: true,
        ..HOST
    };
    let per_request = |seen: &RunOutcome| {
        let ios = seen.log.len() as f64;
        seen.result.workers[0].user_ns as f64 / ios
    };
    assert_eq!(per_request(&host), 1_500.0);
    let polled = seen(&plan(vec![vec![reader(1)]]), plain(), &polled);
    // A polling thread does nothing but work.
    assert!((per_request(&polled) - (8_700.0 + 500.0)).abs() < 1.0);
    assert_eq!(mean_lat(&polled, 0, "read"), 7_600.0 + 1_000.0 + 100.0);
}

#[test]
fn a_worker_ends_when_it_has_reaped_its_last_request() {
    let few = WorkerPlan {
        time_based: false,
        number_ios: 10,
        ..reader(1)
    };
    let host = seen(&plan(vec![vec![few]]), plain(), &HOST);
    let elapsed = 10 * (300 + 700 + 7_600 + 1_500 + 500);
    assert_eq!(host.result.elapsed_ns, elapsed);
    assert_eq!(host.result.rows[0].end_ns, elapsed);
    assert_eq!(host.result.workers[0].end_ns, elapsed);
}

#[test]
fn the_pipe_or_the_thread_is_the_limit() {
    let deep = seen(&plan(vec![vec![reader(32)]]), plain(), &Machine::ideal());
    assert!((rate(&deep, 0, "read") / (1e9 / 1_600.0) - 1.0).abs() < 0.002);
    // 2 us of a thread for each request: two threads reach twice as many, until the pipe is full.
    let slow = Machine {
        queued: EngineCosts {
            request_ns: 1_200,
            ..COSTS
        },
        ..HOST
    };
    let one = seen(&plan(vec![vec![reader(32)]]), plain(), &slow);
    assert!((rate(&one, 0, "read") / (1e9 / 2_000.0) - 1.0).abs() < 0.01);
    let two = seen(&plan(vec![vec![reader(16), reader(16)]]), plain(), &slow);
    assert!((rate(&two, 0, "read") / (1e9 / 1_600.0) - 1.0).abs() < 0.01);
}

#[test]
fn mixed_reads_and_writes_are_slower_than_either() {
    let at = |percent: f64| {
        let mut worker = reader(16);
        worker.pattern.rw = Rw::Randrw;
        worker.pattern.rwmix_read_percent = percent;
        let seen = seen(&plan(vec![vec![worker]]), plain(), &Machine::ideal());
        let both = |name: &str| {
            let tally = seen.result.rows[0].tallies.get(name);
            tally.map_or(0, |tally| tally.ios)
        };
        both("read") + both("write")
    };
    let (reads, half, writes) = (at(100.0), at(50.0), at(0.0));
    assert!(half < writes && writes < reads, "{reads} {half} {writes}");
}

#[test]
fn intervals_add_up_to_the_run_and_the_log_has_every_request() {
    let seen = seen(&plan(vec![vec![reader(4), writer(2)]]), noisy(), &HOST);
    for (row, name) in ["read", "write"].into_iter().enumerate() {
        let ios = seen.result.rows[row].tallies[name].ios;
        let of_row = |interval: &&Interval| interval.row == row as u32;
        let parts = seen.intervals.iter().filter(of_row);
        let sum: u64 = parts
            .filter_map(|part| part.tallies.get(name))
            .map(|tally| tally.ios)
            .sum();
        let logged = seen.log.iter().filter(|record| record.row == row as u32);
        assert_eq!((sum, logged.count() as u64), (ios, ios));
    }
    assert!(seen.intervals.len() >= 20);
}

#[test]
fn the_same_seed_makes_the_same_run() {
    let plan = plan(vec![vec![reader(4), writer(4)], vec![reader(2)]]);
    let (one, two) = (seen(&plan, noisy(), &HOST), seen(&plan, noisy(), &HOST));
    let bytes = |seen: &RunOutcome| iogauge_core::log_record::bytes_of(&seen.log).to_vec();
    assert!(!one.log.is_empty() && bytes(&one) == bytes(&two));
    let other = seen(&RunPlan { seed: 2, ..plan }, noisy(), &HOST);
    assert!(bytes(&one) != bytes(&other));
}

#[test]
fn a_rate_is_kept_to_the_request() {
    let mut worker = reader(8);
    worker.schedule = same(iops(10_000));
    let seen = seen(&plan(vec![vec![worker]]), plain(), &HOST);
    assert_eq!(seen.result.rows[0].tallies["read"].ios, 1_000);
    assert_eq!(seen.result.rows[0].tallies["read"].late, 0);
}

#[test]
fn a_threads_usage_counts_from_the_end_of_its_ramp() {
    let unramped = seen(&plan(vec![vec![reader(1)]]), plain(), &HOST);
    let ramped = WorkerPlan {
        ramp_ns: SECOND / 20,
        ..reader(1)
    };
    let ramped = seen(&plan(vec![vec![ramped]]), plain(), &HOST);
    let (one, other) = (&unramped.result.workers[0], &ramped.result.workers[0]);
    let ios = ramped.result.rows[0].tallies["read"].ios;
    assert!(ios.abs_diff(other.submit_calls) <= 1 && ios.abs_diff(other.reap_calls) <= 1);
    assert!(one.user_ns.abs_diff(other.user_ns) < one.user_ns / 100);
    assert!((one.depth_mean - other.depth_mean).abs() < 1e-3);
}

#[test]
fn a_stage_ends_as_its_jobs_say() {
    let short = WorkerPlan {
        time_based: false,
        number_ios: 10,
        exitall: true,
        ..reader(1)
    };
    let mut idle = writer(1);
    idle.schedule = same(iops(1));
    let together = seen(&plan(vec![vec![short, idle]]), plain(), &Machine::ideal());
    assert_eq!(together.result.stopped_by, Some(Stop::Exitall));
    // The one write caused a turnaround before the second read.
    assert_eq!(together.result.elapsed_ns, 10 * 7_600 + 500);
    let mut starving = reader(1);
    starving.runtime_ns = 10 * SECOND;
    starving.schedule.read.rate_min_Bps = 1 << 40;
    let slow = seen(&plan(vec![vec![starving]]), plain(), &Machine::ideal());
    assert!(slow.result.error.unwrap().contains("rate_min"));
    assert!(slow.result.elapsed_ns < 4 * SECOND);
}

#[test]
fn a_run_ends_early_when_its_caller_says_so() {
    let mut drive = Xpoint::new(plain(), link(), 1);
    let plan = plan(vec![vec![reader(4)], vec![reader(4)]]);
    let mut looks = 0;
    let mut should_continue = || {
        looks += 1;
        looks < 3
    };
    let result = run(
        &plan,
        &HOST,
        std::slice::from_mut(&mut drive),
        (),
        &mut |_| {},
        &mut should_continue,
    )
    .unwrap();
    assert_eq!(result.stopped_by, Some(Stop::Interrupt));
    assert_eq!(result.workers.len(), 1);
    assert!(result.elapsed_ns < 31 * MILLISECOND);
}
