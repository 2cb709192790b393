"""Writes jobs as command lines of DiskSpd, or names the option that DiskSpd cannot express.

Jobs of one stage that differ only in their targets share a process; the others run at the same time in their own.
Options that only concern the report are left out. Any other option without a counterpart in DiskSpd is an error. The
notes of a process say what DiskSpd does differently. It runs for integer seconds, so times are rounded up. It ends only
by time, so a job that writes a full target is run repeatedly, each time from where the last pass ended.

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
from iogauge.workload.diskspd.arguments import Command, command_line
from iogauge.workload.diskspd.jobs import SECOND_NS, TAKEN_AT_ONCE
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.options.table import OPTIONS
from iogauge.workload.paths import paths
from iogauge.workload.problem import shown

T = TypeVar("T")

_SAID: Final = frozenset({
    "filename", "directory", "numjobs", "rw", "bs", "ba", "rwmixread", "percentage_random", "random_distribution",
    "norandommap", "randrepeat", "randseed", "size", "offset", "offset_increment", "runtime", "time_based", "ramp_time",
    "startdelay", "loops", "number_ios", "ioengine",
    "iodepth", "iodepth_batch", "iodepth_batch_complete_max", "rate", "rate_iops", "thinktime", "thinktime_blocks",
    "refill_buffers", "zero_buffers", "scramble_buffers", "cpus_allowed", "cpus_allowed_policy", "direct", "sync",
})  # fmt: skip
"""Options that a command line expresses."""

UNSAID: Final = frozenset({
    "name", "description", "thread", "stonewall", "new_group", "exitall", "group_reporting", "percentile_list",
    "clat_percentiles", "slat_percentiles", "lat_percentiles", "write_bw_log", "write_lat_log", "write_iops_log",
    "write_hist_log", "log_avg_msec", "log_hist_msec", "invalidate",
})  # fmt: skip
"""Options that a command line does not need: they concern the report, or jobs that run in one stage."""


PASS_S = 10
"""Duration of one pass of a process that ends with its bytes."""
MARGIN_S = 1
"""Processes of one stage run this long before and after their measurement, because they do not start at one instant."""


LEAST_ROUNDED_Bps = 100_000
"""Limits from here on are rounded to thousands, which changes them by half a percent at most."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of DiskSpd."""

    command: Command
    jobs: tuple[int, ...]
    """Places in the job file of those that it issues, from 0."""
    loops: int = 0
    """How often it goes from its base to its end; 0: it ends by time."""
    delay_s: int = 0
    """The delay before it starts."""
    notes: tuple[str, ...] = ()
    """How it differs from its jobs: "runs for 2 s instead of 1.5 s"."""


def as_diskspd(job_file: JobFile) -> list[str]:
    """Return the command lines, stage by stage, words with blanks in double quotes. Raises ``IogaugeError``.

    >>> from iogauge.workload import parse
    >>> text = "[a]\\nfilename=t.dat\\nrw=randread\\nnorandommap\\nruntime=60\\ntime_based\\ndirect=1\\n"
    >>> as_diskspd(parse(text, source="example"))
    ['diskspd -b4k -d60 -W0 -o1 -t1 -w0 -r -Su -L -D1000 t.dat']
    """
    commands = (process.command for stage in stages(job_file, apart=False) for process in stage)
    return [command_line(["diskspd", *command.arguments()]) for command in commands]


def stages(job_file: JobFile, *, apart: bool = True) -> tuple[tuple[Process, ...], ...]:
    """Return the processes of each stage, which run at the same time.

    ``apart`` gives each reported row its own process, because DiskSpd's percentiles cover all I/O of a process. Raises
    ``IogaugeError`` if DiskSpd cannot run a job.
    """
    by_stage: list[dict[object, list[int]]] = []
    group = 0
    for place, job in enumerate(job_file.jobs):
        group += bool(place) and (job.stonewall or job.new_group)
        if not by_stage or job.stonewall:
            by_stage.append({})
        row = (group if job.group_reporting else ("job", place)) if apart else 0
        # Of the same row, what a process has begun takes those that differ in their targets alone.
        like = next((key for key in by_stage[-1] if key == (row, _load(job))), (row, _load(job)))
        by_stage[-1].setdefault(like, []).append(place)
    return tuple(_stage([tuple(places) for places in loads.values()], job_file) for loads in by_stage)


def _load(job: Job) -> str:
    """Return the options of a job as JSON, without its name, targets and stage."""
    return job.model_copy(
        update={"name": "", "filenames": (), "directory": "", "stonewall": False, "new_group": False}
    ).model_dump_json()


def _stage(processes: list[tuple[int, ...]], job_file: JobFile) -> tuple[Process, ...]:
    made = tuple(
        _process(
            places, [job_file.jobs[place] for place in places], job_file.source, concurrent=len(processes) > 1
        )
        for places in processes
    )
    if len({process.delay_s for process in made}) > 1 or (
        len(made) > 1 and any(process.loops for process in made)
    ):
        raise IogaugeError(
            f"{job_file.source}: jobs that run at the same time begin or end apart, by startdelay or with what they "
            "write, which processes of DiskSpd cannot",
            hint="run them as steps of their own, or use fio",
        )
    return made


