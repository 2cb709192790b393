"""Writes jobs as command lines of DiskSpd, or names the option that DiskSpd cannot express.

Jobs of one stage that differ only in their targets share a process; the other jobs get processes that run at the same
time. Options that only concern the report are left out. Any other option without a counterpart in DiskSpd is an error.
The notes of a process say what DiskSpd does differently. DiskSpd runs for whole seconds, so times are rounded up. It
ends only by time, so a job that ends with its bytes becomes several passes, each from the end of the pass before it.

Source: DiskSpd 2.2 (CmdLineParser.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from iogauge.errors import IogaugeError
from iogauge.schema import (
    Direction,
    EngineKind,
    Job,
    JobFile,
    PerDirection,
    SyncMode,
    UniformDistribution,
    ZonedDistribution,
)
from iogauge.workload.diskspd.arguments import Command
from iogauge.workload.diskspd.jobs import SECOND_NS, TAKEN_AT_ONCE
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.options.table import OPTIONS
from iogauge.workload.paths import paths
from iogauge.workload.problem import shown

T = TypeVar("T")

_EXPRESSED: Final = frozenset({
    "filename", "directory", "numjobs", "rw", "bs", "ba", "rwmixread", "percentage_random", "random_distribution",
    "norandommap", "randrepeat", "randseed", "size", "offset", "offset_increment", "runtime", "time_based", "ramp_time",
    "startdelay", "loops", "number_ios", "ioengine",
    "iodepth", "iodepth_batch", "iodepth_batch_complete_max", "rate", "rate_iops", "thinktime", "thinktime_blocks",
    "refill_buffers", "zero_buffers", "scramble_buffers", "cpus_allowed", "cpus_allowed_policy", "direct", "sync",
})  # fmt: skip
"""Options that a command line expresses."""

NOT_NEEDED: Final = frozenset({
    "name", "description", "thread", "stonewall", "new_group", "exitall", "group_reporting", "percentile_list",
    "clat_percentiles", "slat_percentiles", "lat_percentiles", "write_bw_log", "write_lat_log", "write_iops_log",
    "write_hist_log", "log_avg_msec", "log_hist_msec", "invalidate",
})  # fmt: skip
"""Options that a command line does not need: they concern the report, or jobs that run in one stage."""


PASS_S = 10
"""Duration of one pass of a job that ends with its bytes."""
MARGIN_S = 1
"""Processes of one stage run this long before and after their measurement, because they do not start at one instant."""
LEAST_ROUNDED_Bps = 100_000
"""The lowest limit that is rounded to thousands, which changes it by at most half a percent."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of DiskSpd."""

    command: Command
    jobs: tuple[int, ...]
    """Indices of its jobs in the job file."""
    loops: int = 0
    """How often it runs from its base to its end; 0: it ends by time."""
    delay_s: int = 0
    """The delay before it starts."""
    notes: tuple[str, ...] = ()
    """How it differs from its jobs: "runs for 2 s instead of 1.5 s"."""


Stages = tuple[tuple[Process, ...], ...]
"""The processes of each stage, which run at the same time."""


def stages(job_file: JobFile, *, apart: bool = True) -> Stages:
    """Return the processes of each stage of a job file.

    ``apart`` gives each reported row its own process, because DiskSpd's percentiles cover all I/O of a process. Raises
    ``IogaugeError`` if DiskSpd cannot run a job.
    """
    by_stage: list[dict[object, list[int]]] = []
    group = 0
    for index, job in enumerate(job_file.jobs):
        group += bool(index) and (job.stonewall or job.new_group)
        if not by_stage or job.stonewall:
            by_stage.append({})
        row = (group if job.group_reporting else ("job", index)) if apart else 0
        # Jobs of one row that differ only in their targets share a process.
        by_stage[-1].setdefault((row, _load(job)), []).append(index)
    return tuple(_stage([tuple(indices) for indices in loads.values()], job_file) for loads in by_stage)


def _load(job: Job) -> str:
    """Return the options of a job as JSON, without its name, targets and stage."""
    return job.model_copy(
        update={"name": "", "filenames": (), "directory": (), "stonewall": False, "new_group": False}
    ).model_dump_json()


