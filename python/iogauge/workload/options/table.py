"""Defines the table of all supported options, with fio's names, meanings and defaults.

Reading and writing of job files and command lines, and docs/options.md, use this table. Options that only fio supports
are refused by name (``known.py``).

Source: fio 3.33's options.c for types, ranges, defaults and order, engines/*.c for engine options.
"""

from __future__ import annotations

from iogauge.schema import EngineKind, SyncMode
from iogauge.workload.numbers import LARGEST, SECOND, US
from iogauge.workload.options import entries, patterns
from iogauge.workload.options.chapters.endings import ENDINGS
from iogauge.workload.options.chapters.files import FILES
from iogauge.workload.options.chapters.flows import FLOWS
from iogauge.workload.options.chapters.latency_target import LATENCY_TARGET
from iogauge.workload.options.chapters.memory import MEMORY, NUMA
from iogauge.workload.options.chapters.priorities import PRIORITIES
from iogauge.workload.options.chapters.replaying import REPLAY
from iogauge.workload.options.chapters.reporting import REPORT
from iogauge.workload.options.chapters.steady import STEADY
from iogauge.workload.options.chapters.syncs import SYNCS
from iogauge.workload.options.chapters.verifying import VERIFY
from iogauge.workload.options.chapters.zones import ZONES
from iogauge.workload.options.entries import engine_option, entry, per_direction, whole_or_part
from iogauge.workload.options.kinds import (
    CPU_LIST,
    CPUS,
    DELAY,
    FLAG,
    NUMBER_SWITCH,
    PERCENT,
    SWITCH,
    TEXT,
    choice,
    count,
    duration,
)
from iogauge.workload.options.option import Category, Option

DEEPEST = 32_768
"""The most entries of an io_uring ring on Linux."""
MOST_JOBS = 4_096
"""The most jobs that fio runs."""

_JOB = (
    entries.NAME,
    entry("description", Category.JOB, TEXT, "none", "Text about the job, stored with its results."),
    entries.KB_BASE,
    entry(
        "numjobs",
        Category.JOB,
        count(1, MOST_JOBS),
        "1",
        "Number of clones of the job, which run in parallel.",
    ),
    entry("thread", Category.JOB, FLAG, "0", "Accepted: workers are always threads."),
    entry(
        "stonewall",
        Category.JOB,
        FLAG,
        "0",
        "Start after all earlier jobs have ended. Also begins a new group.",
        aliases=("wait_for_previous",),
    ),
    entry("new_group", Category.JOB, FLAG, "0", "Begin a new group of jobs for group_reporting."),
    *ENDINGS,
)

_TARGET = (entries.FILENAME, entries.DIRECTORY, *FILES)

_PATTERN = (
    entries.RW,
    *entries.BLOCK_SIZES,
    per_direction(
        "ba",
        Category.PATTERN,
        count(1, patterns.LARGEST_BLOCK, unit="bytes"),
        "the smallest block size",
        "Alignment of random offsets. A value other than the smallest block size turns the random map off.",
        aliases=("blockalign",),
    ),
    *entries.MIX,
    entries.PERCENTAGE_RANDOM,
    entry(
        "random_distribution",
        Category.PATTERN,
        patterns.DISTRIBUTION,
        "random",
        "Distribution of random offsets. A parameter may be followed by `:center`, from 0 to 1. "
        "All distributions but random turn the random map off.",
    ),
    entry(
        "norandommap",
        Category.PATTERN,
        FLAG,
        "0",
        "Draw each random offset independently; offsets may repeat.",
    ),
    entries.GENERATOR,
    entry(
        "randrepeat",
        Category.PATTERN,
        SWITCH,
        "1",
        "Use the same random numbers in every run (with `--seed`, in every run with the same seed) and in every loop "
        "over a random map.",
        aliases=("allrandrepeat",),
    ),
    entry(
        "randseed",
        Category.PATTERN,
        count(0, LARGEST),
        "chosen and recorded",
        "Seed of the job's random numbers; wins over `--seed`. Turns randrepeat off.",
    ),
)

