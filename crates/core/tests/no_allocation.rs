//! Checks that the worker and the recorder allocate nothing while requests are in flight.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use iogauge_core::plan::{Checksum, Pacing, ReplayPlan, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Handover, Recorder, Slice};
use iogauge_core::replay::{Fed, Feed, Row};
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Completion, Direction, Errno, Kind, Nanos, Request, Want, Worker};

/// The system's allocator, counting this thread's calls.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations_so_far() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: every call is passed on unchanged to the system's allocator, whose contract is the same. The counter is a
// constant-initialised thread-local without a destructor, so counting neither allocates nor fails.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two slices that change places; now and then no empty one is available.
struct Pair {
    spare: Box<Slice>,
    handovers: u64,
}

impl Handover for Pair {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        self.handovers += 1;
        if self.handovers.is_multiple_of(5) {
            return false;
        }
        std::mem::swap(&mut self.spare, slice);
        slice.clear();
        true
    }
}

/// A mixed job with everything that needs memory: maps over varying sizes in several files, rates, syncs, loops.
fn plan(rates: &str, think: &str) -> WorkerPlan {
    let sizes =
        r#"{"minimum_bytes": 4096, "maximum_bytes": 16384, "split": [], "align_bytes": 4096}"#;
    let random = r#"{"kind": "random"}"#;
    let same = |value: &str| format!(r#"{{"read": {value}, "write": {value}, "trim": {value}}}"#);
    let file = r#"{"path": "f", "fd": -1, "writable": true, "is_block_device": false, "file_bytes": 8388608, "region_offset_bytes": 0,
        "region_bytes": 8388608}"#;
    let plan = format!(
        r#"{{
        "name": "test", "job": 0, "clone": 0, "row": 0, "seed": 7,
        "engine": {{"kind": "null", "direct": false, "sync": "none", "hipri": false, "fixedbufs": false,
            "registerfiles": false, "sqthread_poll": false, "sqthread_poll_cpu": null, "uncached": false,
            "nowait": false, "atomic": false, "submit_batch": 1,
            "reap_batch": 1}},
        "pattern": {{"rw": "randrw", "sequence": 0, "sizes": {}, "distribution": {}, "percentage_random": {},
            "rwmix_read_percent": 70.0, "random_map": true, "fsync_every": 97, "fdatasync_every": 31,
            "sync_file_range": null,
            "sync_at_end": true, "file_order": "random", "file_run": 3, "file_distribution": {random}, "open_files": 2}},
        "files": [{file}, {file}, {file}],
        "buffers": {{"refill": false, "zero": false, "scramble": true, "compress_percent": 0.0, "dedupe_percent": 0.0,
            "pattern": []}},
        "iodepth": 32, "iodepth_low": 20, "complete_min": 3, "runtime_ns": 0, "time_based": false, "ramp_ns": 1000000,
        "start_delay_ns": 0, "waits_for": [], "io_bytes": 0, "number_ios": 0, "loops": 1000000, "replay_loops": true,
        "schedule": {}, "poisson": true, {think}, "flow": null, "handed_over": false, "cpus": [], "spin": false,
        "exitall": false, "exitall_on_error": false, "exit_what": "group", "group": 0, "max_latency_ns": {},
        "create_only": false,
        "memory": {{"huge_page_bytes": 0, "locked_bytes": 0}}, "invalidate": false, "advice": "none", "pre_read": false, "nice": 0, "io_priority": null, "priority_latency": "clat",
        "priorities": [{{"direction": "read", "length_bytes": 0, "percent": 20, "priority": 8192}}],
        "continue_on_read_error": true, "continue_on_write_error": true,
        "ignored_read_errors": [], "ignored_write_errors": []
        }}"#,
        same(sizes),
        same(random),
        same("100.0"),
        same(rates),
        same("1000000000"),
    );
    serde_json::from_str(&plan).expect("the plan is valid")
}

/// Drives a worker and a recorder in virtual time until `requests` are done. Returns the allocations meanwhile.
fn allocations(plan: &WorkerPlan, requests: u64) -> u64 {
    allocations_of(plan, None, requests)
}

