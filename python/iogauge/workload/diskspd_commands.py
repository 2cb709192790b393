"""Jobs as command lines of DiskSpd: those that can be said; of the others, which option cannot.

A stage is one command, so its jobs may differ in their targets alone. What only concerns the reporting is left out.
Nothing else is: an option that DiskSpd has no word for, or that it would do in another way, is an error. A ramp is not
measured, and is rounded up to the whole seconds that DiskSpd takes.

Source: DiskSpd 2.2 (CmdLineParser.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from iogauge.workload.diskspd import Command, command_line
from iogauge.workload.diskspd_jobs import SECOND_NS, TAKEN_AT_ONCE
from iogauge.workload.kinds import MODEL
from iogauge.workload.options import OPTIONS
from iogauge.workload.paths import paths
from iogauge.workload.problem import shown

T = TypeVar("T")

_SAID: Final = frozenset({
    "filename", "directory", "numjobs", "rw", "bs", "ba", "rwmixread", "percentage_random", "random_distribution",
    "norandommap", "randrepeat", "randseed", "size", "offset", "runtime", "time_based", "ramp_time", "ioengine",
    "iodepth", "iodepth_batch", "iodepth_batch_complete_max", "rate", "rate_iops", "thinktime", "thinktime_blocks",
    "refill_buffers", "zero_buffers", "scramble_buffers", "cpus_allowed", "cpus_allowed_policy", "direct", "sync",
})  # fmt: skip
"""Options that a command line says, below."""

_UNSAID: Final = frozenset({
    "name", "description", "thread", "stonewall", "new_group", "exitall", "group_reporting", "percentile_list",
    "clat_percentiles", "slat_percentiles", "lat_percentiles", "write_bw_log", "write_lat_log", "write_iops_log",
    "write_hist_log", "log_avg_msec", "log_hist_msec", "invalidate",
})  # fmt: skip
"""Options that need not be said: they are about the reporting, or about jobs that run in one stage."""


def as_diskspd(job_file: JobFile) -> list[str]:
    """Return the command lines, one a stage, words with blanks in double quotes. Raises ``IogaugeError``.

    >>> from iogauge.workload import parse
    >>> text = "[a]\\nfilename=t.dat\\nrw=randread\\nnorandommap\\nruntime=60\\ntime_based\\ndirect=1\\n"
    >>> as_diskspd(parse(text, source="example"))
    ['diskspd -b4k -d60 -W0 -o1 -t1 -w0 -r -Su -L -D1000 t.dat']
    """
    return [command_line(["diskspd", *command.arguments()]) for command in commands(job_file)]


def commands(job_file: JobFile) -> tuple[Command, ...]:
    """Return the commands of a job file, one a stage. Raises ``IogaugeError`` where one cannot be said."""
    stages: list[list[Job]] = []
    for job in job_file.jobs:
        if not stages or job.stonewall:
            stages.append([])
        stages[-1].append(job)
    return tuple(_command(stage, job_file.source) for stage in stages)


def _command(stage: list[Job], source: str) -> Command:
    first, *others = stage
    own = {
        "name": first.name,
        "filenames": first.filenames,
        "directory": first.directory,
        "stonewall": first.stonewall,
    }
    for other in others:
        if other.model_copy(update=own) != first:
            raise IogaugeError(
                f"{source}: [{shown(first.name)}] and [{shown(other.name)}] run at the same time and differ in more "
                "than their targets, which one command line of DiskSpd cannot say",
                hint="run them as steps of their own, or use fio",
            )
    for problem, hint in _unsayable(first):
        raise IogaugeError(f"{source}: [{shown(first.name)}] {problem}", hint=hint)
    targets = tuple(
        dict.fromkeys(path for job in stage for clone in range(job.numjobs) for path in paths(job, clone))
    )
    return Command(targets=targets, latency=True, interval_ms=1000, **_said(first))


def _said(job: Job) -> dict[str, Any]:
    reads, writes = (direction in job.rw.directions for direction in (Direction.READ, Direction.WRITE))
    zones = _first(job, job.random_distribution)
    block_bytes = _first(job, job.bs).minimum_bytes
    # A step of zero is no step: a sequence goes on by its block size.
    step = block_bytes + job.rw_sequence if job.rw_sequence else 0
    end = job.offset.size_bytes + job.size.size_bytes if job.size else 0
    return {
        "block_bytes": block_bytes,
        "duration_s": job.runtime_ns // SECOND_NS,
        "warmup_s": -(-job.ramp_time_ns // SECOND_NS),
        "threads": job.numjobs,
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
        # -c is for files alone: DiskSpd refuses it of a drive.
        "create_bytes": 0 if all(map(_is_drive, job.filenames)) and job.filenames else end,
        "rate_Bpms": _total(job, job.rate_Bps) // 1000,
        "rate_iops": _total(job, job.rate_iops),
        "think_ms": job.thinktime_ns // 10**6,
        "burst": job.thinktime_blocks * job.numjobs if job.thinktime_ns else 0,
        "seed": job.randseed if job.randseed is not None else 0 if job.randrepeat else None,
        "content": ("zero" if job.zero_buffers else "random") if writes else "pattern",
        "cpus": job.cpus_allowed,
    }


def _is_drive(name: str) -> bool:
    return name.startswith(("/dev/", "#")) or re.fullmatch("[A-Za-z]:", name) is not None


def _first(job: Job, values: PerDirection[T]) -> T:
    """What holds for reads, or else for writes."""
    return values.read if Direction.READ in job.rw.directions else values.write


def _total(job: Job, limits: PerDirection[int]) -> int:
    """A limit of all directions that the job issues together."""
    return sum(getattr(limits, direction.value) for direction in job.rw.directions)


def _one_percentage(job: Job) -> bool:
    random = {getattr(job.percentage_random, direction.value) for direction in job.rw.directions}
    return len(random) == 1 and all(_whole(value) and value > 0 for value in random)


def _whole(value: float) -> bool:
    return value == int(value)


def _unsayable(job: Job) -> Iterator[tuple[str, str]]:
    """Yield every reason why DiskSpd cannot run a job, with what to do about it."""
    for option in OPTIONS:
        if option.name not in _SAID | _UNSAID and (text := option.text(job)) is not None:
            yield (
                f"{option.name}={text} has no counterpart in DiskSpd".replace("= ", " "),
                "leave it out, or use fio",
            )
    used = [getattr(job.bs, direction.value) for direction in job.rw.directions]
    mixed = job.rw.directions == {Direction.READ, Direction.WRITE}
    limits = job.rate_Bps if _total(job, job.rate_Bps) else job.rate_iops
    total = _total(job, limits)
    zones = job.random_distribution
    checks = (
        (Direction.TRIM in job.rw.directions, f"rw={job.rw.value}: DiskSpd has no trims", "use fio"),
        (job.ioengine is EngineKind.NULL, "ioengine=null: DiskSpd needs a target", "name one, and another engine"),
        (any(size.split or size.minimum_bytes != size.maximum_bytes for size in used) or len(set(used)) > 1,
         "has several block sizes", "give one bs, or use fio"),
        (job.rw.random and not job.norandommap, "has a random map, which DiskSpd has not", "add norandommap"),
        (job.rw.random and job.rw_sequence > 1, "goes on in sequence after each draw", "use percentage_random"),
        (not job.rw.random and job.rw_sequence < 0, "goes backwards", "use fio"),
        (job.rw.random and mixed and job.ba.read != job.ba.write, "has alignments of reads and of writes", "give one"),
        (job.rw.random and not _one_percentage(job),
         "percentage_random: DiskSpd takes one whole percentage above 0", "give one for both directions"),
        (not isinstance(zones.read, UniformDistribution | ZonedDistribution) or zones.read != zones.write,
         f"random_distribution={zones.read.kind}: DiskSpd has only zones", "use zoned, or fio"),
        (mixed and not _whole(job.rwmix_read_percent), "rwmixread: DiskSpd takes a whole percentage", "round it"),
        (not job.time_based or job.runtime_ns % SECOND_NS != 0 or not job.runtime_ns,
         "runtime: DiskSpd runs for whole seconds", "add time_based, and a runtime in seconds"),
        (any(amount is not None and amount.percent is not None for amount in (job.size, job.offset)),
         "size, offset: DiskSpd takes no percentages", "write bytes"),
        (len(job.filenames) > 1, "drives several files by turns", "give each a job of its own"),
        (not job.filenames and job.numjobs > 1, "has a file for each clone", "name one by filename"),
        (any(name.startswith(MODEL) for name in job.filenames), "drives a model", "name a file or a device"),
        (any(mark in name for name in job.filenames for mark in '"\0\n\r'), "its file's name cannot be quoted",
         "choose another name"),
        (any(name.startswith(("-", "*")) for name in job.filenames), "its file's name is an option to DiskSpd",
         "write ./ before it"),
        (job.ioengine in (EngineKind.PSYNC, EngineKind.PVSYNC2) and job.iodepth > 1,
         f"ioengine={job.ioengine.value} keeps one request in flight, not iodepth={job.iodepth}", "set iodepth=1"),
        (job.iodepth_batch not in (None, 1), "iodepth_batch: DiskSpd submits one by one", "leave it out"),
        ((job.iodepth_batch_complete_max or 0) > TAKEN_AT_ONCE,
         f"iodepth_batch_complete_max: DiskSpd takes {TAKEN_AT_ONCE} at most", "lower it"),
        (mixed and bool(total) and abs(limits.read * 100 - total * job.rwmix_read_percent) > 100,
         "rate: DiskSpd limits reads and writes together, in the ratio of rwmixread", "let the rates have that ratio"),
        (_total(job, job.rate_Bps) % 1000 != 0, "rate: DiskSpd counts bytes a millisecond",
         "use a multiple of 1000 bytes a second"),
        (job.thinktime_ns % 10**6 != 0, "thinktime: DiskSpd waits whole milliseconds", "round it"),
        (bool(job.cpus_allowed) and job.cpus_allowed_policy != "split",
         "cpus_allowed: DiskSpd gives each thread one CPU", "add cpus_allowed_policy=split"),
    )  # fmt: skip
    yield from ((reason, hint) for wrong, reason, hint in checks if wrong)