_SIZE = (
    whole_or_part(
        "size", "the whole file or device", "Bytes of the region that the job uses.", optional=True
    ),
    whole_or_part(
        "io_size",
        "size",
        "Bytes that the job moves before it ends, independent of the size of its region.",
        optional=True,
        aliases=("io_limit",),
    ),
    whole_or_part("offset", "0", "Start of the region.", optional=False, aliases=("fileoffset",)),
    whole_or_part(
        "offset_increment", "0", "Distance between the starts of the clones' regions.", optional=False
    ),
    entry(
        "number_ios",
        Category.SIZE,
        count(0, LARGEST),
        "0 (no limit)",
        "Number of I/Os after which the job ends.",
    ),
    entry("loops", Category.SIZE, count(), "1", "Number of times that the job runs over its region."),
    *ZONES,
)

_TIME = (
    entry(
        "runtime",
        Category.TIME,
        duration(SECOND),
        "0 (no limit)",
        "Time after which the job ends.",
        field="runtime_ns",
        aliases=("timeout",),
    ),
    entry(
        "time_based",
        Category.TIME,
        FLAG,
        "0",
        "Repeat the region until the runtime is over. Needs runtime.",
    ),
    entry(
        "ramp_time",
        Category.TIME,
        duration(SECOND),
        "0",
        "Time that the job runs before it is measured, in addition to runtime.",
        field="ramp_time_ns",
    ),
    entry(
        "startdelay",
        Category.TIME,
        DELAY,
        "0",
        "Delay before the job starts. With a range, a delay is drawn for each clone.",
        field="startdelay_ns",
    ),
    *STEADY,
)

REPLACED_ENGINES = {
    "sync": EngineKind.PSYNC,
    "vsync": EngineKind.PVSYNC2,
    "pvsync": EngineKind.PVSYNC2,
}
"""Engines of fio that differ from one of ours only in their system call. They are read as that one."""

RINGS = tuple(engine for engine in EngineKind if engine.has_ring)

_DEPTH = (
    entry(
        "ioengine",
        Category.DEPTH,
        choice(
            {e.value: e for e in EngineKind}
            | dict.fromkeys(("aio", "linuxaio"), EngineKind.LIBAIO)
            | REPLACED_ENGINES
        ),
        "psync",
        "How I/Os reach the target. `sync` is psync, which needs no seek before an I/O; `pvsync` and `vsync` are "
        "pvsync2 (fio's vsync also merges neighbouring I/Os). "
        "`io_uring_cmd` sends NVMe commands past the block layer, to `/dev/ng0n1` or, unlike fio, `/dev/nvme0n1`. "
        "`mmap` copies from and to a mapping of the file, and with direct=1 drops its pages after each I/O. `posixaio` "
        "is the C library's threads, which serve the I/Os to one file one by one.",
        always=True,
    ),
    entry("iodepth", Category.DEPTH, count(1, DEEPEST), "1", "Most I/Os in flight."),
    entry(
        "iodepth_batch",
        Category.DEPTH,
        count(0, DEEPEST),
        "1",
        "Most I/Os that one call submits; 0: iodepth.",
        aliases=("iodepth_batch_submit",),
    ),
    entry(
        "iodepth_batch_complete_min",
        Category.DEPTH,
        count(0, DEEPEST),
        "1",
        "Number of completions to wait for when the queue is full.",
        aliases=("iodepth_batch_complete",),
    ),
    entry(
        "iodepth_batch_complete_max",
        Category.DEPTH,
        count(0, DEEPEST),
        "the minimum, at least 1",
        "Most completions that are taken at one time.",
    ),
    entry(
        "iodepth_low",
        Category.DEPTH,
        count(0, DEEPEST),
        "iodepth",
        "Refill the queue only after it has drained to this depth.",
    ),
    *LATENCY_TARGET,
    engine_option(
        "hipri",
        FLAG,
        "0",
        "Poll for completions. Linux 5.19 and newer do not poll with pvsync2.",
        *RINGS,
        EngineKind.PVSYNC2,
    ),
    engine_option("fixedbufs", FLAG, "0", "Register the buffers with the kernel once.", *RINGS),
    engine_option("registerfiles", FLAG, "0", "Register the files with the kernel once.", *RINGS),
    engine_option("sqthread_poll", FLAG, "0", "Submit by a kernel thread (SQPOLL).", *RINGS),
    engine_option(
        "sqthread_poll_cpu",
        count(0, CPUS - 1),
        "any",
        "CPU of the kernel thread. Needs sqthread_poll.",
        *RINGS,
    ),
    engine_option(
        "uncached",
        NUMBER_SWITCH,
        "0",
        "Drop the pages of buffered I/Os from the page cache (RWF_DONTCACHE, Linux 6.14). No effect with direct=1.",
        EngineKind.IO_URING,
        EngineKind.PVSYNC2,
    ),
    engine_option(
        "nowait",
        NUMBER_SWITCH,
        "0",
        "Let I/Os that would block fail with EAGAIN instead (RWF_NOWAIT).",
        EngineKind.IO_URING,
        EngineKind.LIBAIO,
        EngineKind.PVSYNC2,
    ),
    *PRIORITIES,
)

