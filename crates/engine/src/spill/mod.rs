//! The request log while a run lasts: from the workers' memory into a file, by a thread of its own.
//!
//! Workers fill pieces of memory and exchange them for empty ones; the spilling thread encodes and writes them. Where a
//! worker's pieces are all full, its plan says what gives way: the worker issues nothing until one is empty, or it drops
//! records and counts them. Neither allocates, locks or blocks a worker's thread.
//!
//! A file that cannot be written, or a disk that does not answer, ends the log and not the run: what comes then is
//! dropped and counted.

mod file;
mod worker_log;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iogauge_core::log_record::LogRecord;

use crate::error::Error;
use crate::exchange::Exchange;
pub use file::{FrameReader, FrameWriter, Spilled};
pub use worker_log::WorkerLog;

/// How long the spilling thread sleeps where no piece is full.
const PAUSE: Duration = Duration::from_millis(2);

/// What workers fill.
type Pieces = Exchange<Vec<LogRecord>>;

/// The pieces of one worker, and whether it has handed over its last one.
#[derive(Clone, Debug)]
struct Lane {
    pieces: Pieces,
    ended: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Of workers that the spilling thread has not met yet.
    lanes: Mutex<Vec<Lane>>,
    /// Nothing is written any more: nobody waits for it.
    broken: AtomicBool,
    closing: AtomicBool,
    /// Counted up while the spilling thread is alive.
    beats: AtomicU64,
    /// The last beat that was seen, and when it was new.
    seen: Mutex<Option<(u64, Instant)>>,
    kept: AtomicU64,
    spilled: OnceLock<Spilled>,
}

impl Shared {
    fn lanes(&self) -> std::sync::MutexGuard<'_, Vec<Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A log that is being spilled.
#[derive(Clone, Debug)]
pub struct Spill {
    shared: Arc<Shared>,
}

impl Spill {
    /// Starts to spill behind all that `file` has.
    ///
    /// # Errors
    /// Where the file is none to write to, or no thread can be started.
    pub fn start(file: File) -> Result<Self, Error> {
        let file = FrameWriter::new(file).map_err(|cause| Error::Call {
            call: "opening the spill of the request log",
            cause,
        })?;
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        thread::Builder::new()
            .name("iogauge-spill".into())
            .spawn(move || spill(&own, file))
            .map_err(|cause| Error::NoThread {
                what: "the request log".into(),
                cause,
            })?;
        Ok(Self { shared })
    }

    /// What came of it, once it is closed.
    pub fn spilled(&self) -> Option<Spilled> {
        self.shared.spilled.get().cloned()
    }

    /// Whether the spilling thread has been inside one call for `patience`: from then on nobody waits for it.
    pub(crate) fn stuck(&self, patience: Duration) -> bool {
        let beats = self.shared.beats.load(Ordering::Relaxed);
        let mut seen = self
            .shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match *seen {
            Some((before, since)) if before == beats => {
                let stuck = since.elapsed() > patience;
                if stuck {
                    self.shared.broken.store(true, Ordering::Relaxed);
                }
                stuck
            }
            _ => {
                *seen = Some((beats, Instant::now()));
                false
            }
        }
    }

    /// Waits until all that was handed over is written, while `goes_on` says so and the thread is not stuck.
    pub(crate) fn close(&self, patience: Duration, mut goes_on: impl FnMut() -> bool) {
        self.shared.closing.store(true, Ordering::Release);
        while self.spilled().is_none() && goes_on() && !self.stuck(patience) {
            thread::sleep(PAUSE);
        }
        let kept = self.shared.kept.load(Ordering::Relaxed);
        self.shared.spilled.get_or_init(|| Spilled {
            kept,
            failure: Some(match self.stuck(patience) {
                true => format!("nothing could be written for {patience:?}"),
                false => "the run was ended before all of it was written".to_owned(),
            }),
        });
    }
}

/// The life of the spilling thread.
fn spill(shared: &Shared, mut file: FrameWriter) {
    let mut lanes: Vec<Lane> = Vec::new();
    loop {
        let closing = shared.closing.load(Ordering::Acquire);
        lanes.append(&mut shared.lanes());
        let mut idle = true;
        lanes.retain(|lane| {
            let ended = lane.ended.load(Ordering::Acquire);
            let Some(mut piece) = lane.pieces.pop() else {
                return !ended;
            };
            idle = false;
            file.add(&piece);
            if file.failed() {
                shared.broken.store(true, Ordering::Relaxed);
            }
            piece.clear();
            lane.pieces.give_back(piece);
            shared.beats.fetch_add(1, Ordering::Relaxed);
            true
        });
        if idle {
            file.flush();
        }
        shared.kept.store(file.kept(), Ordering::Relaxed);
        shared.beats.fetch_add(1, Ordering::Relaxed);
        if idle && closing {
            break;
        }
        if idle {
            thread::sleep(PAUSE);
        }
    }
    let _ = shared.spilled.set(file.end());
}
