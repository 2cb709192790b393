"""The one table of the options that iogauge understands, with fio's names, meanings and defaults.

Reading job files and command lines, writing them, and docs/options.md all come from here. An option that fio knows
and this table does not is refused by name (``known.py``).

Source: fio 3.33's options.c for types, ranges, defaults and order, engines/*.c for engine options.
"""

from __future__ import annotations

from iogauge.schema import ContinueOnError, EngineKind, SyncMode
from iogauge.workload.numbers import LARGEST, SECOND, US
from iogauge.workload.options import entries, patterns
from iogauge.workload.options.entries import engine_option, entry, per_direction, whole_or_part
from iogauge.workload.options.kinds import (
    CPU_LIST,
    CPUS,
    DELAY,
    FLAG,
    ONE_WAY_FLAG,
    PERCENT,
    SWITCH,
    TEXT,
    choice,
    count,
    duration,
)
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.reporting import REPORT

DEEPEST = 32_768
"""Entries of the largest ring that Linux makes."""
MOST_JOBS = 4_096
"""As many jobs as fio runs."""

_JOB = (
    entries.NAME,
    entry("description", Category.JOB, TEXT, "none", "Text about the job, kept with its results."),
    entries.KB_BASE,
    entry(
        "numjobs", Category.JOB, count(1, MOST_JOBS), "1", "Number of clones of the job that run in parallel."
    ),
    entry("thread", Category.JOB, FLAG, "0", "Accepted: workers are always threads."),
    entry(
        "stonewall",
        Category.JOB,
        FLAG,
        "0",
        "Begin only when all jobs before this one have ended. Also begins a new group.",
        aliases=("wait_for_previous",),
    ),
    entry("new_group", Category.JOB, FLAG, "0", "Begin a new group of jobs for group_reporting."),
    entry(
        "exitall",
        Category.JOB,
        ONE_WAY_FLAG,
        "0",
        "End all jobs of the group when one ends. As in fio, one job's exitall holds for every job.",
    ),
    entry(
        "continue_on_error",
        Category.JOB,
        choice(
            {e.value: e for e in ContinueOnError if e is not ContinueOnError.VERIFY}
            | {"0": ContinueOnError.NONE, "1": ContinueOnError.ALL},
            refused={"verify": "is about fio's verify, which is not supported: no data is checked"},
        ),
        "none",
        "I/Os whose failure is counted and does not end the job.",
    ),
)

_TARGET = (entries.FILENAME, entries.DIRECTORY)

_PATTERN = (
    entries.RW,
    *entries.BLOCK_SIZES,
    per_direction(
        "ba",
        Category.PATTERN,
        count(1, patterns.LARGEST_BLOCK, unit="bytes"),
        "the smallest block size",
        "Alignment of random offsets. One that differs from the smallest block size turns the random map off.",
        aliases=("blockalign",),
    ),
    *entries.MIX,
    entries.PERCENTAGE_RANDOM,
    entry(
        "random_distribution",
        Category.PATTERN,
        patterns.DISTRIBUTION,
        "random",
        "How random offsets are spread. Parameters may be followed by `:centre`, from 0 to 1. "
        "All but random turn the random map off.",
    ),
    entry(
        "norandommap",
        Category.PATTERN,
        FLAG,
        "0",
        "Draw each random offset independently; offsets may repeat.",
    ),
    entry(
        "randrepeat",
        Category.PATTERN,
        SWITCH,
        "1",
        "Use the same random numbers in every run, or in every run with the same `--seed` where one is given; and in "
        "every loop over a random map.",
        aliases=("allrandrepeat",),
    ),
    entry(
        "randseed",
        Category.PATTERN,
        count(0, LARGEST),
        "chosen and recorded",
        "Seed of the job's random numbers, whatever `--seed` says. Turns randrepeat off.",
    ),
)

_SIZE = (
    whole_or_part(
        "size", "the whole file or device", "Bytes of the region that the job uses.", optional=True
    ),
    whole_or_part(
        "io_size",
        "size",
        "Bytes that the job moves before it ends, whatever the size of its region.",
        optional=True,
        aliases=("io_limit",),
    ),
    whole_or_part("offset", "0", "Where the region begins.", optional=False, aliases=("fileoffset",)),
    whole_or_part("offset_increment", "0", "Added to offset for each clone of the job.", optional=False),
    entry("number_ios", Category.SIZE, count(0, LARGEST), "0: no limit", "I/Os after which the job ends."),
    entry("loops", Category.SIZE, count(), "1", "How many times the job runs over its region."),
)

_TIME = (
    entry(
        "runtime",
        Category.TIME,
        duration(SECOND),
        "0: no limit",
        "Time after which the job ends.",
        field="runtime_ns",
        aliases=("timeout",),
    ),
    entry(
        "time_based",
        Category.TIME,
        FLAG,
        "0",
        "Repeat the region until runtime is over. Needs runtime.",
    ),
    entry(
        "ramp_time",
        Category.TIME,
        duration(SECOND),
        "0",
        "Run this long before measuring, in addition to runtime.",
        field="ramp_time_ns",
    ),
    entry(
        "startdelay",
        Category.TIME,
        DELAY,
        "0",
        "Begin the job this much later; a range draws a time for each clone.",
        field="startdelay_ns",
    ),
)

