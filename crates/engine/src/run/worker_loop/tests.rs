//! How many requests the loop keeps in flight, on a device with a virtual clock that only its calls advance.

use std::cell::Cell;
use std::collections::VecDeque;

use iogauge_core::Worker;
use iogauge_core::busy::Busy;
use iogauge_core::plan::{Rw, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Recorder};
use iogauge_core::testing::plan;
use iogauge_core::time::MILLISECOND;

use super::*;
use crate::priority::is_real_time;
use crate::run::exchange::slices_like;

/// Time of a call, and of a request in it.
const CALL: Nanos = 400;
const REQUEST: Nanos = 2_000;

/// A device that completes one request every `service`, on a virtual clock that only its calls advance.
struct Device {
    now: Cell<Nanos>,
    service: Nanos,
    submit_batch: usize,
    reap_batch: usize,
    /// Instants of completion, the earliest first.
    queue: VecDeque<(u32, Nanos, Nanos)>,
    free_at: Nanos,
    /// Requests in flight when each completion was taken, itself included.
    seen: Vec<usize>,
    /// Sum of the latencies.
    latencies: Nanos,
}

impl Engine for Device {
    const BLOCKS: bool = false;

    fn now(&self) -> Nanos {
        // Reading the clock takes time, so that no loop waits for ever.
        self.now.set(self.now.get() + 20);
        self.now.get()
    }

    fn stamped(&self) -> Nanos {
        self.now.get()
    }

    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let start = self.now.get();
        self.now.set(start + CALL);
        let requests = &requests[..requests.len().min(self.submit_batch)];
        for request in requests {
            self.now.set(self.now.get() + REQUEST);
            self.free_at = self.free_at.max(self.now.get()) + self.service;
            self.queue.push_back((request.slot, start, self.free_at));
        }
        Ok(requests.len())
    }

    fn reap(
        &mut self,
        min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        assert!(!is_real_time(), "a wait has the usual priority");
        let wanted = (min as usize).min(self.reap_batch).min(self.queue.len());
        if let Some(last) = wanted.checked_sub(1) {
            let there = self.queue[last].2.min(until.unwrap_or(Nanos::MAX));
            self.now.set(self.now.get().max(there));
        }
        let stamp = self.now.get();
        for _ in 0..self.reap_batch {
            let Some(&(slot, start, _)) = self.queue.front().filter(|next| next.2 <= stamp) else {
                break;
            };
            self.seen.push(self.queue.len());
            self.queue.pop_front();
            self.latencies += stamp - start;
            done.push(Completion {
                slot,
                start,
                issued: Some(start),
                done: stamp,
                result: Ok(4096),
            });
        }
        Ok(())
    }
}

const IOS: u64 = 5_000;

/// Runs requests at `iodepth`, in `batches` of at most so many submitted and reaped at a time. Returns the device, and
/// the share of the depth that was in flight, by Little's law.
fn driven(iodepth: u32, batches: (u32, u32), service: Nanos) -> (Device, f64) {
    let mut plan = WorkerPlan {
        iodepth,
        iodepth_low: iodepth,
        number_ios: IOS,
        io_bytes: u64::MAX,
        time_based: false,
        ..plan(Rw::Randread)
    };
    plan.engine.submit_batch = batches.0.try_into().unwrap();
    plan.engine.reap_batch = batches.1;
    let mut worker = Worker::new(&plan).unwrap();
    worker.begin(0, 0, 0);
    let first = recorder::slice_of(&plan, true);
    let slices = slices_like(&first);
    let mut recorder = Recorder::new(Box::new(first), slices);
    recorder.begin(Cutter::of(&plan, 0, 1_000 * MILLISECOND), 0, 0);
    let state = Revocable::new(WorkerState {
        worker,
        recorder,
        busy: Busy::default(),
        log: None,
        verified: Default::default(),
    });
    let (signals, heartbeat) = (Signals::default(), Heartbeat::default());
    let looping = Loop {
        state: &state,
        signals: &signals,
        heartbeat: &heartbeat,
        iodepth,
        submit_batch: batches.0,
        tick: 100 * MILLISECOND,
        settle: &|| Ok(()),
        lets_start_until: MILLISECOND,
    };
    let mut device = Device {
        now: 0.into(),
        service,
        submit_batch: batches.0 as usize,
        reap_batch: batches.1 as usize,
        queue: VecDeque::new(),
        free_at: 0,
        seen: Vec::new(),
        latencies: 0,
    };
    assert!(matches!(
        looping.run(&mut device, Some(RealTimePriority::raise()), || ()),
        Ok(End::Finished(_))
    ));
    let held = device.latencies as f64 / device.now.get() as f64 / f64::from(iodepth);
    (device, held)
}

/// Holds whether the device or the thread is slower.
#[test]
fn a_free_slot_is_filled_before_the_next_completion_is_taken() {
    for iodepth in [8, 16, 32] {
        for service in [500, 2_400, 10_000] {
            let (device, held) = driven(iodepth, (1, 1), service);
            let before_the_end = &device.seen[..IOS as usize - iodepth as usize];
            assert!(before_the_end.iter().all(|&seen| seen == iodepth as usize));
            assert!((0.98..=1.0).contains(&held), "{iodepth}, {service}: {held}");
        }
    }
}

/// A reaped slot stays empty until its turn to be submitted again.
#[test]
fn taking_more_than_one_submission_refills_leaves_slots_empty() {
    let (device, held) = driven(32, (4, 32), 500);
    assert!(held < 0.95, "{held}");
    assert!(device.seen.iter().any(|&seen| seen < 16));
}

#[test]
fn a_job_that_asks_for_batches_gets_them() {
    let (device, _) = driven(16, (4, 4), 500);
    let taken_together = device
        .seen
        .windows(4)
        .filter(|seen| seen == &[16, 15, 14, 13]);
    assert!(taken_together.count() > IOS as usize / 4 - 16);
}
