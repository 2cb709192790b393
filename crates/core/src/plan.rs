//! The fully resolved plan of a run: the Rust twin of `python/iogauge/schema/plans.py`, field by field.
//!
//! Values are validated before they arrive; nothing here has a default.

mod endings;
mod engine;
mod flow;
mod hints;
mod memory;
mod places;
mod replay;
mod schedule;
mod stamps;
mod syncs;
mod verify;

use serde::Deserialize;

pub use self::flow::FlowPlan;
pub use endings::{ExitWhat, LatencyTargetPlan, SteadyFigure, SteadyPlan};
pub use engine::{EngineKind, EnginePlan, SyncMode};
pub use hints::{Advice, PriorityPlan};
pub use memory::{MemoryPlan, NumaMode, NumaPlan};
pub use places::{Distribution, StridesPlan, Zone};

pub use self::replay::{Pacing, ReplayPlan};
pub use self::schedule::SchedulePlan;
pub use self::stamps::StampLogPlan;
pub use self::syncs::RangeSync;
pub use self::verify::{Checksum, CompletedWrite, VerifyPlan, VerifyState, VerifyTrims};
use crate::request::{Direction, Latency};
use crate::time::Nanos;

/// fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Rw {
    Read,
    Write,
    Trim,
    Randread,
    Randwrite,
    Randtrim,
    Readwrite,
    Randrw,
    Trimwrite,
    Randtrimwrite,
}

impl Rw {
    /// Whether offsets are drawn at random.
    pub const fn random(self) -> bool {
        matches!(
            self,
            Rw::Randread | Rw::Randwrite | Rw::Randtrim | Rw::Randrw | Rw::Randtrimwrite
        )
    }

    /// Whether some requests are reads.
    pub const fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::Randread | Rw::Readwrite | Rw::Randrw)
    }

    /// Whether some requests are writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::Randread | Rw::Trim | Rw::Randtrim)
    }

    /// Whether some requests are trims.
    pub const fn trims(self) -> bool {
        matches!(
            self,
            Rw::Trim | Rw::Randtrim | Rw::Trimwrite | Rw::Randtrimwrite
        )
    }

    /// Whether some requests change what a file holds.
    pub const fn changes_files(self) -> bool {
        self.writes() || self.trims()
    }
}

/// One value each for reads, writes and trims.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[allow(missing_docs)]
pub struct PerDirection<T> {
    pub read: T,
    pub write: T,
    pub trim: T,
}

/// One entry of a weighted split of block sizes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct BlockSizeShare {
    /// Bytes, positive.
    pub size_bytes: u32,
    /// Share of the I/Os, in `[0, 100]`.
    pub percent: f64,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SizesPlan {
    /// Smallest, positive.
    pub minimum_bytes: u32,
    /// Largest, at least the smallest.
    pub maximum_bytes: u32,
    /// Weighted split; empty for a fixed size or a range.
    pub split: Vec<BlockSizeShare>,
    /// Random offsets are multiples of this, positive.
    pub align_bytes: u32,
}

impl SizesPlan {
    /// Returns the largest block that can be drawn.
    pub fn largest_bytes(&self) -> u32 {
        let split = self.split.iter().map(|share| share.size_bytes);
        split.fold(self.maximum_bytes, u32::max)
    }
}

/// Which file a request goes to: fio's `file_service_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrder {
    /// Files take turns.
    Roundrobin,
    /// A file is drawn from those that are not finished in this pass.
    Random,
    /// One file is finished before the next.
    Sequential,
}

/// Which offset, length and direction come next.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PatternPlan {
    /// The pattern.
    pub rw: Rw,
    /// The `:n` of rw. Random: I/Os in sequence from each drawn offset. Sequential: bytes skipped after each I/O.
    pub sequence: i64,
    /// Block sizes.
    pub sizes: PerDirection<SizesPlan>,
    /// Spread of random offsets.
    pub distribution: PerDirection<Distribution>,
    /// Share of random I/Os in a random pattern, in `[0, 100]`; the rest continue sequentially.
    pub percentage_random: PerDirection<f64>,
    /// Share of reads in a mixed pattern, in `[0, 100]`.
    pub rwmix_read_percent: f64,
    /// Every block of a file's region is issued once before any is issued twice.
    pub random_map: bool,
    /// Writes from one fsync to the next; 0: no fsync.
    pub fsync_every: u64,
    /// Writes from one fdatasync to the next; 0: no fdatasync.
    pub fdatasync_every: u64,
    /// Syncs of what was written since the last; absent: none.
    pub sync_file_range: Option<RangeSync>,
    /// Whether each file is synced at the end of the job, if writes since the last sync need it.
    pub sync_at_end: bool,
    /// Which file comes next.
    pub file_order: FileOrder,
    /// Requests in a row to one file, positive; without meaning if files are sequential.
    pub file_run: u64,
    /// How likely each file is, if files are drawn at random. Unless all are alike, a finished file begins again.
    pub file_distribution: Distribution,
    /// Files that it has open at the same time, and between which its requests alternate; 0: all.
    pub open_files: u64,
    /// Zones that it goes through; absent: the whole region.
    pub strides: Option<StridesPlan>,
}

