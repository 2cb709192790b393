//! Plans for tests: small, and ordinary unless a test says otherwise.

use std::num::NonZeroU32;

use crate::plan::{
    Advice, BufferPlan, Checksum, Distribution, EngineKind, EnginePlan, ExitWhat, FileOrder,
    FilePlan, LogOverflow, MemoryPlan, PatternPlan, PerDirection, RangeSync, RunPlan, Rw,
    SchedulePlan, SizesPlan, StagePlan, SyncMode, VerifyPlan, WorkerPlan,
};
use crate::time::{MILLISECOND, SECOND};

/// Bytes of a request, unless a test says otherwise.
pub const BLOCK: u64 = 4096;

/// Returns the same value for every direction.
pub fn same<T: Clone>(value: T) -> PerDirection<T> {
    PerDirection {
        read: value.clone(),
        write: value.clone(),
        trim: value,
    }
}

/// Returns a schedule of this many requests a second; 0: no schedule.
pub fn iops(rate_iops: u64) -> SchedulePlan {
    SchedulePlan {
        rate_iops,
        rate_Bps: 0,
        rate_min_Bps: 0,
        first_ns: 0,
    }
}

/// Returns one stage of these workers, with short intervals and every request logged.
pub fn run_plan(workers: Vec<WorkerPlan>) -> RunPlan {
    RunPlan {
        schema_version: 1,
        seed: 1,
        interval_ns: 50 * MILLISECOND,
        give_up_ns: 30 * SECOND,
        start_at_ns: None,
        stages: vec![stage(workers)],
        request_log: true,
        request_log_capacity: 1 << 16,
        log_overflow: LogOverflow::Wait,
        stamp_logs: Vec::new(),
    }
}

/// Returns a plan: 4 KiB at a depth of eight, once over a region of 256 blocks without a random map.
pub fn plan(rw: Rw) -> WorkerPlan {
    let block = BLOCK as u32;
    let sizes = SizesPlan {
        minimum_bytes: block,
        maximum_bytes: block,
        split: Vec::new(),
        align_bytes: block,
    };
    WorkerPlan {
        name: "test".into(),
        job: 0,
        clone: 0,
        row: 0,
        seed: 42,
        engine: EnginePlan {
            kind: EngineKind::Null,
            direct: false,
            sync: SyncMode::None,
            hipri: false,
            fixedbufs: false,
            registerfiles: false,
            sqthread_poll: false,
            sqthread_poll_cpu: None,
            uncached: false,
            nowait: false,
            atomic: false,
            submit_batch: NonZeroU32::MIN,
            reap_batch: 1,
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
            sync_file_range: None,
            sync_at_end: false,
            file_order: FileOrder::Roundrobin,
            file_distribution: Distribution::Random,
            file_run: 1,
            open_files: 0,
            strides: None,
        },
        files: vec![file(256)],
        buffers: BufferPlan {
            refill: false,
            zero: false,
            scramble: false,
            compress_percent: 0.0,
            dedupe_percent: 0.0,
            pattern: vec![],
        },
        verify: None,
        stamp_log: None,
        iodepth: 8,
        iodepth_low: 8,
        complete_min: 0,
        runtime_ns: 0,
        time_based: false,
        ramp_ns: 0,
        start_delay_ns: 0,
        waits_for: Vec::new(),
        io_bytes: 0,
        number_ios: 0,
        loops: 1,
        replay_loops: false,
        replay: None,
        schedule: same(iops(0)),
        poisson: false,
        thinktime_ns: 0,
        thinktime_spin_ns: 0,
        thinktime_blocks: 1,
        thinktime_at_issue: false,
        thinktime_iotime_ns: 0,
        flow: None,
        handed_over: false,
        cpus: Vec::new(),
        spin: false,
        exitall: false,
        exitall_on_error: false,
        exit_what: ExitWhat::Group,
        group: 0,
        steady: None,
        latency_target: None,
        max_latency_ns: same(0),
        create_only: false,
        memory: MemoryPlan::default(),
        invalidate: false,
        advice: Advice::None,
        pre_read: false,
        nice: 0,
        io_priority: None,
        priority_latency: None,
        priorities: Vec::new(),
        continue_on_read_error: false,
        continue_on_write_error: false,
        ignored_read_errors: vec![],
        ignored_write_errors: vec![],
    }
}

/// Returns a region of this many blocks. The null engine does not read it.
pub fn file(blocks: u64) -> FilePlan {
    FilePlan {
        path: "simulated".into(),
        fd: 0,
        writable: true,
        is_block_device: false,
        file_bytes: blocks * BLOCK,
        region_offset_bytes: 0,
        region_bytes: blocks * BLOCK,
        namespace: None,
    }
}

/// Returns a sync of what was written after so many writes; 0: none.
pub fn range_syncs(every: u64) -> Option<RangeSync> {
    (every > 0).then_some(RangeSync {
        every,
        wait_before: false,
        write: true,
        wait_after: false,
    })
}

/// Returns a stage whose workers start together.
pub fn stage(workers: Vec<WorkerPlan>) -> StagePlan {
    StagePlan {
        held: false,
        workers,
    }
}

/// Returns a verification of blocks of this many bytes, read back after each pass.
pub fn verify(checksum: Checksum, interval_bytes: u32) -> VerifyPlan {
    VerifyPlan {
        checksum,
        interval_bytes,
        offset_bytes: 0,
        pattern: Vec::new(),
        pattern_offsets: Vec::new(),
        pattern_interval_bytes: 0,
        thread: 1,
        reads_back: true,
        dry: false,
        numbers: true,
        backlog: 0,
        backlog_batch: 0,
        trims: None,
        saves_state: false,
        state: None,
        fatal: false,
        dump: false,
        continues: false,
        threads: 0,
        cpus: Vec::new(),
    }
}