/// As `allocations`, of a worker that may replay a trace.
fn allocations_of(plan: &WorkerPlan, feed: Option<Box<dyn Feed>>, requests: u64) -> u64 {
    let slice = recorder::slice_of(plan, true);
    let spare = Box::new(slice.touched());
    let mut recorder = Recorder::new(
        Box::new(slice),
        Pair {
            spare,
            handovers: 0,
        },
    );
    let mut worker = Worker::with_feed(plan, feed).expect("the plan is valid");
    let mut in_flight: Vec<(Nanos, Nanos, Request)> = Vec::with_capacity(plan.iodepth as usize);
    let before = allocations_so_far();
    let mut now = 1_000_000;
    worker.begin(now, plan.ramp_ns, plan.runtime_ns);
    recorder.begin(
        Cutter {
            interval: 3 * MILLISECOND,
            ramp_end: plan.ramp_ns,
        },
        now,
        now,
    );
    let mut done = 0;
    while done < requests {
        let wake = match worker.next(now) {
            Want::Issue(slot) => {
                let request = *worker.request(slot);
                // Service times and failures depend on the offset: they vary, and repeat in each run.
                let service = 5_000 + request.offset_bytes / 4096 * 37 % 90_001;
                in_flight.push((now, now + service, request));
                continue;
            }
            Want::Wait {
                until: Some(until),
                completions: 0,
            }
            | Want::Spin { until } => until,
            Want::Wait { .. } => in_flight
                .iter()
                .map(|flying| flying.1)
                .max()
                .expect("something is in flight"),
            Want::Settle => continue,
            Want::Finished => panic!("the job has no end"),
        };
        let length = wake - now;
        now = wake;
        recorder.gap(length, now);
        if length > MILLISECOND {
            worker.reaping_resumed(now - length, now);
        }
        recorder.advance(now);
        while let Some((start, _, request)) = in_flight.pop() {
            let result = if done % 101 == 0 {
                Err(Errno(EIO))
            } else {
                Ok(request.length_bytes)
            };
            let completion = Completion {
                slot: request.slot,
                start,
                issued: Some(start + 100),
                done: now,
                result,
            };
            recorder.record(&request, &completion);
            worker.complete(&completion);
            done += 1;
        }
    }
    worker.stop(now);
    while let Want::Issue(slot) = worker.next(now) {
        let sync = *worker.request(slot);
        assert_eq!(sync.kind, Kind::Sync, "only the syncs of the end are left");
        let completion = Completion {
            slot,
            start: now,
            issued: Some(now),
            done: now,
            result: Ok(0),
        };
        recorder.record(&sync, &completion);
        worker.complete(&completion);
    }
    assert_eq!(worker.next(now), Want::Finished);
    let slice = recorder.close(now);
    assert!(slice.sides[0].is_some());
    allocations_so_far() - before
}

/// An error of the medium, after which a job may continue.
const EIO: i32 = 5;
const REQUESTS: u64 = 100_003;
const NO_RATE: &str = r#"{"rate_iops": 0, "rate_Bps": 0, "rate_min_Bps": 0, "first_ns": 0}"#;
const RATE: &str = r#"{"rate_iops": 90001, "rate_Bps": 0, "rate_min_Bps": 0, "first_ns": 0}"#;
const NO_THINKING: &str = r#""thinktime_ns": 0, "thinktime_spin_ns": 0, "thinktime_blocks": 1,
    "thinktime_at_issue": false, "thinktime_iotime_ns": 0"#;
const THINKING: &str = r#""thinktime_ns": 20000, "thinktime_spin_ns": 5000, "thinktime_blocks": 7,
    "thinktime_at_issue": false, "thinktime_iotime_ns": 100000"#;

#[test]
fn the_counter_counts() {
    let before = allocations_so_far();
    drop(std::hint::black_box(Box::new(1u64)));
    assert_eq!(allocations_so_far() - before, 2);
}

#[test]
fn without_a_schedule() {
    assert_eq!(allocations(&plan(NO_RATE, NO_THINKING), REQUESTS), 0);
}

#[test]
fn at_a_rate() {
    assert_eq!(allocations(&plan(RATE, NO_THINKING), REQUESTS), 0);
}

#[test]
fn with_think_time() {
    assert_eq!(allocations(&plan(NO_RATE, THINKING), REQUESTS), 0);
}

#[test]
fn of_a_verification() {
    for random_map in [false, true] {
        let mut verify = iogauge_core::testing::verify(Checksum::Crc32c, 4096);
        (verify.backlog, verify.backlog_batch) = (64, 16);
        let mut plan = WorkerPlan {
            verify: Some(verify),
            ..plan(NO_RATE, NO_THINKING)
        };
        plan.pattern.random_map = random_map;
        assert_eq!(allocations(&plan, REQUESTS), 0);
    }
}

/// One chunk again and again.
#[derive(Debug)]
struct Endless(Vec<Row>);

impl Feed for Endless {
    fn exchange(&mut self, chunk: &mut Vec<Row>) -> Fed {
        if chunk.is_empty() {
            std::mem::swap(&mut self.0, chunk);
        }
        Fed::Chunk
    }
}

#[test]
fn of_a_replay() {
    let rows: Vec<Row> = (0..64)
        .map(|row| Row {
            due_ns: 100,
            offset_bytes: row * 4096,
            length_bytes: 4096,
            needed_after: 2 + (row % 2) as u32 * 7,
            kind: (row % 2) as u8,
            waits: 1,
            ..Row::default()
        })
        .collect();
    for pacing in [Pacing::Closed, Pacing::Think, Pacing::Dependent] {
        let plan = WorkerPlan {
            replay: Some(ReplayPlan {
                fd: -1,
                rows: u64::MAX,
                pacing,
                trace_depth: 16,
                directions: vec![Direction::Read, Direction::Write],
            }),
            ..plan(NO_RATE, NO_THINKING)
        };
        let feed = Box::new(Endless(rows.clone()));
        assert_eq!(allocations_of(&plan, Some(feed), REQUESTS), 0);
    }
}
