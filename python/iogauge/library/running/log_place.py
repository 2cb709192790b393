"""Where a run's logs are written while it lasts: off the measured drives if there is a choice, and said where not.

A log is I/O of its own: windows of time are written, and requests spilled, while the jobs run. Knows drives by their
numbers, partitions and what device-mapper or md lies on included; filesystems without a drive (tmpfs, network) by
themselves. Does not look at how much room there is.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.text.option import option

if TYPE_CHECKING:
    from iogauge.execution.spill import Spill
    from iogauge.schema import JobFile, RunPlan
    from iogauge.store.outputs import Output
    from iogauge.target.users.sysfs import BlockDevice

Say = Callable[[str], None]


@contextmanager
def spill(
    request_log: Output | None, logs: Mapping[str, Output], jobs: JobFile, *, say: Say
) -> Iterator[Spill | None]:
    """Enter the spill of a run that logs every request: for the request log, or the jobs' own ``logs``; else None.

    It lies beside the logs that are made of it, or where TMPDIR or the current directory is: the first of these that is
    not on a measured drive. If it has requests when it is left, it stays, and that is said. Raises IogaugeError where
    none can be made.
    """
    from iogauge.report.run import fio_logs

    if request_log is None and not fio_logs.needs_requests(jobs):
        _mention(_averaged(jobs), jobs, say)
        yield None
        return
    import tempfile

    from iogauge.execution.spill import Spill

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
            say(
                f"the logged requests are in {made.path}; to write their logs: "
                f"iogauge recover {shlex.quote(str(made.path))}"
            )
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
    """Make the logs of a spill, and say which share of it is done; of a damaged one, as far as it is good, and say so.

    Raises IogaugeError, and leaves no log behind then.
    """
    from iogauge.report.run import request_logs

    request_logs.convert(made, jobs=jobs, plan=plan, parquet=parquet, logs=logs, on_progress=on_share)
    if made.damage:
        say(f"{made.path}: {made.damage}; the logs have the requests before it")


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
    """Return the drives below a device or a file, which may be missing."""
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
