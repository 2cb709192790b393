//! Counts what a flash drive did. A real drive does not report it.

use std::ops::AddAssign;

/// Counts since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NandCounters {
    /// Pages that dies read for the host; several planes at once count as one.
    pub page_reads: u64,
    /// Of these, the reads that were retried.
    pub read_retries: u64,
    /// Chunks read while they were still in the buffer.
    pub buffer_hits: u64,
    /// Chunks read that were never written or were trimmed, so no die has them.
    pub unwritten_reads: u64,
    /// Chunks read because a write covered only part of them.
    pub modify_reads: u64,
    /// Chunks that the host wrote.
    pub chunks_written: u64,
    /// Chunks of these that have left the buffer.
    pub chunks_programmed: u64,
    /// Programs for these, of one page on each plane, outside the SLC region.
    pub host_programs: u64,
    /// The same, in the SLC region.
    pub slc_programs: u64,
    /// Programs of data that left the SLC region.
    pub fold_programs: u64,
    /// Programs of data that collection moved.
    pub move_programs: u64,
    /// Erases, of one block on each plane.
    pub erases: u64,
    /// Capacity of all these programs, in chunks.
    pub chunks_of_programs: u64,
}

impl NandCounters {
    /// Returns the chunks programmed, including padding, for each chunk of the host that was programmed; 1 if there was
    /// none.
    pub fn write_amplification(&self) -> f64 {
        match self.chunks_programmed {
            0 => 1.0,
            chunks => self.chunks_of_programs as f64 / chunks as f64,
        }
    }
}

impl AddAssign for NandCounters {
    fn add_assign(&mut self, other: Self) {
        self.page_reads += other.page_reads;
        self.read_retries += other.read_retries;
        self.buffer_hits += other.buffer_hits;
        self.unwritten_reads += other.unwritten_reads;
        self.modify_reads += other.modify_reads;
        self.chunks_written += other.chunks_written;
        self.chunks_programmed += other.chunks_programmed;
        self.host_programs += other.host_programs;
        self.slc_programs += other.slc_programs;
        self.fold_programs += other.fold_programs;
        self.move_programs += other.move_programs;
        self.erases += other.erases;
        self.chunks_of_programs += other.chunks_of_programs;
    }
}

/// How often blocks were erased since the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// Mean of all blocks.
    pub mean_erases: f64,
    /// The most of any block.
    pub most_erases: u32,
}

impl Wear {
    pub(super) fn of(erases: &[u32]) -> Self {
        let sum: u64 = erases.iter().map(|&erases| u64::from(erases)).sum();
        Self {
            mean_erases: sum as f64 / erases.len() as f64,
            most_erases: erases.iter().copied().max().unwrap_or(0),
        }
    }
}
