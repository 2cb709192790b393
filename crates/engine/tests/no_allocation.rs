//! Checks that a worker's thread allocates nothing while requests are in flight.
#![allow(unsafe_code)]

mod common;
mod outcome;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use common::namespace::Device;
use iogauge_core::plan::{Checksum, EngineKind, LogOverflow, Rw, WorkerPlan};
use iogauge_core::time::MILLISECOND;
use outcome::{engines, file, iops, ios, run_plan, steered, worker};

/// The system's allocator, counting the calls of worker threads.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Counts if the calling thread is the first worker of a stage.
fn count() {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, which the array has.
    let known = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) } == 0;
    if known && name.starts_with(b"iogauge-0\0") {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator, whose contract is the same. Counting makes one
// system call and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allows one run at a time, since all runs share the count.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs until `requests` are done. Returns the allocations meanwhile.
fn allocations_during(plan: WorkerPlan, overflow: LogOverflow, requests: u64) -> u64 {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut plan = run_plan(vec![plan]);
    // Every request is logged. The log is soon full, and a full log must not allocate either.
    (plan.interval_ns, plan.request_log_capacity) = (20 * MILLISECOND, 1);
    plan.log_overflow = overflow;
    let (mut first, mut last) = (None, None);
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    // Between the first interval and the order to stop, the thread only runs its loop.
    let outcome = steered(plan, |run, intervals| {
        let done: u64 = intervals
            .iter()
            .flat_map(|part| part.tallies.values())
            .map(|tally| tally.ios)
            .sum();
        if !intervals.is_empty() && first.is_none() {
            first = Some((done, ALLOCATIONS.load(Ordering::SeqCst)));
        }
        if let Some((since, _)) = first
            && last.is_none()
            && done - since >= requests
        {
            last = Some(ALLOCATIONS.load(Ordering::SeqCst));
            run.stop();
        }
    })
    .unwrap();
    assert_eq!(outcome.result.error, None);
    assert!(ios(outcome.row(0)) >= requests);
    let (_, first) = first.unwrap();
    assert!(
        first > before,
        "preparing a worker allocates, so the count misses its thread"
    );
    last.unwrap() - first
}

#[test]
fn on_every_engine() {
    let scratch = file();
    for kind in engines() {
        // Few enough for a file to take seconds, even with debug assertions.
        let requests = if kind == EngineKind::Null {
            100_003
        } else {
            10_007
        };
        let allocations = allocations_during(worker(kind, &scratch), LogOverflow::Wait, requests);
        assert_eq!(allocations, 0, "{kind:?}");
    }
}

#[test]
#[ignore = "needs root, and in IOGAUGE_TEST_NAMESPACE the character device of IOGAUGE_TEST_DEVICE"]
fn on_a_namespace() {
    let device = Device::namespace();
    let mut plan = worker(EngineKind::IoUringCmd, &file());
    plan.files = vec![device.plan.clone()];
    plan.pattern.rw = Rw::Trimwrite;
    plan.pattern.fsync_every = 97;
    let allocations = allocations_during(plan, LogOverflow::Wait, 10_007);
    assert_eq!(allocations, 0);
}

#[test]
fn where_data_is_verified() {
    let scratch = file();
    let mut verify = iogauge_core::testing::verify(Checksum::Meta, 1024);
    (verify.pattern, verify.pattern_offsets, verify.backlog) = (vec![0xAB; 16], vec![4], 32);
    let mut plan = WorkerPlan {
        verify: Some(verify),
        time_based: true,
        ..worker(EngineKind::Psync, &scratch)
    };
    plan.pattern.rw = Rw::Randwrite;
    assert_eq!(allocations_during(plan, LogOverflow::Wait, 10_007), 0);
}

#[test]
fn where_the_log_drops() {
    let plan = worker(EngineKind::Null, &file());
    assert_eq!(allocations_during(plan, LogOverflow::Drop, 100_003), 0);
}

#[test]
fn at_a_rate_and_with_a_random_map() {
    let scratch = file();
    let mut plan = WorkerPlan {
        schedule: iogauge_core::testing::same(iops(50_000)),
        ..worker(EngineKind::Null, &scratch)
    };
    plan.loops = u64::MAX;
    plan.poisson = true;
    plan.pattern.random_map = true;
    plan.pattern.sizes.read.maximum_bytes = 16384;
    plan.pattern.fsync_every = 97;
    assert_eq!(allocations_during(plan, LogOverflow::Wait, 10_007), 0);
}