_DEPTH = (
    entry(
        "ioengine",
        Category.DEPTH,
        choice(
            {e.value: e for e in EngineKind}
            | dict.fromkeys(("aio", "linuxaio"), EngineKind.LIBAIO)
            | {"sync": EngineKind.PSYNC}
        ),
        "psync",
        "How I/Os reach the target. `sync` is psync: fio's makes one more call, a seek, before an I/O elsewhere.",
        always=True,
    ),
    entry("iodepth", Category.DEPTH, count(1, DEEPEST), "1", "Most I/Os in flight."),
    entry(
        "iodepth_batch",
        Category.DEPTH,
        count(0, DEEPEST),
        "1",
        "Most I/Os that one call submits; 0 means iodepth.",
        aliases=("iodepth_batch_submit",),
    ),
    entry(
        "iodepth_batch_complete_min",
        Category.DEPTH,
        count(0, DEEPEST),
        "1",
        "Completions to wait for when the queue is full.",
        aliases=("iodepth_batch_complete",),
    ),
    entry(
        "iodepth_batch_complete_max",
        Category.DEPTH,
        count(0, DEEPEST),
        "the minimum, at least 1",
        "Most completions taken at a time.",
    ),
    entry(
        "iodepth_low",
        Category.DEPTH,
        count(0, DEEPEST),
        "iodepth",
        "Fill the queue again only when it has drained to this.",
    ),
    engine_option(
        "hipri",
        FLAG,
        "0",
        "Poll for completions. With pvsync2, Linux no longer polls since 5.19.",
        EngineKind.IO_URING,
        EngineKind.PVSYNC2,
    ),
    engine_option("fixedbufs", FLAG, "0", "Register the buffers with the kernel once.", EngineKind.IO_URING),
    engine_option(
        "registerfiles", FLAG, "0", "Register the files with the kernel once.", EngineKind.IO_URING
    ),
    engine_option(
        "sqthread_poll", FLAG, "0", "Let a thread of the kernel submit (SQPOLL).", EngineKind.IO_URING
    ),
    engine_option(
        "sqthread_poll_cpu",
        count(0, CPUS - 1),
        "any",
        "CPU of that thread. Needs sqthread_poll.",
        EngineKind.IO_URING,
    ),
)

_RATE = (
    per_direction(
        "rate",
        Category.RATE,
        count(0, LARGEST, unit="bytes/s"),
        "none",
        "Bytes a second that the job issues. Excludes rate_iops.",
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
        "End the job if it falls below this rate.",
        field="rate_min_Bps",
        aliases=("ratemin",),
    ),
    entry(
        "rate_process",
        Category.RATE,
        choice({"linear": "linear", "poisson": "poisson"}),
        "linear",
        "Equal gaps between the I/Os of a rate, or the random gaps of a Poisson process.",
    ),
    entry("thinktime", Category.RATE, duration(US), "0", "Pause between I/Os.", field="thinktime_ns"),
    entry(
        "thinktime_spin",
        Category.RATE,
        duration(US),
        "0",
        "How much of thinktime, from its start, keeps the CPU busy; at most all of it.",
        field="thinktime_spin_ns",
    ),
    entry("thinktime_blocks", Category.RATE, count(1), "1", "I/Os between two pauses of thinktime."),
)

_BUFFERS = (
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
        "How far what is written compresses. Switches refill_buffers on; 100 means zero_buffers.",
        field="buffer_compress_percent",
    ),
    entries.DEDUPE,
)

_CPU = (
    entry("cpus_allowed", Category.CPU, CPU_LIST, "all", "CPUs that the job may run on."),
    entries.CPUMASK,
    entry(
        "cpus_allowed_policy",
        Category.CPU,
        choice({"shared": "shared", "split": "split"}),
        "shared",
        "Whether clones share the CPUs or take one each.",
    ),
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
        "sync",
        Category.DURABILITY,
        choice({s.value: s for s in SyncMode} | {"0": SyncMode.NONE, "1": SyncMode.SYNC}),
        "none",
        "Have every write reach the medium: `sync` with metadata (O_SYNC), `dsync` without (O_DSYNC).",
    ),
    entry("fsync", Category.DURABILITY, count(), "0: never", "Writes between two calls of fsync."),
    entry("fdatasync", Category.DURABILITY, count(), "0: never", "Writes between two calls of fdatasync."),
)

OPTIONS: tuple[Option, ...] = (
    *_JOB, *_TARGET, *_PATTERN, *_SIZE, *_TIME, *_DEPTH, *_RATE, *_BUFFERS, *_CPU, *_DURABILITY, *REPORT,
)  # fmt: skip
"""Every supported option, by chapter."""

BY_NAME: dict[str, Option] = {name: option for option in OPTIONS for name in (option.name, *option.aliases)}
"""Every supported option by its name and by its other names."""
