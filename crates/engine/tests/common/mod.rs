//! Plans, files and requests for the tests of the engines.
#![allow(dead_code)]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use iogauge_core::plan::{
    BufferPlan, Distribution, EngineKind, EnginePlan, FilePlan, PatternPlan, PerDirection, Rw,
    SchedulePlan, SizesPlan, SyncMode, WorkerPlan,
};
use iogauge_core::{Completion, Kind, Request};
use iogauge_engine::{Clock, Engine, Error, UseEngine, Waiter};

/// A file that is gone when the test is over, open for the plan.
pub struct Scratch {
    pub path: PathBuf,
    pub file: std::fs::File,
}

impl Scratch {
    /// In the target directory: on a real filesystem, where the system's temporary one may be in memory.
    pub fn new(bytes: &[u8]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "engine-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = option_env!("CARGO_TARGET_TMPDIR")
            .map_or_else(std::env::temp_dir, PathBuf::from)
            .join(name);
        std::fs::write(&path, bytes).unwrap();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        file.sync_all().unwrap();
        Scratch { path, file }
    }

    pub fn content(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub fn plan(&self) -> FilePlan {
        FilePlan {
            path: self.path.display().to_string(),
            fd: self.file.as_raw_fd(),
            writable: true,
            is_block_device: false,
            region_offset_bytes: 0,
            region_bytes: self.file.metadata().unwrap().len(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

pub fn same<T: Clone>(value: T) -> PerDirection<T> {
    PerDirection {
        read: value.clone(),
        write: value.clone(),
        trim: value,
    }
}

/// 4 KiB requests at a depth of eight, random content, nothing special.
pub fn plan(kind: EngineKind, rw: Rw, files: Vec<FilePlan>) -> WorkerPlan {
    let sizes = SizesPlan {
        minimum_bytes: 4096,
        maximum_bytes: 4096,
        split: Vec::new(),
        align_bytes: 4096,
    };
    WorkerPlan {
        name: "test".into(),
        job: 0,
        clone: 0,
        row: 0,
        seed: 42,
        engine: EnginePlan {
            kind,
            direct: false,
            sync: SyncMode::None,
            hipri: false,
            fixedbufs: false,
            registerfiles: false,
            sqthread_poll: false,
            sqthread_poll_cpu: None,
            submit_batch: None,
            reap_batch: None,
        },
        pattern: PatternPlan {
            rw,
            sequence: 0,
            sizes: same(sizes),
            distribution: same(Distribution::Random),
            percentage_random: same(100.0),
            rwmix_read_percent: 50.0,
            random_map: false,
            fsync_every: 0,
            fdatasync_every: 0,
        },
        files,
        buffers: BufferPlan {
            refill: false,
            zero: false,
            scramble: true,
            compress_percent: 0.0,
            dedupe_percent: 0.0,
        },
        iodepth: 8,
        iodepth_low: 8,
        complete_min: 1,
        runtime_ns: 0,
        time_based: false,
        ramp_ns: 0,
        start_delay_ns: 0,
        io_bytes: 0,
        number_ios: 0,
        loops: 1,
        schedule: same(SchedulePlan {
            rate_iops: 0,
            rate_Bps: 0,
            rate_min_Bps: 0,
        }),
        poisson: false,
        thinktime_ns: 0,
        thinktime_spin_ns: 0,
        thinktime_blocks: 1,
        cpus: Vec::new(),
        replay_loops: true,
        spin: false,
        exitall: false,
        group: 0,
        invalidate: false,
        continue_on_read_error: false,
        continue_on_write_error: false,
    }
}

pub fn request(slot: u32, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Request {
    Request {
        slot,
        target: 0,
        kind,
        offset_bytes,
        length_bytes,
        intended: 0,
        ready: 0,
    }
}

/// What a test does with an engine, whichever it is.
pub trait Scenario {
    fn play<E: Engine>(&mut self, engine: &mut E);
}

struct Play<'a, S>(&'a mut S);

impl<S: Scenario> UseEngine for Play<'_, S> {
    type Out = ();
    fn run<E: Engine>(self, mut engine: E) {
        self.0.play(&mut engine);
    }
}

pub fn play(plan: &WorkerPlan, scenario: &mut impl Scenario) -> Result<(), Error> {
    let clock = Clock::get();
    iogauge_engine::open(plan, clock, Waiter::new(clock, plan.spin), Play(scenario))
}

/// Does all requests, in as many submissions as the engine wants, and returns their completions by slot.
pub fn do_all<E: Engine>(engine: &mut E, requests: &[Request]) -> Vec<Completion> {
    let mut done = Vec::new();
    let mut submitted = 0;
    while submitted < requests.len() {
        let before = engine.now();
        let taken = engine.submit(&requests[submitted..]).unwrap();
        assert!(taken >= 1);
        assert!(engine.now() >= before);
        submitted += taken;
        if E::BLOCKS {
            engine.reap(1, None, &mut done).unwrap();
        }
    }
    // A signal may end a reap early, with nothing to show for it.
    for _ in 0..10_007 {
        if done.len() == requests.len() {
            break;
        }
        let missing = (requests.len() - done.len()) as u32;
        engine.reap(missing, None, &mut done).unwrap();
    }
    assert_eq!(done.len(), requests.len());
    done.sort_by_key(|completion| completion.slot);
    for completion in &done {
        let issued = completion.issued.unwrap_or(completion.start);
        assert!(
            completion.start <= issued && issued <= completion.done,
            "{completion:?}"
        );
    }
    done
}