ATOMIC = (EngineKind.IO_URING, EngineKind.LIBAIO, EngineKind.PVSYNC2)
"""The engines that can write atomically, as in fio."""


SUBMIT_MODE = Option(
    name="io_submit_mode",
    category=Category.RATE,
    kind=choice({word: word for word in ("inline", "offload")}),
    default="inline",
    help="In fio, offload keeps a rate although I/Os wait. iogauge's rates are always kept, so both are the same; "
    "offload is refused for a synchronous engine with a depth, whose I/Os fio then makes in parallel.",
    store=lambda partial, value: partial.values.update(io_submit_mode=value),
    text=entries.never,
)

_RATE = (
    SUBMIT_MODE,
    per_direction(
        "rate",
        Category.RATE,
        count(0, LARGEST, unit="bytes/s"),
        "none",
        "Bytes a second that the job issues. Cannot be combined with rate_iops.",
        field="rate_Bps",
    ),
    per_direction(
        "rate_iops", Category.RATE, count(unit="1/s"), "none", "I/Os a second that the job issues."
    ),
    per_direction(
        "rate_min",
        Category.RATE,
        count(0, LARGEST, unit="bytes/s"),
        "none",
        "End the job if its rate falls below this.",
        field="rate_min_Bps",
        aliases=("ratemin",),
    ),
    per_direction(
        "rate_iops_min",
        Category.RATE,
        count(unit="1/s"),
        "none",
        "End the job if it does fewer I/Os a second. Its bytes are checked, so all its blocks must have one size.",
    ),
    entry(
        "rate_process",
        Category.RATE,
        choice({"linear": "linear", "poisson": "poisson"}),
        "linear",
        "Gaps between the I/Os of a rate: equal, or random as in a Poisson process.",
    ),
    entry("thinktime", Category.RATE, duration(US), "0", "Pause between I/Os.", field="thinktime_ns"),
    entry(
        "thinktime_spin",
        Category.RATE,
        duration(US),
        "0",
        "First part of thinktime, in which the worker keeps the CPU busy; at most thinktime.",
        field="thinktime_spin_ns",
    ),
    entry(
        "thinktime_blocks",
        Category.RATE,
        count(1),
        "1, or any number with thinktime_iotime",
        "Number of I/Os between two pauses of thinktime.",
    ),
    entry(
        "thinktime_blocks_type",
        Category.RATE,
        choice({"complete": "complete", "issue": "issue"}),
        "complete",
        "Whether thinktime_blocks counts I/Os when they have returned or when they are issued. Either way the pause "
        "begins when nothing is in flight.",
    ),
    entry(
        "thinktime_iotime",
        Category.RATE,
        duration(SECOND),
        "0",
        "Time between two pauses of thinktime. With thinktime_blocks, whichever is over first.",
        field="thinktime_iotime_ns",
    ),
    *FLOWS,
)

