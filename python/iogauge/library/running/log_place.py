"""Chooses where a run's logs are written during the run: off the measured drives if possible; otherwise it says so.

A log is I/O of its own: windows of time are written, and requests spilled, while the jobs run. Drives are compared by
their device numbers, below partitions, device-mapper and md. A file system without a drive (tmpfs, network) counts as a
drive. Free space is not considered.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.text.option import call, option

if TYPE_CHECKING:
    from iogauge.execution.log.spill import Spill
    from iogauge.schema import JobFile, RunPlan
    from iogauge.store.outputs import Output
    from iogauge.target.users.sysfs import BlockDevice

Say = Callable[[str], None]


@contextmanager
def spill(
    request_log: Output | None, logs: Mapping[str, Output], jobs: JobFile, *, say: Say
) -> Iterator[Spill | None]:
    """Create the spill of a run that logs every request, in the request log or in the jobs' ``logs``; else yield None.

    It lies beside the logs that are made from it, in TMPDIR or in the current directory: the first of these that is not
    on a measured drive. If requests are left in it at the end, it is kept, and ``say`` is called.

    Raises IogaugeError if it cannot be created.
    """
    from iogauge.report.run import fio_logs

    if request_log is None and not fio_logs.needs_requests(jobs):
        _mention(_averaged(jobs), jobs, say)
        yield None
        return
    import tempfile

    from iogauge.execution.log.spill import Spill

    measured = _targets(jobs)
    places = [Path(tempfile.gettempdir()), Path()]
    names = fio_logs.names_of(jobs, fio_logs.request_names)
    outputs = [request_log] if request_log else [logs[name] for name in names]
    places[:0] = [output.folder for output in outputs if output.folder]
    chosen = next((place for place in places if not _drives(place) & measured), places[0])
    made = Spill.create(chosen, request_log=request_log.path if request_log else None)
    try:
        _mention([made.path, *_averaged(jobs)], jobs, say)
        yield made
    finally:
        made.close()
        if made.has_requests():
            say(f"the logged requests are in {made.path}; to write their logs: {call('recover', made.path)}")
        else:
            made.remove()


def convert(
    made: Spill,
    *,
    jobs: JobFile,
    plan: RunPlan,
    parquet: Output | None,
    logs: Mapping[str, Output],
    on_share: Callable[[float], None],
    say: Say,
) -> None:
    """Write the logs of a spill; of a damaged one, write the requests before the damage, and say so.

    ``on_share`` is called with the share that is done.

    Raises IogaugeError, and then leaves no log.
    """
    from iogauge.report.run import request_logs

    request_logs.convert(made, jobs=jobs, plan=plan, parquet=parquet, logs=logs, on_progress=on_share)
    if made.damage:
        say(f"{made.path}: {made.damage}; the logs have the requests before it")


def shares_drive(log: Path, jobs: JobFile) -> bool:
    """Return whether a log lies on a drive that the jobs use."""
    return bool(_drives(log) & _targets(jobs))


def _averaged(jobs: JobFile) -> list[Path]:
    """Return the prefixes of logs that are written while the jobs run; logs of every request are written later."""
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


def _mention(logs: list[Path], jobs: JobFile, say: Say) -> None:
    measured = _targets(jobs) if logs else frozenset()
    shared = dict.fromkeys(str(log.absolute().parent) for log in logs if _drives(log) & measured)
    if shared:
        say(
            f"{', '.join(shared)}: on a drive that is measured, and writing logs there disturbs it; "
            f"choose another place, by {option('request_log')}, the jobs' prefixes or TMPDIR"
        )


def _targets(jobs: JobFile) -> frozenset[str]:
    from iogauge.target import is_model
    from iogauge.workload import driven_paths

    return frozenset[str]().union(*(_drives(Path(name)) for name in driven_paths(jobs) if not is_model(name)))


def _drives(path: Path) -> frozenset[str]:
    """Return the drives below a device or a file; the file may be missing."""
    from iogauge.target.users.sysfs import BlockDevice, number_of

    for place in (path.resolve(), *path.resolve().parents):
        try:
            status = place.stat()
        except OSError:
            continue
        number = number_of(status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev)
        device = BlockDevice.by_number(number)
        return _lowest(device) if device else frozenset({number})
    return frozenset()


def _lowest(device: BlockDevice) -> frozenset[str]:
    below = device.disk.slaves
    return frozenset[str]().union(*map(_lowest, below)) if below else frozenset({device.disk.name})
