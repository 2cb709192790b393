"""Where a run's logs are written: off the drives that are measured if there is a choice, and said where they are not.

A log is I/O of its own. Knows drives by their numbers, partitions and what device-mapper or md lies on included;
filesystems without a drive (tmpfs, network) by themselves. Does not look at how much room there is.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.cli import streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.schema import JobFile
    from iogauge.target.sysfs import BlockDevice


@contextmanager
def request_log(asked: Path | None, jobs: JobFile) -> Iterator[Path | None]:
    """Say where every request is logged: as asked, or for a while where only the jobs' own logs need it."""
    from iogauge.report import fio_logs

    if asked is not None or not fio_logs.needs_requests(jobs):
        _mention([*([asked] if asked else []), *_averaged(jobs)], jobs)
        yield asked
        return
    import tempfile

    try:
        usual = Path(tempfile.gettempdir())
        measured = _targets(jobs)
        chosen = next((each for each in (usual, Path()) if not _drives(each) & measured), usual)
        folder = tempfile.TemporaryDirectory(prefix=".iogauge-", dir=chosen)
    except OSError as error:
        raise IogaugeError(
            f"cannot log every request for a while: {error.strerror}",
            hint="let TMPDIR name a directory that can be written, or set log_avg_msec",
        ) from error
    with folder as name:
        path = Path(name) / "requests.parquet"
        _mention([path, *_averaged(jobs)], jobs)
        yield path


def _averaged(jobs: JobFile) -> list[Path]:
    """Return the prefixes of logs that are written while the jobs run; those of every request are written after."""
    return [
        Path(prefix or job.name)
        for job in jobs.jobs
        for prefix, window_ns in (
            (job.write_bw_log, job.log_avg_ns),
            (job.write_iops_log, job.log_avg_ns),
            (job.write_lat_log, job.log_avg_ns),
            (job.write_hist_log, job.log_hist_ns),
        )
        if prefix is not None and window_ns
    ]


def _mention(logs: list[Path], jobs: JobFile) -> None:
    measured = _targets(jobs) if logs else frozenset()
    shared = dict.fromkeys(str(log.absolute().parent) for log in logs if _drives(log) & measured)
    if shared:
        streams.say(
            f"{', '.join(shared)}: on a drive that is measured, and writing logs there disturbs it; "
            "choose another place, by --request-log, the jobs' prefixes or TMPDIR"
        )


def _targets(jobs: JobFile) -> frozenset[str]:
    from iogauge.schema import EngineKind
    from iogauge.target import is_model
    from iogauge.workload import paths

    driven = [job for job in jobs.jobs if job.ioengine is not EngineKind.NULL]
    names = {name for job in driven for clone in range(job.numjobs) for name in paths(job, clone)}
    return frozenset[str]().union(*(_drives(Path(name)) for name in names if not is_model(name)))


def _drives(path: Path) -> frozenset[str]:
    """Return the drives below a device or a file, which may be missing."""
    from iogauge.target.sysfs import BlockDevice, number_of

    for place in (path.resolve(), *path.resolve().parents):
        try:
            found = place.stat()
        except OSError:
            continue
        number = number_of(found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev)
        device = BlockDevice.by_number(number)
        return _lowest(device) if device else frozenset({number})
    return frozenset()


def _lowest(device: BlockDevice) -> frozenset[str]:
    below = device.disk.slaves
    return frozenset[str]().union(*map(_lowest, below)) if below else frozenset({device.disk.name})