def _process(places: tuple[int, ...], jobs: list[Job], source: str, *, concurrent: bool) -> Process:
    first = jobs[0]
    for problem, hint in _unsayable(first):
        raise IogaugeError(f"{source}: [{shown(first.name)}] {problem}", hint=hint)
    targets = tuple(
        dict.fromkeys(path for job in jobs for clone in range(job.numjobs) for path in paths(job, clone))
    )
    said = _said(first)
    if concurrent:
        said |= {"warmup_s": max(said["warmup_s"], MARGIN_S), "cooldown_s": MARGIN_S}
    loops = first.loops if _ends_with_bytes(first) else 0
    return Process(
        command=Command(targets=targets, latency=True, interval_ms=1000, **said),
        jobs=places,
        loops=loops,
        delay_s=-(-first.startdelay_ns[0] // SECOND_NS),
        notes=tuple(_otherwise(first, said, concurrent=concurrent)),
    )


def _ends_with_bytes(job: Job) -> bool:
    """Whether it goes once through its region or more often, and then is done."""
    return not (job.time_based or job.runtime_ns or job.number_ios)


def _is_look(job: Job) -> bool:
    """Whether it reads one block, which is there for what comes before it."""
    return job.number_ios == 1 and not job.rw.writes


def _otherwise(job: Job, said: dict[str, Any], *, concurrent: bool) -> Iterator[str]:
    if job.runtime_ns % SECOND_NS:
        yield f"runs for {said['duration_s']} s instead of {job.runtime_ns / SECOND_NS:g} s"
    if job.ramp_time_ns % SECOND_NS:
        yield f"warms up for {said['warmup_s']} s instead of {job.ramp_time_ns / SECOND_NS:g} s"
    if (rate_Bps := _total(job, job.rate_Bps)) % 1000:
        yield f"is limited to {said['rate_Bpms'] * 1000} bytes a second instead of {rate_Bps}"
    if job.startdelay_ns[0] % SECOND_NS:
        yield f"begins up to a second later than after {job.startdelay_ns[0] / SECOND_NS:g} s"
    if _is_look(job):
        yield "reads for a second instead of one block"
    if _ends_with_bytes(job):
        yield f"runs for {PASS_S} s again and again until all is done, and only the last pass is in its result"
    if said["thread_stride_bytes"]:
        yield "lets a thread go on into the next one's part, where fio's begins its own again"
    if concurrent:
        yield f"goes on for {MARGIN_S} s before and after what is measured: its processes do not begin at one instant"


def _said(job: Job) -> dict[str, Any]:
    reads, writes = (direction in job.rw.directions for direction in (Direction.READ, Direction.WRITE))
    zones = _first(job, job.random_distribution)
    block_bytes = _first(job, job.bs).minimum_bytes
    # A step of zero is no step: a sequence goes on by its block size.
    step = block_bytes + job.rw_sequence if job.rw_sequence else 0
    stride = job.offset_increment.size_bytes if job.numjobs > 1 else 0
    end = job.offset.size_bytes + stride * (job.numjobs - 1) + job.size.size_bytes if job.size else 0
    timed_s = -(-job.runtime_ns // SECOND_NS)
    return {
        "block_bytes": block_bytes,
        "duration_s": timed_s or (1 if _is_look(job) else PASS_S),
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
        # -c is for files alone: DiskSpd refuses it of a drive.
        "create_bytes": 0 if all(map(is_drive, job.filenames)) and job.filenames else end,
        "rate_Bpms": round(_total(job, job.rate_Bps) / 1000),
        "rate_iops": _total(job, job.rate_iops),
        "think_ms": job.thinktime_ns // 10**6,
        "burst": job.thinktime_blocks * job.numjobs if job.thinktime_ns else 0,
        "seed": job.randseed if job.randseed is not None else 0 if job.randrepeat else None,
        "content": ("zero" if job.zero_buffers else "random") if writes else "pattern",
        "cpus": job.cpus_allowed,
    }


def is_drive(name: str) -> bool:
    r"""Return whether a name is a drive's and no file's, here or on Windows.

    >>> [is_drive(name) for name in ("/dev/sdx", "#1", "C:", r"\\.\PhysicalDrive1", r"C:\t.dat", "t.dat")]
    [True, True, True, True, False, False]
    """
    return name.startswith(("/dev/", "#", "\\\\.\\")) or re.fullmatch("[A-Za-z]:", name) is not None


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
        if option.name not in _SAID | UNSAID and (text := option.text(job)) is not None:
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
        (bool(job.runtime_ns) and not job.time_based,
         "runtime: DiskSpd ends with its time alone, not before it", "add time_based"),
        (job.time_based and not job.runtime_ns, "runtime: DiskSpd needs one", "add runtime"),
        (bool(job.number_ios) and not _is_look(job),
         f"number_ios={job.number_ios} has no counterpart in DiskSpd", "add time_based, and a runtime"),
        (_ends_with_bytes(job) and (job.rw.random or mixed or job.numjobs > 1 or bool(total) or not job.size),
         "ends with what it writes, which DiskSpd can only by passes of one thread, in order, over a given size",
         "add time_based, and a runtime; or give a size"),
        (job.startdelay_ns[0] != job.startdelay_ns[1], "startdelay: has a range, DiskSpd has none", "give one time"),
        (any(amount is not None and amount.percent is not None
             for amount in (job.size, job.offset, job.offset_increment)),
         "size, offset: DiskSpd takes no percentages", "write bytes"),
        (job.numjobs > 1 and job.offset_increment.size_bytes > 0 and job.rw.random,
         "offset_increment: DiskSpd sets threads apart only where they go in order", "give each a job of its own"),
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
        (_total(job, job.rate_Bps) % 1000 != 0 and _total(job, job.rate_Bps) < LEAST_ROUNDED_Bps,
         "rate: DiskSpd counts bytes a millisecond", "use a multiple of 1000 bytes a second"),
        (job.thinktime_ns % 10**6 != 0, "thinktime: DiskSpd waits whole milliseconds", "round it"),
        (bool(job.cpus_allowed) and job.cpus_allowed_policy != "split",
         "cpus_allowed: DiskSpd gives each thread one CPU", "add cpus_allowed_policy=split"),
    )  # fmt: skip
    yield from ((reason, hint) for wrong, reason, hint in checks if wrong)
