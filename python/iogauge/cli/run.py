"""``iogauge run``: a job file, or fio's options, run once and reported.

Run fio job files, or jobs given as fio's options, and print what was measured: a table, or fio's JSON, alone on
stdout. Progress, messages and warnings go to stderr.

What is not an option of iogauge is fio's: --name begins a job, and the options after it are that job's. Writing to
anything but a file that iogauge made needs --destroy. --diskspd takes a command line of DiskSpd's instead, and prints
its tables.

Exit status: 0 measured; 1 error, or a condition that cannot be judged; 2 wrong usage; 3 a --fail-if condition
holds; 130 interrupted (143 by SIGTERM), with what was measured until then printed.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli import log_place, process, run_diskspd, status, streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.cli.progress import Progress
    from iogauge.report.diskspd_rates import DiskspdRates
    from iogauge.report.fail_if import Condition
    from iogauge.report.fio_logs import FioLogs
    from iogauge.report.interval_stats import IntervalStats
    from iogauge.schema import Interval, JobFile, RunPlan, RunRecord, TargetFacts

CONTEXT: dict[str, Any] = {"ignore_unknown_options": True}
FORMATS = ("normal", "json", "json+")


def run(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB.fio | --OPTION=VALUE]...",
            help="fio job files, or jobs as fio's options, each from its --name=JOB; see 'iogauge options'.",
        ),
    ] = None,
    diskspd: Annotated[
        str | None,
        typer.Option(
            metavar="'-OPTION... TARGET...'",
            help="Run a command line of DiskSpd's; 'normal' is its tables then.",
        ),
    ] = None,
    output_format: Annotated[
        str, typer.Option(metavar="normal|json|json+", help="What to print; several, separated by commas.")
    ] = "normal",
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Print into FILE.")] = None,
    destroy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIAL-OR-PATH", help="Allow this target's contents to be destroyed; repeatable."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="NUMBER", help="Seed of everything random; default: the jobs' own."),
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of an interval, as 500ms or 1s.  [default: 1s]")
    ] = None,
    request_log: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Log every request, all its instants.")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="Exit with 3 where this holds, as 'p99.9 > 1ms'; repeatable."),
    ] = None,
    give_up: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long requests may be in flight and none come back, before they are reported as they are.",
        ),
    ] = "120s",
    no_ceiling: Annotated[
        bool, typer.Option("--no-ceiling", help="Do not measure first what iogauge itself can do here.")
    ] = False,
    parse_only: Annotated[
        bool,
        typer.Option("--parse-only", help="Print the jobs as they were understood and do no I/O."),
    ] = False,
) -> None:
    """Run what was asked for; raises what ``cli.main`` turns into an exit status."""
    formats = _formats(output_format)
    if diskspd is None and not jobs:
        raise status.UsageError(
            "no job to run",
            hint="name a job file, or write a job: --name=x --filename=FILE --rw=randread --bs=4k --direct=1",
        )
    from iogauge import workload
    from iogauge.report.fail_if import parse

    conditions = [parse(text) for text in fail_if or ()]
    _refuse_typing_errors(jobs or (), known=workload.BY_NAME)
    if diskspd is None:
        job_file = workload.from_arguments(jobs or ())
    else:
        job_file, interval = run_diskspd.understood(diskspd, jobs or (), interval=interval)
    for condition in conditions:
        condition.require(job_file)
    asked = Asked(
        jobs=job_file,
        conditions=conditions,
        formats=formats,
        output=output,
        interval_ns=_interval_ns(job_file, interval),
        give_up_ns=time_ns(give_up, option="--give-up"),
        destroy=tuple(destroy or ()),
        seed=seed,
        request_log=request_log,
        ceiling=not no_ceiling,
        diskspd=diskspd,
    )
    if parse_only:
        text = workload.to_fio(job_file) if formats == ("normal",) else job_file.model_dump_json(indent=2)
        _emit(f"{text.rstrip()}\n", output)
        return
    _measure(asked)


@dataclass(frozen=True)
class Asked:
    """The command line, understood."""

    jobs: JobFile
    conditions: list[Condition]
    formats: tuple[str, ...]
    output: Path | None
    interval_ns: int
    give_up_ns: int
    destroy: tuple[str, ...]
    seed: int | None
    request_log: Path | None
    ceiling: bool
    diskspd: str | None = None
    """The command line of DiskSpd's that the jobs stand for."""


