//! Plans, files and requests for the tests of the engines.
#![allow(dead_code)]

pub mod namespace;
pub mod variants;

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use iogauge_core::plan::{BufferPlan, EngineKind, EnginePlan, FilePlan, Rw, WorkerPlan};
use iogauge_core::testing;
use iogauge_core::{Completion, Kind, Request};
use iogauge_engine::{Clock, Engine, Error, UseEngine, Waiter};

/// Bytes of a block.
pub const BLOCK: usize = 4096;

/// Returns blocks that all differ.
pub fn numbered(blocks: usize) -> Vec<u8> {
    (0..blocks * BLOCK)
        .map(|i| (i / BLOCK * 31 + i % 251) as u8)
        .collect()
}

/// A file that exists for one test, open for the plan.
pub struct Scratch {
    pub path: PathBuf,
    pub file: std::fs::File,
}

impl Scratch {
    /// Creates it in the target directory, which is on a real filesystem; the system's temporary one may be in memory.
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
            file_bytes: self.file.metadata().unwrap().len(),
            region_offset_bytes: 0,
            region_bytes: self.file.metadata().unwrap().len(),
            namespace: None,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns a plan: 4 KiB requests at a depth of eight, random content.
pub fn plan(kind: EngineKind, rw: Rw, files: Vec<FilePlan>) -> WorkerPlan {
    let ordinary = testing::plan(rw);
    WorkerPlan {
        engine: EnginePlan {
            kind,
            ..ordinary.engine
        },
        buffers: BufferPlan {
            scramble: true,
            ..ordinary.buffers
        },
        files,
        complete_min: 1,
        ..ordinary
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
        check: Default::default(),
        priority: 0,
    }
}

/// A test's actions on an engine of any kind.
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

/// Makes all requests, in as many submissions as the engine needs, and returns their completions by slot.
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
    // A signal may end a reap early, without completions.
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