def _stage(loads: list[tuple[int, ...]], job_file: JobFile) -> tuple[Process, ...]:
    """Return a process for each load, which is given by the indices of its jobs."""
    processes = tuple(_process(indices, job_file, concurrent=len(loads) > 1) for indices in loads)
    if len({process.delay_s for process in processes}) > 1 or (
        len(processes) > 1 and any(process.loops for process in processes)
    ):
        raise IogaugeError(
            f"{job_file.source}: concurrent jobs begin or end at different times, by startdelay or by their bytes, "
            "which DiskSpd's processes cannot",
            hint="run each job as its own step, or use fio",
        )
    return processes


def _process(indices: tuple[int, ...], job_file: JobFile, *, concurrent: bool) -> Process:
    jobs = [job_file.jobs[index] for index in indices]
    first = jobs[0]
    for problem, hint in _obstacles(first):
        raise IogaugeError(f"{job_file.source}: [{shown(first.name)}] {problem}", hint=hint)
    targets = tuple(
        dict.fromkeys(path for job in jobs for clone in range(job.numjobs) for path in paths(job, clone))
    )
    fields = _command_fields(first)
    if concurrent:
        fields |= {"warmup_s": max(fields["warmup_s"], MARGIN_S), "cooldown_s": MARGIN_S}
    return Process(
        command=Command(targets=targets, latency=True, interval_ms=1000, **fields),
        jobs=indices,
        loops=first.loops if _ends_with_bytes(first) else 0,
        delay_s=-(-first.startdelay_ns[0] // SECOND_NS),
        notes=tuple(_differences(first, fields, concurrent=concurrent)),
    )


def _ends_with_bytes(job: Job) -> bool:
    """Return whether a job ends after one or several passes over its region."""
    return not (job.time_based or job.runtime_ns or job.number_ios)


def _reads_one_block(job: Job) -> bool:
    """Return whether a job reads a single block. A step that only purges or pauses has such a job."""
    return job.number_ios == 1 and not job.rw.writes


def _differences(job: Job, fields: dict[str, Any], *, concurrent: bool) -> Iterator[str]:
    """Yield how the command with ``fields`` differs from the job."""
    if job.runtime_ns % SECOND_NS:
        yield f"runs for {fields['duration_s']} s instead of {job.runtime_ns / SECOND_NS:g} s"
    if job.ramp_time_ns % SECOND_NS:
        yield f"warms up for {fields['warmup_s']} s instead of {job.ramp_time_ns / SECOND_NS:g} s"
    if (rate_Bps := _total(job, job.rate_Bps)) % 1000:
        yield f"is limited to {fields['rate_Bpms'] * 1000} bytes a second instead of {rate_Bps}"
    if job.startdelay_ns[0] % SECOND_NS:
        yield f"begins up to a second later than after {job.startdelay_ns[0] / SECOND_NS:g} s"
    if _reads_one_block(job):
        yield "reads for a second instead of one block"
    if _ends_with_bytes(job):
        yield f"runs passes of {PASS_S} s until all bytes are moved, and its result has only the last pass"
    if fields["thread_stride_bytes"]:
        yield "lets a thread continue into the part of the next thread; in fio it repeats its own part"
    if concurrent:
        yield f"runs {MARGIN_S} s longer before and after the measured time, as its processes do not start together"


def _command_fields(job: Job) -> dict[str, Any]:
    """Return the fields of the command of a job, but not its targets and output."""
    reads, writes = (direction in job.rw.directions for direction in (Direction.READ, Direction.WRITE))
    zones = _first(job, job.random_distribution)
    block_bytes = _first(job, job.bs).minimum_bytes
    # 0 makes each request begin at the end of the one before it.
    step = block_bytes + job.rw_sequence if job.rw_sequence else 0
    stride = job.offset_increment.size_bytes if job.numjobs > 1 else 0
    end = job.offset.size_bytes + stride * (job.numjobs - 1) + job.size.size_bytes if job.size else 0
    timed_s = -(-job.runtime_ns // SECOND_NS)
    return {
        "block_bytes": block_bytes,
        "duration_s": timed_s or (1 if _reads_one_block(job) else PASS_S),
        "warmup_s": -(-job.ramp_time_ns // SECOND_NS),
        "threads": job.numjobs,
        "thread_stride_bytes": stride,
        "outstanding": job.iodepth,
        "write_percent": 100 - int(job.rwmix_read_percent) if reads and writes else 100 * writes,
        "random_percent": int(_first(job, job.percentage_random)) if job.rw.random else 0,
        "align_bytes": _first(job, job.ba) if job.rw.random else step,
        "zones": tuple((int(zone.access_percent), int(zone.size_percent)) for zone in zones.zones)
        if isinstance(zones, ZonedDistribution)
        else (),
        "unbuffered": job.direct,
        "write_through": job.sync is not SyncMode.NONE and writes,
        "base_bytes": job.offset.size_bytes,
        "end_bytes": end,
        # -c is for files only: DiskSpd refuses it for a drive.
        "create_bytes": 0 if all(map(is_drive, job.filenames)) and job.filenames else end,
        "rate_Bpms": round(_total(job, job.rate_Bps) / 1000),
        "rate_iops": _total(job, job.rate_iops),
        "think_ms": job.thinktime_ns // 10**6,
        "burst": (job.thinktime_blocks or 1) * job.numjobs if job.thinktime_ns else 0,
        "seed": job.randseed if job.randseed is not None else 0 if job.randrepeat else None,
        "content": ("zero" if job.zero_buffers else "random") if writes else "pattern",
        "cpus": job.cpus_allowed,
    }


def is_drive(name: str) -> bool:
    r"""Return whether a name is that of a drive, here or on Windows, and not that of a file.

    >>> [is_drive(name) for name in ("/dev/sdx", "#1", "C:", r"\\.\PhysicalDrive1", r"C:\t.dat", "t.dat")]
    [True, True, True, True, False, False]
    """
    return name.startswith(("/dev/", "#", "\\\\.\\")) or re.fullmatch("[A-Za-z]:", name) is not None


def _first(job: Job, values: PerDirection[T]) -> T:
    """Return the value for reads if the job reads, and otherwise the value for writes."""
    return values.read if Direction.READ in job.rw.directions else values.write


def _total(job: Job, limits: PerDirection[int]) -> int:
    """Return the sum of the limits of all directions that the job issues."""
    return sum(getattr(limits, direction.value) for direction in job.rw.directions)


def _one_percentage(job: Job) -> bool:
    random = {getattr(job.percentage_random, direction.value) for direction in job.rw.directions}
    return len(random) == 1 and all(_whole(value) and value > 0 for value in random)


def _whole(value: float) -> bool:
    return value == int(value)


def _obstacles(job: Job) -> Iterator[tuple[str, str]]:
    """Yield every reason why DiskSpd cannot run a job, with a hint."""
    for option in OPTIONS:
        if option.name not in _EXPRESSED | NOT_NEEDED and (text := option.text(job)) is not None:
            yield (
                f"{option.name}={text} has no counterpart in DiskSpd".replace("= ", " "),
                "remove it, or use fio",
            )
    used = [getattr(job.bs, direction.value) for direction in job.rw.directions]
    mixed = job.rw.directions == {Direction.READ, Direction.WRITE}
    limits = job.rate_Bps if _total(job, job.rate_Bps) else job.rate_iops
    total = _total(job, limits)
    zones = job.random_distribution
    checks = (
        (Direction.TRIM in job.rw.directions, f"rw={job.rw.value}: DiskSpd has no trims", "use fio"),
        (job.ioengine is EngineKind.IO_URING_CMD, "ioengine=io_uring_cmd: DiskSpd sends no NVMe commands",
         "use ioengine=io_uring"),
        (job.ioengine is EngineKind.NULL, "ioengine=null: DiskSpd needs a target", "use a target and another engine"),
        (any(size.split or size.minimum_bytes != size.maximum_bytes for size in used) or len(set(used)) > 1,
         "has several block sizes", "use one bs, or use fio"),
        (job.rw.random and not job.norandommap, "has a random map, which DiskSpd lacks", "add norandommap"),
        (job.rw.random and job.rw_sequence > 1, "issues I/Os in sequence after each draw", "use percentage_random"),
        (not job.rw.random and job.rw_sequence < 0, "runs backwards", "use fio"),
        (job.rw.random and mixed and job.ba.read != job.ba.write, "aligns reads and writes differently", "use one ba"),
        (job.rw.random and not _one_percentage(job),
         "percentage_random: DiskSpd takes one whole percentage above 0", "use one value for both directions"),
        (not isinstance(zones.read, UniformDistribution | ZonedDistribution) or zones.read != zones.write,
         f"random_distribution={zones.read.kind}: DiskSpd has only zones", "use zoned, or fio"),
        (mixed and not _whole(job.rwmix_read_percent), "rwmixread: DiskSpd takes a whole percentage", "round it"),
        (bool(job.runtime_ns) and not job.time_based,
         "runtime: DiskSpd ends only by time, never earlier", "add time_based"),
        (job.time_based and not job.runtime_ns, "runtime: DiskSpd needs one", "add runtime"),
        (bool(job.number_ios) and not _reads_one_block(job),
         f"number_ios={job.number_ios} has no counterpart in DiskSpd", "use time_based and runtime"),
        (_ends_with_bytes(job) and (job.rw.random or mixed or job.numjobs > 1 or bool(total) or not job.size),
         "ends with its bytes, which DiskSpd can do only with one sequential thread over a known size",
         "add time_based and runtime, or add size"),
        (job.startdelay_ns[0] != job.startdelay_ns[1], "startdelay: DiskSpd has no ranges", "use one time"),
        (any(amount is not None and amount.percent is not None
             for amount in (job.size, job.offset, job.offset_increment)),
         "size, offset: DiskSpd takes no percentages", "write bytes"),
        (job.numjobs > 1 and job.offset_increment.size_bytes > 0 and job.rw.random,
         "offset_increment: DiskSpd separates only sequential threads", "use a job for each clone"),
        (len(job.filenames) > 1, "drives several files by turns", "use a job for each file"),
        (not job.filenames and job.numjobs > 1, "has a file for each clone", "name one file with filename"),
        (any(name.startswith(MODEL) for name in job.filenames), "drives a model", "name a file or a device"),
        (any(mark in name for name in job.filenames for mark in '"\0\n\r'), "has a file name that cannot be quoted",
         "choose another name"),
        (any(name.startswith(("-", "*")) for name in job.filenames), "has a file name that is an option to DiskSpd",
         "write ./ before the name"),
        (job.ioengine.is_synchronous and job.iodepth > 1,
         f"ioengine={job.ioengine.value} keeps one request in flight, not iodepth={job.iodepth}", "set iodepth=1"),
        (job.iodepth_batch not in (None, 1), "iodepth_batch: DiskSpd submits requests one by one", "remove it"),
        ((job.iodepth_batch_complete_max or 0) > TAKEN_AT_ONCE,
         f"iodepth_batch_complete_max: DiskSpd takes at most {TAKEN_AT_ONCE}", "lower it"),
        (mixed and bool(total) and abs(limits.read * 100 - total * job.rwmix_read_percent) > 100,
         "rate: DiskSpd limits reads and writes together, in the ratio of rwmixread", "use rates in that ratio"),
        (_total(job, job.rate_Bps) % 1000 != 0 and _total(job, job.rate_Bps) < LEAST_ROUNDED_Bps,
         "rate: DiskSpd counts bytes a millisecond", "use a multiple of 1000 bytes a second"),
        (job.thinktime_ns % 10**6 != 0, "thinktime: DiskSpd waits whole milliseconds", "round it"),
        (bool(job.cpus_allowed) and job.cpus_allowed_policy != "split",
         "cpus_allowed: DiskSpd gives each thread one CPU", "add cpus_allowed_policy=split"),
    )  # fmt: skip
    yield from ((reason, hint) for wrong, reason, hint in checks if wrong)
