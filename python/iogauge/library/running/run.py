"""Run jobs once, and return what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from iogauge import workload
from iogauge.errors import UsageError
from iogauge.library.options import MOST_SEED, StrPath, as_list, require_whole
from iogauge.library.progress import OnProgress, RunReporter
from iogauge.library.public import public
from iogauge.library.quantities import time_ns
from iogauge.library.running import measurement
from iogauge.library.running.diskspd import diskspd_jobs, require_files
from iogauge.library.running.measured import measured
from iogauge.library.running.result import RunResult
from iogauge.schema import JobFile


@public
def run(
    jobs: StrPath | Sequence[str] | JobFile = (),
    *,
    diskspd: str | None = None,
    target: StrPath | None = None,
    section: Sequence[str] | str = (),
    seed: int | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    readonly: bool = False,
    allow_exec: bool = False,
    interval: float | str | None = None,
    give_up: float | str = "120s",
    ceiling: bool = True,
    drive_samples: bool = True,
    request_log: StrPath | None = None,
    log_overflow: Literal["wait", "drop"] = "wait",
    trace_latency: bool = False,
    fail_if: Sequence[str] | str = (),
    on_progress: OnProgress = lambda _: None,
) -> RunResult:
    """Run jobs once, and return what was measured. Every interval is kept in memory, a few kB a second and job.

    Args:
        jobs: the path of a fio job file, its text (more than one line), or fio's options as on a command line:
            ``["--name=reads", "--rw=randread"]``.
        diskspd: a DiskSpd command line, in place of ``jobs``: ``"-b4k -r -o8 -d10 target.dat"``. The text of the result
            is then DiskSpd's tables.
        target: what every job runs on in place of its own files: a block device, a file, or a drive model such as
            ``"model:p4800x"``.
        section: run only the jobs of these names; by default all.
        seed: the seed of all random choices, except in jobs with randseed. By default the same in every run.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        readonly: refuse jobs that write or trim, or that would have to create files.
        allow_exec: run the commands of the jobs (exec_prerun, exec_postrun), which can do anything.
        interval: the length of an interval, seconds or text such as ``"500ms"``; by default a second.
        give_up: stop if no request completes for this long, seconds or text.
        ceiling: first measure for a second how fast iogauge itself can be here; not done for drive models.
        drive_samples: read temperature, throttling and errors of the drives each second, just before and just after
            the run.
        request_log: write every request into this Parquet file.
        log_overflow: where the log's disk is slower than the load, make the load wait, or drop requests from the log.
        trace_latency: trace how long requests wait in the block layer and how long in the device; needs root.
        fail_if: conditions such as ``"p99.9 > 1ms"``.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.

    Raises:
        UsageError: an argument is invalid.
        IogaugeError: the jobs cannot be read or planned, or a target is refused.
        RunError: the run ended early; its ``result`` is what was measured.
        ConditionError: a condition of ``fail_if`` holds, or cannot be judged; it has the ``result``.
        Interrupted: Ctrl-C, a KeyboardInterrupt, which has the ``result``.

    Examples:
        >>> import iogauge
        >>> job = "[reads]\\nrw=randread\\nbs=4k\\nruntime=12\\ntime_based=1\\n"
        >>> result = iogauge.run(job, target="model:p4800x", seed=1)
        >>> p999 = result["reads"].read.lat.quantile(0.999)
        >>> p999.low <= p999.value <= p999.high, p999.supported
        (True, True)
    """
    from iogauge.execution import with_traces
    from iogauge.execution.refusals import refuse_writes
    from iogauge.report.run.fail_if import parse

    conditions = [parse(text) for text in as_list(fail_if)]
    section = as_list(section)
    if seed is not None:
        require_whole("seed", seed, least=0, most=MOST_SEED)
    reporter = RunReporter(on_progress)
    if diskspd is None:
        job_file = job_file_of(jobs, section)
    else:
        named = [jobs] if isinstance(jobs, str | PathLike | JobFile) else list(jobs)
        job_file, interval = diskspd_jobs(
            diskspd, jobs=named, section=section, interval=interval, say=reporter.message
        )
    job_file = with_traces(on_target(target, job_file), say=reporter.message)
    if diskspd is not None:
        require_files(job_file)
    if readonly:
        refuse_writes(job_file)
    for condition in conditions:
        condition.require(job_file)
    request = measurement.RunRequest(
        jobs=job_file,
        files=() if diskspd is not None else _files(jobs),
        interval_ns=measurement.interval_ns(job_file, interval, name="interval"),
        give_up_ns=time_ns(give_up, name="give_up"),
        destroy=tuple(as_list(destroy)),
        seed=seed,
        request_log=None if request_log is None else Path(request_log),
        log_drops=measurement.log_drops(log_overflow),
        ceiling=ceiling,
        drive_samples=drive_samples,
        readonly=readonly,
        allow_exec=allow_exec,
        trace_latency=trace_latency,
    )
    return measured(request, conditions, reporter, diskspd=diskspd)


def job_file_of(jobs: StrPath | Sequence[str] | JobFile, section: Sequence[str]) -> JobFile:
    """Return the jobs that ``run`` takes, validated. Raises UsageError, and IogaugeError for a file."""
    if isinstance(jobs, JobFile):
        if section:
            raise UsageError("section names jobs of a job file that is read", hint="leave it out")
        return jobs
    if isinstance(jobs, str) and "\n" in jobs:
        return workload.parse(jobs, source="jobs", only=section)
    arguments = [fspath(jobs)] if isinstance(jobs, str | PathLike) else list(jobs)
    if not arguments:
        raise UsageError("no job to run", hint="name a job file, or give fio's options: ['--name=x', ...]")
    return workload.from_arguments(arguments, only=section)


def _files(jobs: StrPath | Sequence[str] | JobFile) -> tuple[str, ...]:
    """Return the job files that jobs are read from."""
    if isinstance(jobs, JobFile) or (isinstance(jobs, str) and "\n" in jobs):
        return ()
    return tuple(workload.job_files([fspath(jobs)] if isinstance(jobs, str | PathLike) else jobs))


def on_target(target: StrPath | None, jobs: JobFile) -> JobFile:
    """Return the jobs with ``target`` in place of their own files; None: as they are."""
    if target is None:
        return jobs
    name = fspath(target)
    moved = [
        job.model_copy(
            update={
                "filenames": (name,),
                "directory": (),
                "replay_redirect": (name,) if job.read_iolog else (),
            }
        )
        for job in jobs.jobs
    ]
    options = [
        {**{key: value for key, value in written.items() if key != "directory"}, "filename": name}
        for written in jobs.options
    ]
    return jobs.model_copy(update={"jobs": tuple(moved), "options": tuple(options)})
