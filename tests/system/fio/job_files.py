"""Draws job files over the options, by a seed: the same file for the same number."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

Draw = Callable[[random.Random], str | None]
"""Draws a value; None leaves the option out. An empty text is a bare flag."""


def one_of(*values: str) -> Draw:
    return lambda random_: random_.choice(values)


def between(low: int, high: int, suffix: str = "") -> Draw:
    return lambda random_: f"{random_.randint(low, high)}{suffix}"


PARSED: Mapping[str, Draw] = {
    "description": one_of("text", "a=b"),
    "rw": one_of(
        "read", "write", "randread", "randwrite", "rw", "randrw", "trimwrite", "read:8k", "randread:4"
    ),
    "bs": one_of("4k", "512", "8k,16k", "4k,8k,16k", ",32k", "64k"),
    "size": one_of("1m", "64m", "3g", "50%", "1000000"),
    "io_size": one_of("2m", "10%", "1g"),
    "offset": one_of("0", "64k", "25%"),
    "offset_increment": one_of("1m", "5%"),
    "number_ios": between(1, 100_000),
    "loops": between(1, 5),
    "runtime": one_of("10", "1500ms", "2m", "1h"),
    "ramp_time": one_of("1", "500ms"),
    "startdelay": one_of("2", "1-3", "500ms"),
    "iodepth": between(1, 128),
    "numjobs": between(1, 8),
    "rate": one_of("1m", "10m,5m", ",1m"),
    "thinktime": one_of("100", "5ms"),
    "thinktime_blocks": between(1, 20),
    "percentage_random": one_of("100", "50", "80,20"),
    "rwmixread": between(0, 100),
    "norandommap": one_of("", "0", "1"),
    "randrepeat": one_of("0", "1"),
    "nrfiles": between(1, 9),
    "file_service_type": one_of(
        "roundrobin", "random", "sequential", "roundrobin:4", "zipf:1.2", "pareto", "normal:10:0.5"
    ),
    "create_only": one_of("0", "1"),
    "create_serialize": one_of("0", "1"),
    "create_fsync": one_of("0", "1"),
    "create_on_open": one_of("0", "1"),
    "fallocate": one_of("none", "native", "posix", "keep", "truncate"),
    "overwrite": one_of("0", "1"),
    "unlink": one_of("0", "1"),
    "stonewall": one_of(""),
    "new_group": one_of(""),
    "group_reporting": one_of("", "1", "0"),
    "exitall_on_error": one_of(""),
    "exit_what": one_of("group", "stonewall", "all"),
    "continue_on_error": one_of("none", "read", "write", "io", "all"),
    "ignore_error": one_of("EIO", "ENOSPC:EBUSY,EIO", "5,28"),
    "exec_prerun": one_of("true"),
    "exec_postrun": one_of("true"),
    "direct": one_of("0", "1"),
    "invalidate": one_of("0", "1"),
    "sync": one_of("none", "sync", "dsync"),
    "fsync": between(0, 64),
    "fdatasync": between(0, 64),
    "end_fsync": one_of("0", "1"),
    "mem": one_of("malloc", "mmap", "shm", "mmapshared", "mmaphuge", "shmhuge"),
    "hugepage-size": one_of("2m", "1g"),
    "iomem_align": one_of("512", "4k"),
    "lockmem": one_of("1m", "64k"),
    "nice": between(-20, 19),
    "prioclass": between(1, 3),
    "prio": between(0, 7),
    "gtod_reduce": one_of("0", "1"),
    "disable_lat": one_of("0", "1"),
    "disable_clat": one_of("0", "1"),
    "disable_slat": one_of("0", "1"),
    "clat_percentiles": one_of("0", "1"),
    "lat_percentiles": one_of("0", "1"),
    "slat_percentiles": one_of("0", "1"),
    "percentile_list": one_of("50:99:99.9", "1.5", "99.99999"),
    "unified_rw_reporting": one_of("none", "mixed", "both"),
    "write_bw_log": one_of("", "prefix"),
    "write_lat_log": one_of("", "prefix"),
    "write_iops_log": one_of("prefix"),
    "log_avg_msec": between(10, 1000),
    "log_offset": one_of("0", "1"),
    "log_prio": one_of("0", "1"),
    "log_max_value": one_of("0", "1"),
    "log_entries": one_of("1024", "4096"),
    "per_job_logs": one_of("0", "1"),
    "refill_buffers": one_of("", "0"),
    "zero_buffers": one_of("", "0"),
    "scramble_buffers": one_of("0", "1"),
    "dedupe_percentage": between(0, 100),
}
"""Options that fio 3.33's parser knows, with values that both programs read."""

ISSUED: Mapping[str, Draw] = {
    # No rw: each program draws the directions from a random stream of its own. write stands twice instead.
    "rw": one_of("read", "write", "write", "read:8k", "write:16k", "read:-24k"),
    "bs": one_of("8k", "16k", "32k"),
    "size": one_of("64k", "256k", "192k"),
    "number_ios": between(1, 40),
    "loops": between(1, 2),
    "offset": one_of("0", "16k", "64k"),
    "io_size": one_of("64k", "128k"),
    "nrfiles": between(1, 3),
    "file_service_type": one_of("roundrobin", "sequential", "roundrobin:2"),
    "openfiles": one_of("1", "2"),
    "fsync": one_of("0", "5", "16"),
    "end_fsync": one_of("0", "1"),
    "numjobs": between(1, 2),
    "ioengine": one_of("psync", "pvsync2"),
    "unlink": one_of("0"),
    "create_serialize": one_of("0", "1"),
    "create_fsync": one_of("0", "1"),
    "overwrite": one_of("0", "1"),
    "fallocate": one_of("none", "native"),
    "mem": one_of("malloc", "mmap", "shm", "mmapshared"),
    "iomem_align": one_of("512", "4k"),
    "lockmem": one_of("0", "64k"),
    "gtod_reduce": one_of("0", "1"),
    "group_reporting": one_of("", "0"),
    "exit_what": one_of("group", "all"),
    "ignore_error": one_of("EIO"),
    "percentile_list": one_of("50:99"),
    "io_submit_mode": one_of("inline"),
}
"""Options whose I/Os do not depend on chance or time."""


def job_file(number: int, options: Mapping[str, Draw], *, jobs: int = 2, share: float = 0.2) -> str:
    """Return job file ``number``: each of its jobs has about a ``share`` of the options."""
    random_ = random.Random(f"job file {number}")
    sections = []
    for index in range(random_.randint(1, jobs)):
        drawn = {name: draw(random_) for name, draw in options.items() if random_.random() < share}
        lines = (
            name if value == "" else f"{name}={value}" for name, value in drawn.items() if value is not None
        )
        sections.append("\n".join([f"[job{index}]", *lines]))
    return "\n".join(sections) + "\n"
