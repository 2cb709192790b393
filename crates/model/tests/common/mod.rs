//! Runs plans on entire drives behind entire machines, and returns their outcome.

// Each test file uses only a part of this file; units keep their case.
#![allow(dead_code, non_snake_case)]

pub mod any;
pub mod rich;

use iogauge_core::Nanos;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{EngineKind, EnginePlan, LogOverflow, RunPlan, Rw, SyncMode, WorkerPlan};
use iogauge_core::results::{DriveResult, RunResult};
use iogauge_core::testing::{self, BLOCK, file, same, stage};
use iogauge_core::time::SECOND;
use iogauge_model::{Device, Drive, DriveSpec, Event, Machine, RowParts, run};

/// One worker's load.
#[derive(Clone, Debug)]
pub struct Load {
    pub rw: Rw,
    pub bytes: u32,
    pub align_bytes: u32,
    pub depth: u32,
    pub submit_batch: u32,
    pub engine: EngineKind,
    pub polls: bool,
    pub durable: bool,
    pub fsync_every: u64,
    pub read_percent: f64,
    /// Number of requests; 0: no limit.
    pub ios: u64,
    /// Length of time; 0: no limit.
    pub runtime_ns: Nanos,
    pub rate_iops: u64,
    /// A pause after this many requests, if it is longer than 0 ns.
    pub pause: (u64, Nanos),
    /// Bytes that it uses, from the beginning of the drive.
    pub region_bytes: u64,
}

impl Load {
    /// Creates a load of 4 KiB at random on the first 32 MiB.
    pub fn new(rw: Rw, depth: u32) -> Self {
        Self {
            rw,
            bytes: BLOCK as u32,
            align_bytes: BLOCK as u32,
            depth,
            submit_batch: 1,
            engine: EngineKind::Libaio,
            polls: false,
            durable: false,
            fsync_every: 0,
            read_percent: 50.0,
            ios: 0,
            runtime_ns: 0,
            rate_iops: 0,
            pause: (1, 0),
            region_bytes: any::CAPACITY,
        }
    }

    /// Returns the plan of the `index`-th worker of its run, which has its own row.
    fn worker(&self, index: usize) -> WorkerPlan {
        let mut plan = testing::plan(self.rw);
        for sizes in [
            &mut plan.pattern.sizes.read,
            &mut plan.pattern.sizes.write,
            &mut plan.pattern.sizes.trim,
        ] {
            (sizes.minimum_bytes, sizes.maximum_bytes) = (self.bytes, self.bytes);
            sizes.align_bytes = self.align_bytes;
        }
        plan.pattern.fsync_every = self.fsync_every;
        plan.pattern.rwmix_read_percent = self.read_percent;
        WorkerPlan {
            row: index as u32,
            seed: index as u64,
            engine: EnginePlan {
                kind: self.engine,
                hipri: self.polls,
                sync: if self.durable {
                    SyncMode::Dsync
                } else {
                    SyncMode::None
                },
                submit_batch: self.submit_batch.try_into().expect("positive"),
                ..plan.engine
            },
            files: vec![file(self.region_bytes / BLOCK)],
            iodepth: self.depth,
            iodepth_low: self.depth,
            number_ios: self.ios,
            runtime_ns: self.runtime_ns,
            time_based: self.ios == 0,
            schedule: same(testing::iops(self.rate_iops)),
            poisson: true,
            thinktime_ns: self.pause.1,
            thinktime_blocks: self.pause.0,
            thinktime_at_issue: true,
            ..plan
        }
    }
}

/// Creates a plan of stages, each of loads that run side by side. Every request is logged.
pub fn plan(stages: &[Vec<Load>], seed: u64) -> RunPlan {
    let mut workers = 0;
    let stages = stages.iter().map(|loads| {
        let of_stage = loads.iter().map(|load| {
            workers += 1;
            load.worker(workers - 1)
        });
        stage(of_stage.collect())
    });
    RunPlan {
        schema_version: 1,
        seed,
        interval_ns: 10 * SECOND,
        give_up_ns: SECOND,
        start_at_ns: None,
        stages: stages.collect(),
        request_log: true,
        request_log_capacity: 1,
        log_overflow: LogOverflow::Wait,
        stamp_logs: Vec::new(),
    }
}

/// The outcome of a run.
pub struct RunOutcome {
    pub result: RunResult<()>,
    pub drive: DriveResult,
    pub log: Vec<LogRecord>,
    /// Where the time of each row's requests went, if they are explained.
    pub parts: Vec<RowParts>,
}

impl RunOutcome {
    /// Returns the host's requests a second, without syncs.
    pub fn iops(&self) -> f64 {
        self.data().count() as f64 * 1e9 / self.result.elapsed_ns as f64
    }

    /// Returns the requests that move or forget data.
    pub fn data(&self) -> impl Iterator<Item = &LogRecord> {
        self.log.iter().filter(|record| record.direction < 3)
    }

    /// Returns the requests of one worker, by its index in the run.
    pub fn of(&self, worker: usize) -> impl Iterator<Item = &LogRecord> {
        let own = move |record: &&LogRecord| record.worker == worker as u32;
        self.log.iter().filter(own)
    }
}

/// Runs a plan on a drive that was at rest.
pub fn outcome_of(plan: &RunPlan, machine: &Machine, spec: &DriveSpec) -> RunOutcome {
    outcome(plan, machine, Device::new(spec, plan.seed).unwrap())
}

/// Does the same, and explains the requests.
pub fn explained(plan: &RunPlan, machine: &Machine, spec: &DriveSpec) -> RunOutcome {
    let mut device = Device::new(spec, plan.seed).unwrap();
    device.explain();
    outcome(plan, machine, device)
}

fn outcome(plan: &RunPlan, machine: &Machine, mut device: Device) -> RunOutcome {
    let (mut log, mut parts) = (Vec::new(), Vec::new());
    let mut sink = |event| match event {
        Event::Request(record) => log.push(record),
        Event::Explained(row) => parts.push(*row),
        Event::Interval(_) | Event::Held(_) => {}
    };
    let drives = std::slice::from_mut(&mut device);
    let result = run(plan, machine, drives, (), &mut sink, &mut || true).unwrap();
    let drive = device.result("model", result.elapsed_ns);
    RunOutcome {
        result,
        drive,
        log,
        parts,
    }
}
