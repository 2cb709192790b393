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
import math
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli import log_place, process, progress_options, run_diskspd, run_formats, status, streams
from iogauge.cli.times import time_ns
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.cli.progress import Progress
    from iogauge.cli.run_formats import Formats
    from iogauge.cli.status_reports import StatusReports
    from iogauge.report.diskspd_rates import DiskspdRates
    from iogauge.report.fail_if import Condition
    from iogauge.report.fio_logs import FioLogs
    from iogauge.report.interval_stats import IntervalStats
    from iogauge.run.spill import Spill
    from iogauge.schema import Ceiling, Interval, JobFile, RunPlan, RunRecord, TargetFacts
    from iogauge.store.outputs import Claims, Output

CONTEXT: dict[str, Any] = {"ignore_unknown_options": True}


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
        str | None,
        typer.Option(
            metavar="normal|terse|json|json+",
            help="What to print; several, separated by commas. 'normal' is a table of iogauge's own.  "
            "[default: normal]",
        ),
    ] = None,
    minimal: Annotated[bool, typer.Option("--minimal", help="The same as --output-format=terse.")] = False,
    terse_version: Annotated[
        int, typer.Option(min=2, max=5, metavar="2|3|4|5", help="fio's version of terse.")
    ] = 3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Print into FILE.")
    ] = None,
    status_interval: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Print the results so far every TIME, in the same formats."),
    ] = None,
    section: Annotated[
        list[str] | None, typer.Option(metavar="JOB", help="Run only this job; repeatable.")
    ] = None,
    readonly: Annotated[
        bool,
        typer.Option("--readonly", help="Refuse every job that writes or trims, and the layout of files."),
    ] = False,
    destroy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIAL-OR-PATH", help="Allow this target's contents to be destroyed; repeatable."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="Seed of everything random but jobs with randseed.  [default: one that repeats; "
            "drawn for jobs with randrepeat=0]",
        ),
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of an interval, as 500ms or 1s.  [default: 1s]")
    ] = None,
    request_log: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Log every request, all its instants.")
    ] = None,
    log_overflow: Annotated[
        str,
        typer.Option(
            metavar="wait|drop",
            help="When the log's disk is slower than the load: the load waits, or requests are not logged.",
        ),
    ] = "wait",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="Exit with 3 where this holds, as 'p99.9 > 1ms'; repeatable."),
    ] = None,
    give_up: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long requests may be in flight and none come back, before they are reported as they are; and how "
            "long a target may take to answer before the run.",
        ),
    ] = "120s",
    no_ceiling: Annotated[
        bool, typer.Option("--no-ceiling", help="Do not measure first what iogauge itself can do here.")
    ] = False,
    eta: Annotated[
        progress_options.Eta,
        typer.Option(help="Whether to show progress; 'never' leaves messages and warnings."),
    ] = progress_options.Eta.AUTO,
    eta_interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="How often to show it, at least 250ms.")
    ] = None,
    max_jobs: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Accepted, and as in fio without effect.")
    ] = None,
    parse_only: Annotated[
        bool,
        typer.Option("--parse-only", help="Print the jobs as they were understood and do no I/O."),
    ] = False,
    showcmd: Annotated[
        bool, typer.Option("--showcmd", help="Print the jobs as a command line and do no I/O.")
    ] = False,
) -> None:
    """Run what was asked for; raises what ``cli.main`` turns into an exit status."""
    del max_jobs  # fio has long ignored it
    formats = run_formats.chosen(output_format, minimal=minimal, terse_version=terse_version, diskspd=diskspd)
    shown_as = progress_options.chosen(eta, every=eta_interval)
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
        job_file = workload.from_arguments(jobs or (), only=section or ())
    else:
        job_file, interval = run_diskspd.understood(diskspd, jobs or (), interval=interval)
    if readonly:
        from iogauge.run.readonly import refuse_writes

        refuse_writes(job_file)
    for condition in conditions:
        condition.require(job_file)
    every_ns = None if status_interval is None else status_ns(status_interval)
    asked = Asked(
        jobs=job_file,
        conditions=conditions,
        formats=formats,
        output=output,
        interval_ns=_interval_ns(job_file, interval, status_ns=every_ns),
        give_up_ns=time_ns(give_up, option="--give-up"),
        destroy=tuple(destroy or ()),
        seed=seed,
        request_log=request_log,
        log_drops=_log_drops(log_overflow),
        ceiling=not no_ceiling,
        files=() if diskspd else tuple(workload.job_files(jobs or ())),
        readonly=readonly,
        status_ns=every_ns,
        progress=shown_as,
    )
    if showcmd:
        _emit(
            f"{shlex.join(['iogauge', 'run', *workload.to_command(job_file)])}\n",
            _claimed_output(_claims(asked), output),
        )
        return
    if parse_only:
        plain = formats.names == ("normal",)
        text = workload.to_fio(job_file) if plain else job_file.model_dump_json(indent=2)
        _emit(f"{text.rstrip()}\n", _claimed_output(_claims(asked), output))
        return
    _measure(asked)


