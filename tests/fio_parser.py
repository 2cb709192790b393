"""What fio's own parser makes of a job file, and the comparison of our jobs with it.

``fio --parse-only --debug=parse`` prints every option it handles and each number it makes of the value. The order in
which it stores them, and what [global] sections hand on, is told again here, apart from the code under test.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from iogauge.schema import Amount, Job, PerDirection, ZonedDistribution
from iogauge.workload import BY_NAME, load

PERCENT_FLOOR = 2**64 - 101
"""fio keeps a percentage p as 2**64 - 1 - p."""
ENVIRON = {"IOGAUGE_TEST_DEPTH": "6", "TARGET": "/dev/null"}


@dataclass
class Parsed:
    """One option as fio's parser saw it: the text, and each number it made of it (None: not a number)."""

    name: str
    text: str | None
    numbers: list[int | None] = field(default_factory=list)
    decimals: list[float] = field(default_factory=list)
    zones: list[list[tuple[int, int]]] = field(default_factory=list)


def fio(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["fio", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=600,
        env={"PATH": os.environ["PATH"], **ENVIRON},
    )


def trace(path: Path) -> list[tuple[str, list[Parsed]]]:
    """Return fio's sections with their options in the order in which its parser handled them."""
    done = fio("--parse-only", "--debug=parse", str(path), cwd=path.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    sections: list[tuple[str, list[Parsed]]] = []
    for line in (done.stdout + done.stderr).splitlines():
        said = re.sub(r"^parse +\d+ *", "", line)
        if match := re.fullmatch(r"Parsing section \[(.*)\]", said):
            sections.append((match[1], []))
        elif not sections:
            continue
        elif match := re.fullmatch(r"handle_option=(\S+), ptr=(.*)", said):
            text = None if match[2] == "(null)" else match[2]
            sections[-1][1].append(Parsed(match[1], text))
        elif match := re.fullmatch(r"ret=(\d+), out=(-?\d+)", said):
            sections[-1][1][-1].numbers.append(int(match[2]) if match[1] == "0" else None)
        elif match := re.fullmatch(r"out=(\d+\.\d+)", said):
            sections[-1][1][-1].decimals.append(float(match[1]))
        elif re.fullmatch(r"zone ddir \d \(nr=\d+\): ?", said):
            sections[-1][1][-1].zones.append([])
        elif match := re.fullmatch(r"\t\d+: (\d+)/(\d+)", said):
            sections[-1][1][-1].zones[-1].append((int(match[1]), int(match[2])))
    return sections


def jobs_of(sections: list[tuple[str, list[Parsed]]]) -> list[tuple[str, list[Parsed]]]:
    """Return fio's jobs, each with the options of the [global] sections before it in front of its own."""
    shared: list[Parsed] = []
    jobs = []
    for name, options in sections:
        if name.startswith("global"):
            shared = [*shared, *options]
        else:
            jobs.append((name, [*shared, *options]))
    return jobs


def last_number(options: list[Parsed]) -> int:
    number = options[-1].numbers[0]
    assert number is not None
    return number


def each_direction(options: list[Parsed], default: int) -> tuple[int, int, int]:
    """Fold what an option was given, one occurrence after the other, as fio stores it."""
    values = [default, default, default]
    for option in options:
        numbers = option.numbers
        trailing = (option.text or "").endswith(",")
        for index, number in enumerate(numbers[:3]):
            if number is None:
                continue
            last = index == len(numbers) - 1 and not trailing
            for target in range(index, 3 if last else index + 1):
                values[target] = number
    return values[0], values[1], values[2]


def three(value: PerDirection[int]) -> tuple[int, int, int]:
    return value.read, value.write, value.trim


def amount(number: int) -> Amount:
    return Amount(percent=2**64 - 1 - number) if number >= PERCENT_FLOOR else Amount(size_bytes=number)


SCALARS: dict[str, Callable[[Job], object]] = {
    "buffer_compress_percentage": lambda job: 100 if job.zero_buffers else job.buffer_compress_percent,
    "buffered": lambda job: not job.direct,
    "clat_percentiles": lambda job: job.clat_percentiles,
    "create_only": lambda job: job.create_only,
    "hugepage-size": lambda job: job.hugepage_bytes,
    "lockmem": lambda job: job.lockmem_bytes,
    "log_hist_coarseness": lambda job: job.log_hist_coarseness,
    "log_offset": lambda job: job.log_offset,
    "log_prio": lambda job: job.log_prio,
    "openfiles": lambda job: job.openfiles or len(job.filenames) or job.nrfiles,
    "nowait": lambda job: job.nowait,
    "latency_run": lambda job: job.latency_run,
    "latency_target": lambda job: job.latency_target_ns // 1000,
    "latency_window": lambda job: job.latency_window_ns // 1000,
    "steadystate_duration": lambda job: job.steadystate_duration_ns // 1000,
    "steadystate_ramp_time": lambda job: job.steadystate_ramp_ns // 1000,
    "uncached": lambda job: job.uncached,
    "unlink": lambda job: job.unlink,
    "unlink_each_loop": lambda job: job.unlink_each_loop,
    "zonerange": lambda job: job.zonerange,
    "zonesize": lambda job: job.zonesize,
    "zoneskip": lambda job: job.zoneskip,
    "dedupe_percentage": lambda job: job.dedupe_percent,
    "direct": lambda job: job.direct,
    "end_fsync": lambda job: job.end_fsync,
    "fdatasync": lambda job: job.fdatasync,
    "fixedbufs": lambda job: job.fixedbufs,
    "fsync": lambda job: job.fsync,
    "fsync_on_close": lambda job: job.fsync_on_close,
    "filesize": lambda job: job.filesize,
    "group_reporting": lambda job: job.group_reporting,
    "hipri": lambda job: job.hipri,
    "invalidate": lambda job: job.invalidate,
    "iodepth": lambda job: job.iodepth,
    "iodepth_batch": lambda job: job.iodepth_batch,
    "iodepth_batch_complete_max": lambda job: job.iodepth_batch_complete_max,
    "iodepth_batch_complete_min": lambda job: job.iodepth_batch_complete_min,
    "iodepth_low": lambda job: job.iodepth if job.iodepth_low is None else job.iodepth_low,
    "lat_percentiles": lambda job: job.lat_percentiles,
    "log_avg_msec": lambda job: job.log_avg_ns // 10**6,
    "log_hist_msec": lambda job: job.log_hist_ns // 10**6,
    "loops": lambda job: job.loops,
    "new_group": lambda job: job.new_group,
    # fio prints the number without its sign, in two's complement.
    "nice": lambda job: (job.nice or 0) % 2**64,
    "norandommap": lambda job: job.norandommap,
    "number_ios": lambda job: job.number_ios,
    "nrfiles": lambda job: job.nrfiles,
    "numjobs": lambda job: job.numjobs,
    "pre_read": lambda job: job.pre_read,
    "prio": lambda job: job.prio,
    "prioclass": lambda job: job.prioclass,
    "ramp_time": lambda job: job.ramp_time_ns // 1000,
    "randrepeat": lambda job: job.randrepeat,
    "randseed": lambda job: job.randseed,
    "registerfiles": lambda job: job.registerfiles,
    "runtime": lambda job: job.runtime_ns // 1000,
    "rwmixread": lambda job: job.rwmix_read_percent,
    "rwmixwrite": lambda job: 100 - job.rwmix_read_percent,
    "scramble_buffers": lambda job: job.scramble_buffers,
    "slat_percentiles": lambda job: job.slat_percentiles,
    "sqthread_poll": lambda job: job.sqthread_poll,
    "sqthread_poll_cpu": lambda job: job.sqthread_poll_cpu,
    "stonewall": lambda job: job.stonewall,
    "thinktime": lambda job: job.thinktime_ns // 1000,
    "thinktime_blocks": lambda job: job.thinktime_blocks,
    "thinktime_iotime": lambda job: job.thinktime_iotime_ns // 1000,
    "thinktime_spin": lambda job: job.thinktime_spin_ns // 1000,
    "thread": lambda job: job.thread,
    "time_based": lambda job: job.time_based,
    "zero_buffers": lambda job: job.zero_buffers,
}
AMOUNTS: dict[str, Callable[[Job], Amount | None]] = {
    "size": lambda job: job.size,
    "io_size": lambda job: job.io_size,
    "offset": lambda job: job.offset,
    "offset_increment": lambda job: job.offset_increment,
}


def _microseconds(times_ns: PerDirection[int]) -> PerDirection[int]:
    return PerDirection[int](**{way: time_ns // 1000 for way, time_ns in times_ns})


DIRECTIONS: dict[str, tuple[Callable[[Job], PerDirection[int]], int]] = {
    "ba": (lambda job: job.ba, 0),
    "rate": (lambda job: job.rate_Bps, 0),
    "rate_iops": (lambda job: job.rate_iops, 0),
    "rate_min": (lambda job: job.rate_min_Bps, 0),
    "rate_iops_min": (lambda job: job.rate_iops_min, 0),
    "max_latency": (lambda job: _microseconds(job.max_latency_ns), 0),
    "percentage_random": (
        lambda job: PerDirection[int].model_validate(job.percentage_random.model_dump()),
        100,
    ),
}
WORDS: dict[str, Callable[[Job], str]] = {
    "rw": lambda job: job.rw.value,
    "rate_process": lambda job: job.rate_process,
    "thinktime_blocks_type": lambda job: job.thinktime_blocks_type,
    "cpus_allowed_policy": lambda job: job.cpus_allowed_policy,
    "exec_postrun": lambda job: job.exec_postrun,
    "exec_prerun": lambda job: job.exec_prerun,
    "exit_what": lambda job: job.exit_what,
    "mem": lambda job: job.mem,
    "wait_for": lambda job: job.wait_for,
    "zonemode": lambda job: job.zonemode,
    "ioengine": lambda job: job.ioengine.value,
    "description": lambda job: job.description,
    "filename_format": lambda job: job.filename_format,
    # The distribution of order is random, unless it is one of files.
    "file_service_type": lambda job: (
        job.file_service_distribution.kind if job.file_service_type == "random" else job.file_service_type
    ),
}


def assert_same(job: Job, in_effect: dict[str, str], options: list[Parsed]) -> set[str]:
    """Compare a job with what fio's parser made of the same lines; return the options compared."""
    by_name: dict[str, list[Parsed]] = {}
    for option in options:
        supported = BY_NAME.get(option.name)
        name = supported.name if supported else option.name
        if name in in_effect:  # What [global] says of an engine holds for jobs of that engine alone.
            by_name.setdefault(name, []).append(option)
        elif supported and name != "name":
            assert supported.engines
    for name, occurrences in by_name.items():
        where = f"[{job.name}] {name}={occurrences[-1].text}"
        if name in SCALARS:
            assert SCALARS[name](job) == last_number(occurrences), where
        elif name in AMOUNTS:
            assert AMOUNTS[name](job) == amount(last_number(occurrences)), where
        elif name in DIRECTIONS:
            of, default = DIRECTIONS[name]
            assert three(of(job)) == each_direction(occurrences, default), where
        elif name == "bs" and not {"bsrange", "bssplit"} & by_name.keys():
            sizes = each_direction(occurrences, 4096)
            assert [(s.minimum_bytes, s.maximum_bytes) for s in (job.bs.read, job.bs.write, job.bs.trim)] == [
                (size, size) for size in sizes
            ], where
        elif name == "startdelay":
            numbers = [number for number in occurrences[-1].numbers if number is not None]
            assert job.startdelay_ns == (numbers[0] * 1000, numbers[-1] * 1000), where
        elif name == "percentile_list":
            assert list(job.percentile_list) == pytest.approx(sorted(occurrences[-1].decimals), abs=1e-6), (
                where
            )
        elif name in WORDS:
            word = (occurrences[-1].text or "").partition(":")[0]
            assert WORDS[name](job) == {"rw": "readwrite"}.get(word, word), where
        elif name == "random_distribution" and occurrences[-1].zones:
            zones = occurrences[-1].zones
            for mine, theirs in zip((job.random_distribution.read, job.random_distribution.write,
                                     job.random_distribution.trim), zones, strict=True):  # fmt: skip
                assert isinstance(mine, ZonedDistribution)
                assert [(zone.access_percent, zone.size_percent) for zone in mine.zones] == theirs, where
    return set(by_name)


def assert_like_fio(path: Path) -> set[str]:
    """Compare every job of a file with fio; return the options compared."""
    mine = load(path, environ=ENVIRON)
    theirs = jobs_of(trace(path))
    assert [job.name for job in mine.jobs] == [name for name, _ in theirs]
    return set().union(
        *(
            assert_same(job, in_effect, options)
            for job, in_effect, (_, options) in zip(mine.jobs, mine.options, theirs, strict=True)
        )
    )