impl PatternPlan {
    /// Whether files are drawn, and some are likelier than others.
    pub fn favours_files(&self) -> bool {
        self.file_order == FileOrder::Random && self.file_distribution != Distribution::Random
    }

    /// Whether a pass repeats no block.
    pub fn covers_blocks_once(&self) -> bool {
        self.rw.random() && self.random_map && !self.favours_files()
    }

    /// Whether syncs follow writes, or the last of them.
    pub const fn syncs(&self) -> bool {
        self.syncs_after_writes() || (self.sync_at_end && self.rw.writes())
    }

    /// Whether syncs follow writes.
    pub const fn syncs_after_writes(&self) -> bool {
        self.fsync_every > 0 || self.fdatasync_every > 0 || self.sync_file_range.is_some()
    }

    /// Returns which directions its requests can have, by [`Direction`].
    pub const fn directions(&self) -> [bool; Direction::COUNT] {
        let rw = self.rw;
        [rw.reads(), rw.writes(), rw.trims(), self.syncs()]
    }

    /// Returns the block sizes of the directions that it issues and that move data: reads and writes.
    pub fn data_sizes(&self) -> impl Iterator<Item = &SizesPlan> {
        let reads = self.rw.reads().then_some(&self.sizes.read);
        let writes = self.rw.writes().then_some(&self.sizes.write);
        reads.into_iter().chain(writes)
    }
}

/// How NVMe commands reach the namespace behind a block device: fio's io_uring_cmd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct NamespacePlan {
    /// A descriptor of its character device (`/dev/ng0n1`).
    pub fd: i32,
    /// Its identifier in commands.
    pub nsid: u32,
    /// Bytes of a logical block, positive.
    pub block_bytes: u32,
    /// The most that one command may move, positive.
    pub largest_bytes: u32,
}

/// One opened file or device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FilePlan {
    /// For messages.
    pub path: String,
    /// A descriptor that was opened and cleared, or -1 under the null engine.
    pub fd: i32,
    /// Whether it may be written.
    pub writable: bool,
    /// Block device (trim by BLKDISCARD) or file (by hole punching).
    pub is_block_device: bool,
    /// Its length, at least to the end of the region.
    pub file_bytes: u64,
    /// Start of the region that the worker uses.
    pub region_offset_bytes: u64,
    /// Length of that region, positive.
    pub region_bytes: u64,
    /// How io_uring_cmd reaches it; absent under the other engines.
    pub namespace: Option<NamespacePlan>,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct BufferPlan {
    /// Writes new content before every write.
    pub refill: bool,
    /// Zeroes only.
    pub zero: bool,
    /// Changes a little of the content before every write, unless it is refilled.
    pub scramble: bool,
    /// How much a buffer compresses, in `[0, 100]`.
    pub compress_percent: f64,
    /// Share of writes whose content repeats an earlier one's, in `[0, 100]`.
    pub dedupe_percent: f64,
    /// Bytes that are repeated instead of random ones, or in the compressible share instead of zeroes; may be empty.
    pub pattern: Vec<u8>,
}

