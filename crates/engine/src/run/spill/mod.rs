//! The request log during a run: a separate thread moves it from the workers' memory into a file.
//!
//! Workers fill pieces of memory and exchange them for empty ones; the spilling thread encodes and writes them. If all
//! of a worker's pieces are full, the plan decides: the worker issues nothing until one is empty, or it drops records
//! and counts them. In both cases the worker's thread never allocates, locks or blocks.
//!
//! A file that cannot be written, or a disk that does not answer, ends the log but not the run. From then on workers
//! drop and count their records, and no more is written, so that the log has no hole.

mod file;
mod worker_log;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iogauge_core::log_record::LogRecord;

use crate::error::Error;
use crate::run::exchange::Exchange;
pub use file::{FrameReader, FrameWriter, Spilled};
pub use worker_log::WorkerLog;

/// How long the spilling thread sleeps if no piece is full, and [`Spill::close`] between two looks: each time it wakes, it
/// may delay a worker. At five million requests a second, the pieces of all workers hold 105 ms of requests.
const PAUSE: Duration = Duration::from_millis(8);

/// The pieces that workers fill.
type Pieces = Exchange<Vec<LogRecord>>;

/// The pieces of one worker, and whether it has handed over its last.
#[derive(Clone, Debug)]
struct Lane {
    pieces: Pieces,
    ended: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The lanes of workers that are new to the spilling thread.
    lanes: Mutex<Vec<Lane>>,
    /// Why the log ended before the run. No more is then added to it, and no worker waits for it.
    failure: OnceLock<String>,
    closing: AtomicBool,
    /// Increases while the spilling thread is alive.
    beats: AtomicU64,
    /// The last beat that was seen, and when it was first seen.
    seen: Mutex<Option<(u64, Instant)>>,
    kept: AtomicU64,
    spilled: OnceLock<Spilled>,
}

impl Shared {
    fn lanes(&self) -> std::sync::MutexGuard<'_, Vec<Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the log ended before the run.
    fn is_broken(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Ends the log before the run, unless it has ended.
    fn end(&self, why: String) {
        let _ = self.failure.set(why);
    }

    /// Sets the outcome of the log, unless it is set: a log that was given up is never complete.
    fn conclude(&self, kept: u64) {
        let failure = self.failure.get().cloned();
        let _ = self.spilled.set(Spilled { kept, failure });
    }
}

/// A log in progress.
#[derive(Clone, Debug)]
pub struct Spill {
    shared: Arc<Shared>,
}

impl Spill {
    /// Starts to append requests to `file`.
    ///
    /// # Errors
    /// If the file cannot be written to, or no thread can be started.
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

    /// Returns the outcome, once the log is closed.
    pub fn spilled(&self) -> Option<Spilled> {
        self.shared.spilled.get().cloned()
    }

    /// Whether the log ended before the run, because its file could not be written or was given up.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.is_broken()
    }

    /// Gives the log up once the spilling thread has been inside one call for longer than `patience`.
    pub(crate) fn watch(&self, patience: Duration) {
        let beats = self.shared.beats.load(Ordering::Relaxed);
        let mut seen = self
            .shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match *seen {
            Some((before, since)) if before == beats => {
                if since.elapsed() > patience {
                    let why = format!("nothing could be written for {patience:?}");
                    self.shared.end(why);
                }
            }
            _ => *seen = Some((beats, Instant::now())),
        }
    }

    /// Waits until everything handed over is written, as long as `should_continue` returns true and the log is not
    /// broken.
    pub(crate) fn close(&self, patience: Duration, mut should_continue: impl FnMut() -> bool) {
        self.shared.closing.store(true, Ordering::Release);
        while self.spilled().is_none() && !self.is_broken() && should_continue() {
            thread::sleep(PAUSE);
            self.watch(patience);
        }
        if self.spilled().is_none() {
            let why = "the run was ended before all of it was written";
            self.shared.end(why.to_owned());
            let kept = self.shared.kept.load(Ordering::Relaxed);
            self.shared.conclude(kept);
        }
    }

    /// Whether its thread is alive. The caller must hold the only other handle.
    #[cfg(test)]
    pub(crate) fn has_thread(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Creates a log without a thread that writes its file.
    #[cfg(test)]
    pub(crate) fn without_thread() -> Self {
        Self {
            shared: Arc::default(),
        }
    }
}

/// Does the spilling thread's work.
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
            // A broken log may lack the previous piece, so it gets no more.
            if !shared.is_broken() {
                file.add(&piece);
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
        if let Some(why) = file.failure() {
            shared.end(why);
        }
        shared.beats.fetch_add(1, Ordering::Relaxed);
        if idle && closing {
            break;
        }
        if idle {
            thread::sleep(PAUSE);
        }
    }
    // The last round was idle, so everything is written.
    shared.conclude(file.kept());
}
