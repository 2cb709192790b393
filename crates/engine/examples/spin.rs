//! How much an engine costs by itself: the shortest loop around it, without worker and recorder.
//!
//! `cargo run --release --example spin -- ENGINE PATH DEPTH BATCH SECONDS [OPTION...]`, where an option is one of
//! `direct fixedbufs registerfiles sqthread_poll hipri write refill noscramble wait_for_batch spinning unpinned facts`. Reads 4 KiB blocks at random.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use iogauge_core::plan::{EngineKind, FilePlan, Rw};
use iogauge_core::{Completion, Kind, Nanos, Request};
use iogauge_engine::{Clock, Engine, UseEngine, Waiter, affinity, open, sleep_slack};

const BLOCK: u32 = 4096;

struct Spin {
    depth: u32,
    batch: usize,
    /// Completions waited for at a time.
    min: u32,
    length: Nanos,
    blocks: u64,
    kind: Kind,
}

impl UseEngine for Spin {
    type Out = ();

    fn run<E: Engine>(self, mut engine: E) {
        let mut free: Vec<u32> = (0..self.depth).collect();
        let mut batch: Vec<Request> = Vec::with_capacity(self.batch);
        let mut done: Vec<Completion> = Vec::with_capacity(self.depth as usize);
        let (mut state, mut ios, mut lat, mut slat) = (1u64, 0u64, 0u64, 0u64);
        let before = affinity::thread_usage();
        let start = engine.now();
        let mut now = start;
        while now < start + self.length {
            while let Some(slot) = free.pop() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let block = ((u128::from(state) * u128::from(self.blocks)) >> 64) as u64;
                batch.push(Request {
                    slot,
                    target: 0,
                    kind: self.kind,
                    offset_bytes: block * u64::from(BLOCK),
                    length_bytes: BLOCK,
                    intended: now,
                    ready: now,
                });
                if batch.len() == self.batch || free.is_empty() {
                    let mut sent = 0;
                    while sent < batch.len() {
                        sent += engine.submit(&batch[sent..]).expect("submits");
                    }
                    batch.clear();
                }
            }
            engine.reap(self.min, None, &mut done).expect("reaps");
            for completion in done.drain(..) {
                completion.result.expect("reads");
                ios += 1;
                lat += completion.done - completion.start;
                slat += completion
                    .issued
                    .map_or(0, |issued| issued - completion.start);
                now = completion.done;
                free.push(completion.slot);
            }
        }
        let usage = affinity::thread_usage().since(before);
        let elapsed = now - start;
        let each = |total: u64| total as f64 / ios as f64;
        println!(
            "{:.3} M IOPS, {:.1} ns each; user {:.1} system {:.1}; lat {:.1} slat {:.1}; switches {}+{} migrations {}",
            ios as f64 / elapsed as f64 * 1e3,
            each(elapsed),
            each(usage.user_ns),
            each(usage.system_ns),
            each(lat),
            each(slat),
            usage.voluntary_switches,
            usage.involuntary_switches,
            usage.migrations,
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, path, depth, batch, seconds, options @ ..] = arguments.as_slice() else {
        eprintln!("usage: spin ENGINE PATH DEPTH BATCH SECONDS [OPTION...]");
        std::process::exit(2);
    };
    let has = |name: &str| options.iter().any(|option| option == name);
    let kind =
        serde_json::from_value::<EngineKind>(engine.as_str().into()).expect("an engine's name");
    let file = (kind != EngineKind::Null).then(|| {
        OpenOptions::new()
            .read(true)
            .write(has("write"))
            .open(path)
            .expect("a file")
    });
    let size = file.as_ref().map_or(1 << 30, |file| {
        let mut file = file;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).expect("a size")
    });
    let plan_file = FilePlan {
        path: path.clone(),
        fd: file.as_ref().map_or(-1, AsRawFd::as_raw_fd),
        writable: has("write"),
        is_block_device: file.as_ref().is_some_and(|file| {
            file.metadata()
                .expect("facts")
                .file_type()
                .is_block_device()
        }),
        region_offset_bytes: 0,
        region_bytes: size,
    };
    let rw = if has("write") {
        Rw::Randwrite
    } else {
        Rw::Randread
    };
    let mut plan = common::plan(kind, rw, vec![plan_file]);
    plan.iodepth = depth.parse().expect("a depth");
    plan.engine.direct = has("direct");
    plan.engine.fixedbufs = has("fixedbufs");
    plan.engine.registerfiles = has("registerfiles");
    plan.engine.sqthread_poll = has("sqthread_poll");
    plan.engine.hipri = has("hipri");
    plan.buffers.refill = has("refill");
    plan.buffers.scramble = !has("noscramble");
    if has("wait_for_batch") {
        plan.complete_min = batch.parse().expect("a batch");
    }
    let clock = Clock::get();
    if has("facts") {
        println!("{:?}, slack {} ns", clock.facts(), sleep_slack());
    }
    for note in iogauge_engine::probe::check(&plan).expect("can run") {
        println!("{}: {} ({})", note.code, note.message, note.hint);
    }
    if !has("unpinned") {
        affinity::run_on(&affinity::allowed_cpus().expect("CPUs")[..1]).expect("pins");
    }
    let spin = Spin {
        depth: plan.iodepth,
        batch: batch.parse().expect("a batch"),
        min: plan.complete_min,
        length: (seconds.parse::<f64>().expect("seconds") * 1e9) as Nanos,
        blocks: size / u64::from(BLOCK),
        kind: if has("write") {
            Kind::Write
        } else {
            Kind::Read
        },
    };
    open(&plan, clock, Waiter::new(clock, has("spinning")), spin).expect("opens");
}