/// One thread: everything a worker, its engine and its recorder need to know.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct WorkerPlan {
    /// The job's name.
    pub name: String,
    /// Index of its section in the job file.
    pub job: u32,
    /// Index among the section's numjobs clones.
    pub clone: u32,
    /// The reported row.
    pub row: u32,
    /// Seed of everything random in this worker.
    pub seed: u64,
    /// The engine.
    pub engine: EnginePlan,
    /// What to issue.
    pub pattern: PatternPlan,
    /// Where to issue; never empty.
    pub files: Vec<FilePlan>,
    /// What to write.
    pub buffers: BufferPlan,
    /// How written data is verified; absent: it is not.
    pub verify: Option<VerifyPlan>,
    /// The log of its writes, which then carry stamps, by its index in the run's; absent: they carry none.
    pub stamp_log: Option<u32>,
    /// Requests in flight at most, positive.
    pub iodepth: u32,
    /// Refill once drained to this, in `[1, iodepth]`.
    pub iodepth_low: u32,
    /// Completions to wait for when the queue is full; 0 and 1: one.
    pub complete_min: u32,
    /// End after this long; 0: no limit.
    pub runtime_ns: Nanos,
    /// Continues past `io_bytes` and the region's end until the runtime is over.
    pub time_based: bool,
    /// Measuring begins after this.
    pub ramp_ns: Nanos,
    /// Begins this long after the stage.
    pub start_delay_ns: Nanos,
    /// Ends after this many bytes; 0: no limit.
    pub io_bytes: u64,
    /// Ends after this many I/Os; 0: no limit.
    pub number_ios: u64,
    /// Number of times to repeat the job.
    pub loops: u64,
    /// Every loop makes the same requests again.
    pub replay_loops: bool,
    /// What it replays; absent: it draws from its pattern.
    pub replay: Option<ReplayPlan>,
    /// When requests are due.
    pub schedule: PerDirection<SchedulePlan>,
    /// Exponential gaps instead of equal ones.
    pub poisson: bool,
    /// Length of the pauses; 0: none.
    pub thinktime_ns: Nanos,
    /// How much of the pause burns CPU.
    pub thinktime_spin_ns: Nanos,
    /// Requests from one pause to the next; 0: any number.
    pub thinktime_blocks: u64,
    /// Whether `thinktime_blocks` counts requests when they are issued instead of when they have returned.
    pub thinktime_at_issue: bool,
    /// Time from the end of a pause to the next; 0: any time.
    pub thinktime_iotime_ns: Nanos,
    /// The workers of its stage, by index, that end before it begins. All of them come before it.
    pub waits_for: Vec<u32>,
    /// Its part of a flow of workers; absent: none.
    pub flow: Option<FlowPlan>,
    /// io-wq threads execute some of its requests, so it is not pinned: see the engine's `probe::handed_over`.
    pub handed_over: bool,
    /// CPUs it may run on, one if it is pinned; empty: the process's.
    pub cpus: Vec<u32>,
    /// Spin during the last stretch before a due time.
    pub spin: bool,
    /// Its end also ends the other workers of its group in the stage.
    pub exitall: bool,
    /// The same if it ends with an error.
    pub exitall_on_error: bool,
    /// Which workers that are.
    pub exit_what: ExitWhat,
    /// fio's group: jobs from one stonewall or new_group to the next.
    pub group: u32,
    /// When its row is steady and it ends; absent: never.
    pub steady: Option<SteadyPlan>,
    /// The latency for which it looks for its depth, from 1 to `iodepth`; absent: `iodepth` is its depth.
    pub latency_target: Option<LatencyTargetPlan>,
    /// A request that takes longer ends it with an error; 0: none does.
    pub max_latency_ns: PerDirection<Nanos>,
    /// Its files are laid out, and it issues nothing.
    pub create_only: bool,
    /// Its memory.
    pub memory: MemoryPlan,
    /// Drop the cached pages of its regions before it begins.
    pub invalidate: bool,
    /// What it says about the order of its requests.
    pub advice: Advice,
    /// Read its regions into the page cache before it begins.
    pub pre_read: bool,
    /// What is added to its thread's nice value.
    pub nice: i32,
    /// Which of its requests have a priority of their own; empty: none. For io_uring and libaio.
    pub priorities: Vec<PriorityPlan>,
    /// Its thread's I/O priority, as ioprio_set takes it; absent: unchanged.
    pub io_priority: Option<u16>,
    /// The latency to report by priority, lat or clat; absent: none, since all requests of its row have one priority.
    pub priority_latency: Option<Latency>,
    /// Read errors of the medium (EIO, EILSEQ) are counted and do not end it.
    pub continue_on_read_error: bool,
    /// Write, trim and sync errors of the medium are counted and do not end it.
    pub continue_on_write_error: bool,
    /// The errors of reads that count as those of the medium; empty: EIO and EILSEQ.
    pub ignored_read_errors: Vec<i32>,
    /// The same for writes, trims and syncs.
    pub ignored_write_errors: Vec<i32>,
}