@dataclass
class Listeners:
    """Everything that follows a run while it goes on."""

    progress: Progress
    stats: IntervalStats
    rates: DiskspdRates
    logs: FioLogs | None = None
    make_logs: Callable[[RunPlan], FioLogs] | None = None
    targets: tuple[TargetFacts, ...] = field(default=())

    def started(self, plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        """The plan is made and the targets are open; nothing has been issued yet."""
        from iogauge.cli.progress import expected_s

        self.targets = targets
        self.logs = self.make_logs(plan) if self.make_logs else None
        where = ", ".join(dict.fromkeys(facts.path for facts in targets)) or "null"
        self.progress.step(where, expected_s=expected_s(plan))
        self.progress.started(plan)

    def interval(self, interval: Interval) -> None:
        """One interval of one row is over."""
        self.stats.add(interval)
        self.rates.add(interval)
        self.progress.interval(interval)
        if self.logs:
            self.logs.interval(interval)


def _measure(asked: Asked) -> None:
    # All that will be needed, and only then is there anything that an interrupt could cost.
    import iogauge.report.diskspd_table
    import iogauge.report.jsonplus
    import iogauge.report.table
    import iogauge.run  # noqa: F401

    process.begin()
    for path in filter(None, (asked.output, asked.request_log)):
        _writable(path)
    with log_place.request_log(asked.request_log, asked.jobs) as requests:
        _measure_logging(asked, requests)


def _measure_logging(asked: Asked, requests: Path | None) -> None:
    from iogauge import run as runner
    from iogauge.cli.progress import Progress
    from iogauge.report import fio_logs
    from iogauge.report.diskspd_rates import DiskspdRates
    from iogauge.report.interval_stats import IntervalStats

    virtual = _modelled(asked.jobs)
    with Progress(title="iogauge run", virtual=virtual) as progress:
        stats = IntervalStats(interval_ns=asked.interval_ns)
        listeners = Listeners(progress, stats, DiskspdRates(interval_ns=asked.interval_ns))
        if fio_logs.wanted(asked.jobs):
            listeners.make_logs = lambda plan: fio_logs.FioLogs(asked.jobs, plan)
        record = runner.execute(
            asked.jobs,
            destroy=asked.destroy,
            seed=asked.seed,
            interval_ns=asked.interval_ns,
            give_up_ns=asked.give_up_ns,
            request_log=requests,
            on_interval=listeners.interval,
            on_message=progress.message,
            on_start=listeners.started,
            ceiling=runner.measure_ceiling(asked.jobs) if asked.ceiling and not virtual else None,
        )
    with process.results_first():
        _report(record, listeners, asked)
    if listeners.logs:
        if requests is not None and fio_logs.needs_requests(asked.jobs):
            listeners.logs.requests(requests)
        listeners.logs.close()
    _conclude(record, asked.conditions)


def _modelled(jobs: JobFile) -> bool:
    """Whether drive models are run, whose time no generator of ours can limit."""
    from iogauge.target import is_model

    return any(is_model(name) for job in jobs.jobs for name in job.filenames)


def _report(record: RunRecord, listeners: Listeners, asked: Asked) -> None:
    """Print the results in every format asked for, then the warnings."""
    from iogauge.report import diskspd_table, jsonplus, surroundings, table

    warnings = surroundings.warnings(record.warnings)
    texts = []
    for name in asked.formats:
        if name == "normal":
            if asked.diskspd is None:
                texts.append(table.render(record, listeners.stats))
            else:
                texts.append(diskspd_table.render(record, listeners.rates, command=asked.diskspd))
            if warnings and asked.output:
                texts.append(warnings)
        else:
            texts.append(jsonplus.render(record, listeners.stats, plus=name == "json+") + "\n")
    _emit("\n".join(texts), asked.output)
    streams.say(warnings, end="")


def _conclude(record: RunRecord, conditions: list[Condition]) -> None:
    """Choose the exit status: interrupted, failed, violated, in this order."""
    result = record.result
    findings = [found for condition in conditions for found in condition.check(record)]
    for found in findings:
        kind = "error" if found.unknown else "failed"
        streams.say(f"{kind}: {found.message}")
        if found.hint:
            streams.say(f"hint: {found.hint}")
    if result.stopped_by == "interrupt":
        streams.say(f"{process.word()}: what was measured until then is reported")
        raise typer.Exit(process.status())
    failed = [f"{worker.name}: {worker.error}" for worker in result.workers if worker.error]
    if result.error or failed:
        reason = result.error or "; ".join(dict.fromkeys(failed))
        medium = any(
            {errno.EIO, errno.EILSEQ} & set(t.errors) for row in result.rows for t in row.tallies.values()
        )
        past = "; continue_on_error=io goes on past I/O errors" if medium else ""
        raise IogaugeError(reason, hint=f"what was measured until then is reported above{past}")
    if any(not found.unknown for found in findings):
        raise typer.Exit(status.VIOLATED)
    if findings:
        raise typer.Exit(status.ERROR)


def _refuse_typing_errors(arguments: Sequence[str], *, known: Collection[str]) -> None:
    """Find what was meant as an option of ours before it is taken for one of fio's that does not exist."""
    own = ("output-format", "output", "destroy", "seed", "interval", "request-log", "fail-if", "give-up")
    for argument in arguments:
        name = argument.removeprefix("--").partition("=")[0]
        if name == argument or name in known:
            continue
        meant = difflib.get_close_matches(name, (*own, "no-ceiling", "parse-only"), n=1, cutoff=0.8)
        if meant:
            raise status.UsageError(f"--{name} is not an option", hint=f"did you mean --{meant[0]}?")


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in FORMATS:
            raise status.UsageError(
                f"--output-format: {name!r} is not a format", hint=f"use one of {', '.join(FORMATS)}"
            )
    return names


def _interval_ns(jobs: JobFile, text: str | None) -> int:
    """The interval asked for, or the one that the jobs' logs need."""
    from iogauge.report import fio_logs

    if text is None:
        return fio_logs.interval_ns_for(jobs)
    chosen_ns = time_ns(text, option="--interval")
    if chosen_ns < fio_logs.SHORTEST_NS:
        raise status.UsageError(f"--interval: {text!r} is shorter than 10 ms", hint="use 10ms or more")
    if chosen_ns > fio_logs.LONGEST_NS:
        raise status.UsageError(f"--interval: {text!r} is longer than a minute", hint="use 1s")
    fio_logs.require_interval(jobs, interval_ns=chosen_ns)
    return chosen_ns


_UNITS_NS = {
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "": 10**9,
}


def time_ns(text: str, *, option: str) -> int:
    """Return a time of the command line in ns; a bare number is seconds, as in fio. Raises UsageError.

    >>> time_ns("500ms", option="--interval")
    500000000
    """
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :]
    try:
        value_ns = round(float(number) * _UNITS_NS[unit])
    except (ValueError, KeyError, OverflowError):
        value_ns = 0
    if value_ns <= 0:
        raise status.UsageError(
            f"{option}: {text!r} is not a time", hint="write for instance 500ms, 1s or 2m"
        )
    return value_ns


def _writable(path: Path) -> None:
    """Find out before the run, not after it, that a result could not be saved."""
    folder = path.parent
    if path.is_dir():
        raise IogaugeError(f"{path}: is a directory", hint="name a file")
    if not folder.is_dir():
        raise IogaugeError(f"{path}: there is no directory {folder}", hint=f"create it: mkdir -p {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise IogaugeError(f"{path}: cannot be written", hint="name a file that can be written")


def _emit(text: str, output: Path | None) -> None:
    if output is None:
        streams.show(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        streams.show(text)
        raise IogaugeError(
            f"{output}: {error.strerror}", hint="the result was printed instead; save it from there"
        ) from error