@dataclass(frozen=True)
class Asked:
    """The command line, understood."""

    jobs: JobFile
    conditions: list[Condition]
    formats: Formats
    output: Path | None
    interval_ns: int
    give_up_ns: int
    destroy: tuple[str, ...]
    seed: int | None
    request_log: Path | None
    log_drops: bool
    ceiling: bool
    files: tuple[str, ...]
    """The job files that the jobs were read from."""
    readonly: bool
    status_ns: int | None
    """How often the results so far are printed."""
    progress: Mapping[str, Any]
    """How ``Progress`` is shown."""


@dataclass
class Listeners:
    """Everything that follows a run while it goes on."""

    progress: Progress
    stats: IntervalStats
    rates: DiskspdRates
    logs: FioLogs | None = None
    make_logs: Callable[[RunPlan], FioLogs] | None = None
    make_reports: Callable[[RunPlan, tuple[TargetFacts, ...]], StatusReports] | None = None
    reports: StatusReports | None = None
    targets: tuple[TargetFacts, ...] = field(default=())

    def started(self, plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        """The plan is made and the targets are open; nothing has been issued yet."""
        from iogauge.cli.progress import expected_s

        self.targets = targets
        self.logs = self.make_logs(plan) if self.make_logs else None
        self.reports = self.make_reports(plan, targets) if self.make_reports else None
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
        if self.reports:
            self.reports.interval(interval)


def _measure(asked: Asked) -> None:
    # All that will be needed, and only then is there anything that an interrupt could cost.
    import iogauge.report.diskspd_table
    import iogauge.report.jsonplus
    import iogauge.report.table
    import iogauge.report.terse
    import iogauge.run  # noqa: F401
    from iogauge.report import fio_logs

    process.begin()
    claims = _claims(asked)
    output = _claimed_output(claims, asked.output)
    logs = fio_logs.claim(asked.jobs, claims)
    requests = _claimed_log(claims, asked.request_log)
    with log_place.spill(asked.request_log, asked.jobs) as spill:
        _measure_logging(asked, output=output, logs=logs, requests=requests, spill=spill)


def _claims(asked: Asked) -> Claims:
    """Return the claims of a run, whose outputs are none of its targets and none of its job files."""
    from iogauge.schema import EngineKind
    from iogauge.store.outputs import Claims
    from iogauge.workload import paths

    driven = [job for job in asked.jobs.jobs if job.ioengine is not EngineKind.NULL]
    targets = {name: None for job in driven for clone in range(job.numjobs) for name in paths(job, clone)}
    return Claims(targets=targets, inputs=asked.files, patience_s=asked.give_up_ns / 1e9, say=streams.say)


def _claimed_output(claims: Claims, path: Path | None) -> Output | None:
    from iogauge.store.outputs import Existing

    return claims.file(path, existing=Existing.REPLACE) if path else None


def _claimed_log(claims: Claims, path: Path | None) -> Output | None:
    from iogauge.store.outputs import Existing

    return claims.file(path, existing=Existing.OWN) if path else None


def _measure_logging(
    asked: Asked,
    *,
    output: Output | None,
    logs: Mapping[str, Output],
    requests: Output | None,
    spill: Spill | None,
) -> None:
    from iogauge import run as runner
    from iogauge.cli.progress import Progress
    from iogauge.cli.run_printed import Printed
    from iogauge.report import fio_logs
    from iogauge.report.diskspd_rates import DiskspdRates
    from iogauge.report.interval_stats import IntervalStats

    virtual = _modelled(asked.jobs)
    printed = Printed(
        asked.formats, emit=lambda text: _emit(text, output), whole=output is not None and output.is_file
    )
    with Progress(title="iogauge run", virtual=virtual, **asked.progress) as progress:
        stats = IntervalStats(interval_ns=asked.interval_ns)
        listeners = Listeners(progress, stats, DiskspdRates(interval_ns=asked.interval_ns))
        if fio_logs.wanted(asked.jobs):
            listeners.make_logs = lambda plan: fio_logs.FioLogs(asked.jobs, plan, logs)
        ceiling = runner.measure_ceiling(asked.jobs) if asked.ceiling and not virtual else None
        if asked.status_ns:
            listeners.make_reports = lambda plan, targets: _status_reports(
                asked, plan, targets, ceiling, lambda record: printed.so_far(record, listeners)
            )
        record = runner.execute(
            asked.jobs,
            destroy=asked.destroy,
            seed=asked.seed,
            interval_ns=asked.interval_ns,
            give_up_ns=asked.give_up_ns,
            spill=spill,
            log_drops=asked.log_drops,
            on_interval=listeners.interval,
            on_message=progress.message,
            on_start=listeners.started,
            ceiling=ceiling,
            readonly=asked.readonly,
        )
    with process.results_first():
        printed.results(record, listeners)
    if listeners.logs:
        listeners.logs.close()
    # One that is not complete may be on a full disk, and is made into logs once there is room.
    if spill and not spill.failure:
        log_place.convert(spill, jobs=asked.jobs, plan=record.plan, parquet=requests, logs=logs)
        spill.remove()
    _conclude(record, asked.conditions)


def _modelled(jobs: JobFile) -> bool:
    """Whether drive models are run, whose time no generator of ours can limit."""
    from iogauge.target import is_model

    return any(is_model(name) for job in jobs.jobs for name in job.filenames)


def _status_reports(
    asked: Asked,
    plan: RunPlan,
    targets: tuple[TargetFacts, ...],
    ceiling: Ceiling | None,
    show: Callable[[RunRecord], None],
) -> StatusReports:
    from iogauge import run as runner
    from iogauge.cli.status_reports import StatusReports
    from iogauge.report.so_far import SoFar

    clock = runner.clock()
    if _modelled(asked.jobs):
        clock = clock.model_copy(update={"source": "virtual", "tsc_hz": 0.0})
    so_far = SoFar(asked.jobs, plan, targets, clock=clock, ceiling=ceiling)
    return StatusReports(plan, so_far, every_ns=asked.status_ns or 0, show=show)


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
    own = (
        *(
            "output-format",
            "output",
            "destroy",
            "seed",
            "interval",
            "request-log",
            "log-overflow",
            "fail-if",
            "give-up",
        ),
        *(
            "minimal",
            "terse-version",
            "status-interval",
            "section",
            "readonly",
            "eta",
            "eta-interval",
            "max-jobs",
        ),
    )
    for argument in arguments:
        name = argument.removeprefix("--").partition("=")[0]
        if name == argument or name in known:
            continue
        meant = difflib.get_close_matches(
            name, (*own, "no-ceiling", "parse-only", "showcmd"), n=1, cutoff=0.8
        )
        if meant:
            raise status.UsageError(f"--{name} is not an option", hint=f"did you mean --{meant[0]}?")


def _log_drops(overflow: str) -> bool:
    if overflow not in ("wait", "drop"):
        raise status.UsageError(f"--log-overflow: {overflow!r}", hint="write wait or drop")
    return overflow == "drop"


def _interval_ns(jobs: JobFile, text: str | None, *, status_ns: int | None) -> int:
    """The interval asked for, or the one that the jobs' logs and --status-interval need."""
    from iogauge.report import fio_logs

    if text is None:
        return fio_logs.interval_ns_for(jobs, otherwise_ns=math.gcd(fio_logs.DEFAULT_NS, status_ns or 0))
    chosen_ns = time_ns(text, option="--interval")
    if chosen_ns < fio_logs.SHORTEST_NS:
        raise status.UsageError(f"--interval: {text!r} is shorter than 10 ms", hint="use 10ms or more")
    if chosen_ns > fio_logs.LONGEST_NS:
        raise status.UsageError(f"--interval: {text!r} is longer than a minute", hint="use 1s")
    fio_logs.require_interval(jobs, interval_ns=chosen_ns)
    return chosen_ns


def status_ns(text: str) -> int:
    """Return the time of --status-interval in ns. Raises UsageError."""
    every_ns = time_ns(text, option="--status-interval")
    if every_ns % 10**7:
        raise status.UsageError(
            f"--status-interval: {text!r} is no multiple of 10 ms",
            hint="use 10ms or more, for instance 500ms",
        )
    return every_ns


def _emit(text: str, output: Output | None) -> None:
    if output is None:
        streams.show(text)
        return
    try:
        output.write(text.encode("utf-8", "surrogateescape"))
    except IogaugeError as error:
        streams.show(text)
        raise IogaugeError(str(error), hint="the result was printed instead; save it from there") from error
