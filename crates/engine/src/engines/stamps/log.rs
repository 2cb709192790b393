//! The stamp log of one target, which all of its workers share, and the thread that writes it.
//!
//! One lock orders the records, so that they are in the order of what happened. Under it, workers only append to memory;
//! the thread takes what is pending, writes it, and syncs the file now and then. If the thread falls behind, a worker
//! that wants to write waits for it: a write without a record could not be judged. Ends of requests never wait; the
//! depths of the workers bound their number.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iogauge_core::plan::StampLogPlan;
use iogauge_core::results::StampLogResult;
use iogauge_stamp::{Generations, Header, RECORD_BYTES, Record};

use crate::engines::files;
use crate::error::Error;

/// Bytes of records from which on workers wait: 60 ms at a million writes a second.
const MOST_PENDING: usize = 4 << 20;

/// How long the writing thread waits for records, and how often the end of the run looks for it.
const PAUSE: Duration = Duration::from_millis(2);

/// How long records may be in the page cache alone.
const SYNC_EVERY: Duration = Duration::from_millis(100);

/// What is under the lock.
#[derive(Debug)]
struct Pending {
    /// Until the first record.
    header: Option<Header>,
    records: Vec<u8>,
    generations: Generations,
    writes: u64,
    flushes: u64,
    /// A flush has failed. The kernel may have dropped what it could not write, so no later flush is noted as complete.
    flush_failed: bool,
    /// When the writing thread last took what was pending.
    taken_at: Instant,
    /// No record follows.
    is_ending: bool,
    /// Why no more is written.
    failure: Option<String>,
}

impl Pending {
    fn add(&mut self, record: Record) {
        if self.failure.is_some() {
            return;
        }
        // The file of a run that writes nothing stays empty.
        if let Some(header) = self.header.take() {
            self.records.extend_from_slice(&header.encode());
        }
        self.records.extend_from_slice(&record.encode());
    }

    fn is_full(&self) -> bool {
        self.records.len() >= MOST_PENDING && self.failure.is_none()
    }
}

#[derive(Debug)]
struct Shared {
    path: String,
    run: u64,
    block_bytes: u32,
    pending: Mutex<Pending>,
    /// The writing thread has taken what was pending, or the log has failed.
    has_room: Condvar,
    /// Workers wait for room, or no record follows.
    has_work: Condvar,
    /// Set once everything is in the file, or the log is given up.
    written: OnceLock<()>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: String) {
        let mut pending = self.lock();
        pending.failure.get_or_insert(why);
        pending.records = Vec::new();
        self.has_room.notify_all();
    }
}

/// The stamp log of one target.
#[derive(Clone, Debug)]
pub struct StampLog {
    shared: Arc<Shared>,
}

impl StampLog {
    /// Starts the log that `plan` names.
    ///
    /// # Errors
    /// If the file cannot be opened, or no thread can be started.
    pub fn start(plan: &StampLogPlan) -> Result<Self, Error> {
        let file = files::reopen_for_writing(plan.fd).map_err(|cause| Error::Call {
            call: "opening the stamp log",
            cause,
        })?;
        let size_bytes = plan.end_bytes - plan.start_bytes;
        let shared = Arc::new(Shared {
            path: plan.path.clone(),
            run: plan.run,
            block_bytes: plan.block_bytes,
            pending: Mutex::new(Pending {
                header: Some(Header {
                    run: plan.run,
                    block_bytes: plan.block_bytes,
                    zeroes: false,
                }),
                records: Vec::with_capacity(MOST_PENDING + RECORD_BYTES),
                generations: Generations::new(plan.start_bytes, size_bytes, plan.block_bytes),
                writes: 0,
                flushes: 0,
                flush_failed: false,
                taken_at: Instant::now(),
                is_ending: false,
                failure: None,
            }),
            has_room: Condvar::new(),
            has_work: Condvar::new(),
            written: OnceLock::new(),
        });
        let own = shared.clone();
        thread::Builder::new()
            .name("iogauge-stamps".into())
            .spawn(move || write_out(&own, file))
            .map_err(|cause| Error::NoThread {
                what: "the stamp log".into(),
                cause,
            })?;
        Ok(Self { shared })
    }

    /// Returns the bytes of memory that the log of `plan` takes.
    pub(crate) fn needed_bytes(plan: &StampLogPlan) -> u64 {
        let blocks = (plan.end_bytes - plan.start_bytes).div_ceil(plan.block_bytes.into());
        4 * blocks + 2 * MOST_PENDING as u64
    }

    /// Returns the number of the run in each stamp.
    pub(crate) fn run(&self) -> u64 {
        self.shared.run
    }

    /// Returns the bytes of a block.
    pub(crate) fn block_bytes(&self) -> u32 {
        self.shared.block_bytes
    }