_BUFFERS = (
    # What changes refill_buffers and the other switches is written before them.
    entries.PATTERN,
    entries.DEDUPE,
    entries.REFILL,
    entry("zero_buffers", Category.BUFFERS, FLAG, "0", "Write zeroes."),
    entry(
        "scramble_buffers",
        Category.BUFFERS,
        SWITCH,
        "1",
        "Change a small part of a buffer that is not refilled.",
    ),
    entry(
        "buffer_compress_percentage",
        Category.BUFFERS,
        PERCENT,
        "0",
        "How far the written data can be compressed. Switches refill_buffers on; 100 means zero_buffers.",
        field="buffer_compress_percent",
    ),
    *MEMORY,
)

_CPU = (
    entry("cpus_allowed", Category.CPU, CPU_LIST, "all", "CPUs that the job may run on."),
    entries.CPUMASK,
    entry(
        "cpus_allowed_policy",
        Category.CPU,
        choice({"shared": "shared", "split": "split"}),
        "shared",
        "Whether clones share all CPUs or each clone gets one.",
    ),
    entry(
        "nice", Category.CPU, count(-20, 19), "0", "Number added to the nice value of each worker's thread."
    ),
    entry(
        "prio",
        Category.CPU,
        count(0, 7),
        "unchanged",
        "I/O priority of each worker's thread within its class, from 0 (first) to 7.",
    ),
    entry(
        "prioclass",
        Category.CPU,
        count(0, 3),
        "unchanged",
        "Class of that priority: 1 real-time, 2 best-effort, 3 idle. 0, and prio alone, mean best-effort.",
    ),
    *NUMA,
)

_DURABILITY = (
    entry("direct", Category.DURABILITY, SWITCH, "0", "Bypass the page cache (O_DIRECT)."),
    entries.BUFFERED,
    entry(
        "invalidate",
        Category.DURABILITY,
        SWITCH,
        "1",
        "Drop the target's cached pages before the job begins.",
    ),
    entry(
        "fadvise_hint",
        Category.DURABILITY,
        choice({word: word for word in ("1", "0", "random", "sequential")}),
        "1",
        "What the kernel is told about the order of buffered I/Os, which decides how much it reads ahead: that of the "
        "job (`1`), nothing (`0`), or this one.",
    ),
    entry(
        "pre_read",
        Category.DURABILITY,
        SWITCH,
        "0",
        "Read the region into the page cache before the job begins. Switches invalidate off; needs direct=0.",
    ),
    entry(
        "atomic",
        Category.DURABILITY,
        SWITCH,
        "0",
        "Write so that no power failure tears a block (RWF_ATOMIC, Linux 6.11, if the drive can). Needs direct=1 and "
        "ioengine=io_uring, libaio or pvsync2.",
    ),
    entry(
        "sync",
        Category.DURABILITY,
        choice({s.value: s for s in SyncMode} | {"0": SyncMode.NONE, "1": SyncMode.SYNC}),
        "none",
        "Make every write reach the medium: `sync` with metadata (O_SYNC), `dsync` without (O_DSYNC).",
    ),
    entry("fsync", Category.DURABILITY, count(), "0 (never)", "Number of writes between two calls of fsync."),
    entry(
        "fdatasync",
        Category.DURABILITY,
        count(),
        "0 (never)",
        "Number of writes between two calls of fdatasync.",
    ),
    *SYNCS,
    entry(
        "end_fsync",
        Category.DURABILITY,
        SWITCH,
        "0",
        "Sync each file after each pass over its region. Passes of the ramp and of time_based jobs are not synced; "
        "such a job syncs at its end. That time belongs to the job, so its rate includes it.",
    ),
    entry(
        "fsync_on_close",
        Category.DURABILITY,
        SWITCH,
        "0",
        "The same as end_fsync: iogauge closes files at the end.",
    ),
)

OPTIONS: tuple[Option, ...] = (
    *_JOB, *_TARGET, *_PATTERN, *_SIZE, *_TIME, *_DEPTH, *_RATE, *REPLAY, *_BUFFERS, *VERIFY, *_CPU, *_DURABILITY,
    *REPORT,
)  # fmt: skip
"""Every supported option, by chapter."""

BY_NAME: dict[str, Option] = {name: option for option in OPTIONS for name in (option.name, *option.aliases)}
"""Every supported option by its name and its aliases."""
