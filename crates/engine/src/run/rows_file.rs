//! Reads the rows of a trace that a worker replays: when they are wanted, or ahead of time in a thread of its own.
//!
//! A drive model waits for rows in no time of its own, so it reads them when they are wanted. A worker's thread must
//! never wait for a file: another thread fills chunks and exchanges them for chunks that were used up.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use iogauge_core::Errno;
use iogauge_core::plan::ReplayPlan;
use iogauge_core::replay::{CHUNK_ROWS, Fed, Feed, Row};

use crate::error::Error;
use crate::run::exchange::Exchange;

/// Chunks beside the one in use: 8 MiB, 26 ms at ten million requests a second.
const CHUNKS: usize = 16;

/// How long the reading thread sleeps if all chunks are full: each time it wakes, it may delay the worker.
const PAUSE: Duration = Duration::from_millis(16);

/// The file with the rows of a trace.
#[derive(Debug)]
pub struct RowsFile {
    file: File,
    left: u64,
}

impl RowsFile {
    /// Opens the file of `plan` anew, at its first row.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(plan: &ReplayPlan) -> io::Result<Self> {
        Ok(Self {
            file: File::open(format!("/proc/self/fd/{}", plan.fd))?,
            left: plan.rows,
        })
    }

    /// Replaces `chunk` by the next rows. Returns false at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter than its plan says.
    pub fn read(&mut self, chunk: &mut Vec<Row>) -> io::Result<bool> {
        let count = self.left.min(CHUNK_ROWS as u64);
        chunk.resize(count as usize, Row::default());
        self.file.read_exact(Row::bytes_of(chunk))?;
        self.left -= count;
        Ok(count > 0)
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::ENODATA)
}

impl Feed for RowsFile {
    fn exchange(&mut self, chunk: &mut Vec<Row>) -> Fed {
        match self.read(chunk) {
            Ok(true) => Fed::Chunk,
            Ok(false) => Fed::End,
            Err(error) => Fed::Failed(Errno(errno(&error))),
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Nothing follows what is in the queue.
    ended: AtomicBool,
    /// Why, if it is not the end of the trace; 0: it is.
    errno: AtomicI32,
    /// The worker wants nothing more.
    unwanted: AtomicBool,
}

/// Chunks that a thread of its own reads ahead.
#[derive(Debug)]
pub struct Prefetch {
    chunks: Exchange<Vec<Row>>,
    shared: Arc<Shared>,
}

impl Prefetch {
    /// Reads the first chunks, and starts the thread that reads the others.
    ///
    /// # Errors
    /// If the file cannot be opened, or the thread not started.
    pub fn start(plan: &ReplayPlan) -> Result<Self, Error> {
        let file = RowsFile::open(plan).map_err(|cause| Error::Open {
            path: "the rows of the trace".into(),
            access: "reading",
            cause,
        })?;
        let prefetch = Self {
            chunks: Exchange::new((0..CHUNKS).map(|_| Vec::with_capacity(CHUNK_ROWS))),
            shared: Arc::default(),
        };
        let mut reader = Reader {
            file,
            chunks: prefetch.chunks.clone(),
            shared: prefetch.shared.clone(),
        };
        reader.fill();
        thread::Builder::new()
            .name("iogauge-rows".into())
            .spawn(move || reader.run())
            .map_err(|cause| Error::NoThread {
                what: "the reader of a trace".into(),
                cause,
            })?;
        Ok(prefetch)
    }
}

impl Feed for Prefetch {
    fn exchange(&mut self, chunk: &mut Vec<Row>) -> Fed {
        // Rows may arrive between the look at the queue and the look at its end.
        let ended = self.shared.ended.load(Ordering::Acquire);
        let Some(next) = self.chunks.pop() else {
            return match self.shared.errno.load(Ordering::Relaxed) {
                _ if !ended => Fed::NotYet,
                0 => Fed::End,
                errno => Fed::Failed(Errno(errno)),
            };
        };
        let used = std::mem::replace(chunk, next);
        // The first one was never filled: it has no memory.
        if used.capacity() > 0 {
            self.chunks.give_back(used);
        }
        Fed::Chunk
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.shared.unwanted.store(true, Ordering::Relaxed);
    }
}

/// What the reading thread works on.
struct Reader {
    file: RowsFile,
    chunks: Exchange<Vec<Row>>,
    shared: Arc<Shared>,
}

impl Reader {
    fn run(mut self) {
        while !self.shared.ended.load(Ordering::Relaxed)
            && !self.shared.unwanted.load(Ordering::Relaxed)
        {
            thread::sleep(PAUSE);
            self.fill();
        }
    }

    /// Fills all chunks that are empty.
    fn fill(&mut self) {
        while let Some(mut chunk) = self.chunks.take_empty() {
            match self.file.read(&mut chunk) {
                Ok(true) => self.chunks.hand_over(chunk),
                Ok(false) => return self.shared.ended.store(true, Ordering::Release),
                Err(error) => {
                    self.shared.errno.store(errno(&error), Ordering::Relaxed);
                    return self.shared.ended.store(true, Ordering::Release);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use iogauge_core::plan::Pacing;

    use super::*;

    fn rows_file(rows: usize) -> (File, ReplayPlan) {
        let mut file = tempfile::tempfile().unwrap();
        let mut all: Vec<Row> = (0..rows)
            .map(|row| Row {
                due_ns: row as u64,
                ..Row::default()
            })
            .collect();
        file.write_all(Row::bytes_of(&mut all)).unwrap();
        let plan = ReplayPlan {
            fd: file.as_raw_fd(),
            rows: rows as u64,
            pacing: Pacing::Timed,
            trace_depth: 0,
            directions: Vec::new(),
        };
        (file, plan)
    }

    /// Takes all rows, waiting for those that are not ready; the last answer.
    fn drained(feed: &mut impl Feed) -> (Vec<u64>, Fed) {
        let (mut chunk, mut all) = (Vec::new(), Vec::new());
        loop {
            match feed.exchange(&mut chunk) {
                Fed::Chunk => all.extend(chunk.iter().map(|row| row.due_ns)),
                Fed::NotYet => thread::yield_now(),
                last => return (all, last),
            }
        }
    }

    #[test]
    fn both_ways_give_all_rows_in_order() {
        // More chunks than there are, and a last one that is not full.
        for rows in [1, CHUNK_ROWS, (CHUNKS + 3) * CHUNK_ROWS + 5] {
            let (_file, plan) = rows_file(rows);
            let all: Vec<u64> = (0..rows as u64).collect();
            assert!(drained(&mut RowsFile::open(&plan).unwrap()) == (all.clone(), Fed::End));
            assert!(drained(&mut Prefetch::start(&plan).unwrap()) == (all, Fed::End));
        }
    }

    #[test]
    fn a_file_that_is_too_short_fails_after_its_rows() {
        let (_file, mut plan) = rows_file(CHUNK_ROWS + 3);
        plan.rows += 1;
        for (rows, last) in [
            drained(&mut RowsFile::open(&plan).unwrap()),
            drained(&mut Prefetch::start(&plan).unwrap()),
        ] {
            assert_eq!(rows.len(), CHUNK_ROWS);
            assert!(matches!(last, Fed::Failed(_)));
        }
    }
}