    /// Notes that a write is about to be issued. Returns its number, and in `generations` those of its blocks. Waits
    /// while the writing thread is behind.
    pub(crate) fn write_begins(
        &self,
        offset_bytes: u64,
        length_bytes: u32,
        fua: bool,
        generations: &mut Vec<u32>,
    ) -> u64 {
        let block_bytes = self.shared.block_bytes;
        assert!(
            offset_bytes.is_multiple_of(block_bytes.into())
                && length_bytes.is_multiple_of(block_bytes),
            "not whole blocks: {length_bytes} bytes at {offset_bytes}"
        );
        let mut pending = self.with_room();
        pending.writes += 1;
        let sequence = pending.writes;
        pending.add(Record::Write {
            sequence,
            file: 0,
            offset_bytes,
            length_bytes,
            fua,
        });
        generations.clear();
        let blocks =
            (offset_bytes..offset_bytes + u64::from(length_bytes)).step_by(block_bytes as usize);
        generations.extend(blocks.map(|block| pending.generations.next(block)));
        sequence
    }

    /// Notes that a flush is about to be issued. Returns its number. Waits while the writing thread is behind.
    pub(crate) fn flush_begins(&self) -> u64 {
        let mut pending = self.with_room();
        pending.flushes += 1;
        let sequence = pending.flushes;
        pending.add(Record::Flush { sequence, file: 0 });
        sequence
    }

    /// Notes that a write has ended, or a flush has completed.
    pub(crate) fn ended(&self, record: Record) {
        let mut pending = self.shared.lock();
        if !(pending.flush_failed && matches!(record, Record::Flushed { .. })) {
            pending.add(record);
        }
    }

    /// Notes that a flush has failed.
    pub(crate) fn flush_failed(&self) {
        self.shared.lock().flush_failed = true;
    }

