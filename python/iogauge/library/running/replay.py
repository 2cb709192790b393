"""Replay a trace on targets, and return what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from iogauge.errors import UsageError
from iogauge.library.options import MOST_SEED, StrPath, as_list, require_choice, require_whole
from iogauge.library.progress import OnProgress, RunReporter
from iogauge.library.public import public
from iogauge.library.quantities import time_ns
from iogauge.library.running import measurement
from iogauge.library.running.measured import measured
from iogauge.library.running.result import RunResult
from iogauge.schema import JobFile
from iogauge.text.option import option

UNKNOWN_DEPTH = 256
"""The depth of a trace that does not say what was in flight, if its buffers then fit into memory."""


@public
def replay(
    trace: StrPath,
    target: Sequence[StrPath] | StrPath,
    *,
    pacing: Literal["timed", "closed", "dependent", "think"] = "timed",
    addresses: Literal["keep", "fold", "fit"] = "keep",
    time_scale: int = 100,
    scale: int = 1,
    align: int | str | None = None,
    skip: str | None = None,
    iodepth: int | None = None,
    ioengine: str = "io_uring",
    direct: bool = True,
    runtime: float | str | None = None,
    size: int | str | None = None,
    seed: int | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    readonly: bool = False,
    interval: float | str | None = None,
    give_up: float | str = "120s",
    drive_samples: bool = True,
    request_log: StrPath | None = None,
    fail_if: Sequence[str] | str = (),
    on_progress: OnProgress = lambda _: None,
) -> RunResult:
    """Replay a trace, and return what was measured. Its one job is ``"replay"``.

    Args:
        trace: a trace of ``import_trace`` or ``record_trace``, fio's iolog, or a binary file of blktrace.
        target: a block device, a file, or a drive model such as ``"model:p4800x"``. Several take the devices of the
            trace in turns; one takes all of them.
        pacing: when a request is issued: ``"timed"``, at the trace's instants; ``"closed"``, as soon as ``iodepth``
            allows; ``"dependent"``, once those have completed that had completed before it in the trace; ``"think"``,
            as long after them as in the trace.
        addresses: what happens to requests beyond the target's end: ``"keep"`` refuses them, ``"fold"`` begins anew at
            its start, ``"fit"`` scales all addresses.
        time_scale: how fast the trace's time passes, in percent.
        scale: divide offsets by this.
        align: round offsets down to a multiple of this power of two, bytes or text such as ``"4k"``.
        skip: leave out requests of these directions: ``"read,write,trim,sync"``.
        iodepth: the most requests in flight; by default that of the trace, or 256.
        ioengine: how requests reach the target.
        direct: bypass the page cache; drive models have none.
        runtime: end after this time, seconds or text such as ``"1m30s"``.
        size: use only so much of a target, bytes or text; a file is created with this size.
        seed: the seed of all random choices of a drive model.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        readonly: refuse a trace that writes or trims, and targets that would have to be created.
        interval: the length of an interval, seconds or text such as ``"500ms"``; by default a second.
        give_up: stop if no request completes for this long, seconds or text.
        drive_samples: read temperature, throttling and errors of the drives each second, just before and just after
            the run.
        request_log: write every request into this Parquet file.
        fail_if: conditions such as ``"p99.9 > 1ms"``.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.

    Raises as ``run`` does, and IogaugeError if the trace cannot be replayed.

    Examples:
        >>> import iogauge
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> requests = ["fio version 3 iolog", "0 x add", "10 x read 0 4096", "900 x write 8192 4096"]
        >>> with TemporaryDirectory() as folder:
        ...     trace = Path(folder, "trace.log")
        ...     _ = trace.write_text("\\n".join(requests))
        ...     result = iogauge.replay(trace, "model:p4800x", seed=1)
        >>> result["replay"].read.ios, result["replay"].write.bytes
        (1, 4096)
    """
    from iogauge.execution.refusals import refuse_writes
    from iogauge.report.run.fail_if import parse

    conditions = [parse(text) for text in as_list(fail_if)]
    if seed is not None:
        require_whole("seed", seed, least=0, most=MOST_SEED)
    reporter = RunReporter(on_progress)
    jobs = replay_jobs(
        trace,
        as_list(target),
        pacing=pacing,
        addresses=addresses,
        time_scale=time_scale,
        scale=scale,
        align=align,
        skip=skip,
        iodepth=iodepth,
        ioengine=ioengine,
        direct=direct,
        runtime=runtime,
        size=size,
        say=reporter.message,
    )
    if readonly:
        refuse_writes(jobs)
    for condition in conditions:
        condition.require(jobs)
    request = measurement.RunRequest(
        jobs=jobs,
        files=(fspath(trace),),
        interval_ns=measurement.interval_ns(jobs, interval, name="interval"),
        give_up_ns=time_ns(give_up, name="give_up"),
        destroy=tuple(map(fspath, as_list(destroy))),
        seed=seed,
        request_log=None if request_log is None else Path(request_log),
        ceiling=False,
        drive_samples=drive_samples,
        readonly=readonly,
    )
    return measured(request, conditions, reporter)


def replay_jobs(
    trace: str | PathLike[str],
    targets: Sequence[str | PathLike[str]],
    *,
    pacing: str = "timed",
    addresses: str = "keep",
    time_scale: int = 100,
    scale: int = 1,
    align: int | str | None = None,
    skip: str | None = None,
    iodepth: int | None = None,
    ioengine: str = "io_uring",
    direct: bool = True,
    runtime: float | str | None = None,
    size: int | str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> JobFile:
    """Return the job that replays a trace; ``say`` is called with what is replayed otherwise than the trace has it.

    Raises IogaugeError if an option is invalid or the trace cannot be replayed.
    """
    from iogauge.execution import with_traces
    from iogauge.schema import Addresses, Pacing
    from iogauge.target import is_model
    from iogauge.workload import from_arguments
    from iogauge.workload.options.patterns import FILES

    require_choice("pacing", pacing, [*Pacing])
    require_choice("addresses", addresses, [*Addresses])
    names = tuple(fspath(target) for target in targets)
    chosen = {
        "time_scale": time_scale,
        "scale": scale,
        "align": align,
        "skip": skip,
        "ioengine": ioengine,
        "iodepth": iodepth,
        "runtime": runtime,
        "size": size,
    }
    written = {
        "name": "replay",
        "read_iolog": fspath(trace),
        "replay_redirect": FILES.write(names),
        "replay_pacing": pacing,
        "replay_addresses": addresses,
        "direct": int(direct and not any(map(is_model, names))),
        **_job_options(chosen),
    }
    arguments = [f"--{name}={value}" for name, value in written.items()]
    jobs = with_traces(from_arguments(arguments), unknown_depth=UNKNOWN_DEPTH, say=say)
    return _with_size_of_each(jobs)


def _with_size_of_each(jobs: JobFile) -> JobFile:
    """Return the jobs with a size in bytes for each target: that of a job is divided among its files."""
    (job,) = jobs.jobs
    if job.size is None or job.size.percent is not None:
        return jobs
    size = job.size.model_copy(update={"size_bytes": job.size.size_bytes * len(job.filenames)})
    return jobs.model_copy(update={"jobs": (job.model_copy(update={"size": size}),)})


def _job_options(chosen: Mapping[str, object]) -> dict[str, object]:
    """Return arguments under the names of the job's options. Raises UsageError, which names the argument."""
    from iogauge.workload import BY_NAME
    from iogauge.workload.problem import BadValue

    options = {}
    for name, value in chosen.items():
        if value is None:
            continue
        job_option = BY_NAME.get(f"replay_{name}") or BY_NAME[name]
        try:
            job_option.kind.read(str(value), 1024)
        except BadValue as problem:
            raise UsageError(f"{option(name, value)}: {problem}", hint=problem.hint) from None
        options[job_option.name] = value
    return options
