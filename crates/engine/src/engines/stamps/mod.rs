//! Puts stamps into what one worker writes, and notes in the target's log when its writes and flushes begin and end.

mod log;

use iogauge_core::plan::{SyncMode, WorkerPlan};
use iogauge_core::{Errno, Kind, Request};
use iogauge_stamp::{Record, Stamp};

pub use log::StampLog;

/// Stamps the writes of one worker.
#[derive(Debug)]
pub(crate) struct Stamper {
    log: StampLog,
    /// Whether a write is durable once it has completed.
    fua: bool,
    /// The number of the write or flush in each slot.
    numbers: Box<[u64]>,
    /// The generations of the blocks of one write.
    generations: Vec<u32>,
}

impl Stamper {
    pub(crate) fn new(log: StampLog, plan: &WorkerPlan) -> Self {
        let most = plan.pattern.sizes.write.largest_bytes() / log.block_bytes();
        Self {
            fua: plan.engine.sync != SyncMode::None,
            numbers: vec![0; plan.iodepth as usize].into(),
            generations: Vec::with_capacity(most as usize),
            log,
        }
    }

    /// Stamps the buffer of a write that is about to be issued.
    pub(crate) fn write_begins(&mut self, request: &Request, buffer: &mut [u8]) {
        let offset_bytes = request.offset_bytes;
        let sequence = self.log.write_begins(
            offset_bytes,
            request.length_bytes,
            self.fua,
            &mut self.generations,
        );
        self.numbers[request.slot as usize] = sequence;
        let block_bytes = self.log.block_bytes() as usize;
        let blocks = buffer
            .chunks_exact_mut(block_bytes)
            .zip((offset_bytes..).step_by(block_bytes));
        for ((block, address_bytes), &generation) in blocks.zip(&self.generations) {
            let first = Stamp {
                run: self.log.run(),
                file: 0,
                address_bytes,
                sequence,
                generation,
            };
            first.write_all(block);
        }
    }

    /// Logs a flush that is about to be issued: an fsync or fdatasync.
    pub(crate) fn flush_begins(&mut self, request: &Request) {
        self.numbers[request.slot as usize] = self.log.flush_begins();
    }

    /// Notes that a request has ended. A write that was cut short may be there or not, as one that failed.
    pub(crate) fn ended(&mut self, request: &Request, result: Result<u32, Errno>) {
        let sequence = self.numbers[request.slot as usize];
        let record = match request.kind {
            Kind::Write if result == Ok(request.length_bytes) => Record::Written { sequence },
            Kind::Write => Record::Failed { sequence },
            Kind::Sync | Kind::DataSync if result.is_ok() => Record::Flushed { sequence },
            Kind::Sync | Kind::DataSync => return self.log.flush_failed(),
            // sync_file_range makes nothing durable: the drive's cache keeps what it got.
            Kind::Read | Kind::Trim | Kind::RangeSync => return,
        };
        self.log.ended(record);
    }
}