    fn with_room(&self) -> MutexGuard<'_, Pending> {
        let shared = &self.shared;
        let mut pending = shared.lock();
        while pending.is_full() {
            shared.has_work.notify_one();
            pending = shared
                .has_room
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner);
        }
        pending
    }

    /// Returns why the log ended before the run, if it did. It fails once workers wait for its disk for longer than
    /// `patience`.
    pub(crate) fn failure(&self, patience: Duration) -> Option<String> {
        let pending = self.shared.lock();
        let failure = pending.failure.clone();
        let is_stuck = pending.is_full() && pending.taken_at.elapsed() > patience;
        drop(pending);
        if is_stuck {
            self.shared
                .fail(format!("its disk took no data for {patience:?}"));
        }
        failure
    }

    /// Waits until all records are in the file, as long as `should_continue` returns true, at most for `patience`.
    pub(crate) fn close(&self, patience: Duration, mut should_continue: impl FnMut() -> bool) {
        self.shared.lock().is_ending = true;
        self.shared.has_work.notify_one();
        let since = Instant::now();
        // After a failure the writing thread may be stuck in a call to the disk.
        while self.shared.written.get().is_none() && self.shared.lock().failure.is_none() {
            if !should_continue() || since.elapsed() > patience {
                self.shared
                    .fail("the run ended before its disk took all records".into());
                return;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns what the log holds.
    pub(crate) fn result(&self) -> StampLogResult {
        let pending = self.shared.lock();
        StampLogResult {
            path: self.shared.path.clone(),
            run: self.shared.run,
            writes: pending.writes,
            flushes: pending.flushes,
            failure: pending.failure.clone(),
        }
    }
}

/// Writes records to the file until the log ends or fails.
fn write_out(shared: &Shared, mut file: File) {
    let mut records = Vec::with_capacity(MOST_PENDING + RECORD_BYTES);
    let mut synced_at = Instant::now();
    let mut is_synced = true;
    loop {
        let mut pending = shared.lock();
        if pending.records.is_empty() && !pending.is_ending {
            let waited = shared.has_work.wait_timeout(pending, PAUSE);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut pending.records, &mut records);
        pending.taken_at = Instant::now();
        let is_over = pending.is_ending && records.is_empty();
        let has_failed = pending.failure.is_some();
        drop(pending);
        shared.has_room.notify_all();
        if has_failed {
            break;
        }
        is_synced &= records.is_empty();
        let mut done = file.write_all(&records);
        records.clear();
        if !is_synced && (is_over || synced_at.elapsed() > SYNC_EVERY) {
            done = done.and_then(|()| synced(&file));
            (is_synced, synced_at) = (true, Instant::now());
        }
        if let Err(cause) = done {
            shared.fail(cause.to_string());
            break;
        }
        if is_over {
            break;
        }
    }
    let _ = shared.written.set(());
}

/// Makes what was written durable, except to a pipe, which has nothing durable.
fn synced(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;

    use iogauge_stamp::LogReader;

    use super::*;

    fn plan(file: &impl AsRawFd) -> StampLogPlan {
        StampLogPlan {
            path: "stamps.log".into(),
            fd: file.as_raw_fd(),
            run: 7,
            block_bytes: 4096,
            start_bytes: 8192,
            end_bytes: 16384,
        }
    }

    fn read(bytes: &[u8]) -> Vec<Record> {
        let (mut reader, mut records) = (LogReader::default(), Vec::new());
        reader
            .feed(bytes, |_, record| records.push(record))
            .unwrap();
        assert_eq!(reader.header().unwrap().run, 7);
        records
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn records_are_in_the_order_of_what_happened() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = StampLog::start(&plan(file.as_file())).unwrap();
        let mut generations = Vec::new();
        assert_eq!(log.write_begins(8192, 8192, false, &mut generations), 1);
        assert_eq!(generations, [1, 1]);
        log.ended(Record::Written { sequence: 1 });
        assert_eq!(log.flush_begins(), 1);
        assert_eq!(log.write_begins(12288, 4096, true, &mut generations), 2);
        assert_eq!(generations, [2]);
        log.ended(Record::Flushed { sequence: 1 });
        log.ended(Record::Failed { sequence: 2 });
        log.close(PATIENCE, || true);
        let result = log.result();
        assert_eq!(
            (result.writes, result.flushes, result.failure),
            (2, 1, None)
        );
        let write = |sequence, offset_bytes, length_bytes, fua| Record::Write {
            sequence,
            file: 0,
            offset_bytes,
            length_bytes,
            fua,
        };
        assert_eq!(
            read(&std::fs::read(file.path()).unwrap()),
            [
                write(1, 8192, 8192, false),
                Record::Written { sequence: 1 },
                Record::Flush {
                    sequence: 1,
                    file: 0
                },
                write(2, 12288, 4096, true),
                Record::Flushed { sequence: 1 },
                Record::Failed { sequence: 2 },
            ]
        );
    }

    #[test]
    fn after_a_failed_flush_none_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = StampLog::start(&plan(file.as_file())).unwrap();
        log.flush_begins();
        log.flush_failed();
        log.flush_begins();
        log.ended(Record::Flushed { sequence: 2 });
        log.close(PATIENCE, || true);
        let flush = |sequence| Record::Flush { sequence, file: 0 };
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(read(&bytes), [flush(1), flush(2)]);
    }

    #[test]
    fn a_log_without_records_stays_empty() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let log = StampLog::start(&plan(file.as_file())).unwrap();
        log.close(PATIENCE, || true);
        assert_eq!(file.as_file().metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_disk_that_does_not_answer_ends_the_log_and_holds_nobody_up() {
        let (_reader, writer) = io::pipe().unwrap();
        let log = StampLog::start(&plan(&writer)).unwrap();
        let worker = {
            let log = log.clone();
            thread::spawn(move || {
                let mut generations = Vec::new();
                for _ in 0..3 * MOST_PENDING / RECORD_BYTES {
                    log.write_begins(8192, 4096, false, &mut generations);
                }
            })
        };
        let begun = Instant::now();
        while log.failure(Duration::from_millis(1)).is_none() {
            assert!(begun.elapsed() < PATIENCE);
            thread::yield_now();
        }
        worker.join().unwrap();
        assert!(
            log.result()
                .failure
                .unwrap()
                .contains("its disk took no data")
        );
    }

    #[test]
    fn workers_wait_for_a_slow_disk_and_no_record_is_lost() {
        let (mut reader, writer) = io::pipe().unwrap();
        let log = StampLog::start(&plan(&writer)).unwrap();
        drop(writer);
        let records = 3 * MOST_PENDING / RECORD_BYTES;
        let worker = {
            let log = log.clone();
            thread::spawn(move || {
                let mut generations = Vec::new();
                for _ in 0..records {
                    log.write_begins(8192, 4096, false, &mut generations);
                    assert!(log.shared.lock().records.len() <= MOST_PENDING + RECORD_BYTES);
                }
                log.close(PATIENCE, || true);
            })
        };
        let mut bytes = Vec::new();
        // The pipe ends once the writing thread closes its file.
        io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
        worker.join().unwrap();
        let sequences = read(&bytes).into_iter().map(|record| match record {
            Record::Write { sequence, .. } => sequence,
            other => panic!("{other:?}"),
        });
        assert!(sequences.eq(1..=records as u64));
    }

    #[test]
    fn a_log_that_cannot_be_written_says_why_and_holds_nobody_up() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let log = StampLog::start(&plan(&full)).unwrap();
        log.flush_begins();
        let begun = Instant::now();
        while log.failure(PATIENCE).is_none() {
            assert!(begun.elapsed() < PATIENCE);
            thread::yield_now();
        }
        let mut generations = Vec::new();
        for _ in 0..2 * MOST_PENDING / RECORD_BYTES {
            log.write_begins(8192, 4096, false, &mut generations);
        }
        log.close(PATIENCE, || true);
        assert!(log.result().failure.unwrap().contains("No space left"));
    }
}