impl WorkerPlan {
    /// Whether requests have an intended time of their own and can therefore be late.
    pub fn is_scheduled(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.pacing != Pacing::Closed;
        }
        let rates = &self.schedule;
        self.thinktime_ns > 0
            || rates.read.has_rate()
            || rates.write.has_rate()
            || rates.trim.has_rate()
    }

    /// Returns which directions the requests of its job can have, by [`Direction`]. What it reads back has no rate.
    pub fn rated_directions(&self) -> [bool; Direction::COUNT] {
        match &self.replay {
            Some(replay) => replay.issued(&self.pattern),
            None => self.pattern.directions(),
        }
    }

    /// Returns which directions its requests can have, by [`Direction`].
    pub fn directions(&self) -> [bool; Direction::COUNT] {
        let mut directions = self.rated_directions();
        directions[Direction::Read as usize] |= self.reads_back();
        directions[Direction::Trim as usize] |= self.trims_written();
        directions
    }

    /// Whether some requests are trims.
    pub fn trims(&self) -> bool {
        self.directions()[Direction::Trim as usize]
    }

    /// Whether it reads back what it writes, or what it would have written.
    pub fn reads_back(&self) -> bool {
        let verify = self.verify.as_ref();
        self.pattern.rw.writes() && verify.is_some_and(|verify| verify.reads_back)
    }

    /// Whether it trims some of what it writes.
    pub fn trims_written(&self) -> bool {
        let verify = self.verify.as_ref();
        self.reads_back() && verify.is_some_and(|verify| verify.trims.is_some())
    }

    /// Whether it changes what a file holds.
    pub fn changes_files(&self) -> bool {
        let dry = self.verify.as_ref().is_some_and(|verify| verify.dry);
        self.pattern.rw.changes_files() && !dry
    }

    /// Whether a request is done when its submission returns. As in fio, that holds for a null engine without a queue.
    pub const fn is_synchronous(&self) -> bool {
        match self.engine.kind {
            EngineKind::Psync | EngineKind::Pvsync2 | EngineKind::Mmap => true,
            EngineKind::Null => self.iodepth == 1,
            _ => false,
        }
    }

    /// Whether the engine stamps the end of the submission call apart from the completion.
    pub const fn stamps_issue(&self) -> bool {
        let polled = matches!(
            self.engine.kind,
            EngineKind::IoUring | EngineKind::IoUringCmd
        ) && self.engine.sqthread_poll;
        !self.is_synchronous() && !polled
    }

    /// Returns the minimum bytes a second by direction: read, write, trim; 0: no limit. A job file gives one value for
    /// all three, so a direction that is never issued gets no limit.
    pub fn rate_min_bytes(&self) -> [u64; 3] {
        let rates = &self.schedule;
        let minimums = [
            rates.read.rate_min_Bps,
            rates.write.rate_min_Bps,
            rates.trim.rate_min_Bps,
        ];
        let issued = self.rated_directions();
        std::array::from_fn(|direction| minimums[direction] * u64::from(issued[direction]))
    }
}

/// The workers between two barriers. Those without `waits_for` start together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StagePlan {
    /// Whether the run waits before this stage until its caller lets it go on.
    pub held: bool,
    /// Never empty.
    pub workers: Vec<WorkerPlan>,
}

/// What happens if requests come faster than the log can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogOverflow {
    /// The worker issues nothing until the log has room.
    Wait,
    /// Requests are left out of the log and counted.
    Drop,
}

/// One run: stages one after the other.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RunPlan {
    /// The schema's version.
    pub schema_version: u32,
    /// Printed and stored; the workers' seeds are derived from it.
    pub seed: u64,
    /// Length of an interval, positive.
    pub interval_ns: Nanos,
    /// How long to wait at the end for requests that do not return.
    pub give_up_ns: Nanos,
    /// When the first stage starts, on the host's CLOCK_MONOTONIC; absent: as soon as its threads are ready.
    pub start_at_ns: Option<Nanos>,
    /// The stages.
    pub stages: Vec<StagePlan>,
    /// Whether every request is logged.
    pub request_log: bool,
    /// Requests that a worker holds in memory until they are spilled.
    pub request_log_capacity: u32,
    /// What a worker does when it holds that many.
    pub log_overflow: LogOverflow,
    /// The stamp logs, one for each target that has any.
    pub stamp_logs: Vec<StampLogPlan>,
}
