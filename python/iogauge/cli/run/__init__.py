r"""``iogauge run``: run a job file, or fio's options, once and report.

Run fio job files, or jobs written as fio's options, and print the results: a table, or one of fio's formats. Only
results go to stdout. Progress, messages and warnings go to stderr. The table fits on a screen; --verbose and --output
have every latency, worker and device, and each warning with its remedy.

Options that are not listed below are fio's: --name begins a job, and the options after it belong to that job. Writing
needs --destroy, except to a file that iogauge made. --diskspd takes a command line of DiskSpd instead, and prints its
tables.

Conditions (--fail-if, --checks) are checked on every job: 'p99.9 > 1ms', or 'job=log: write.p99 > 5ms' on one.

Exit status: 0 measured; 1 error, or a condition that cannot be judged; 2 wrong usage; 3 a condition holds; 130
interrupted (143 by SIGTERM), after printing the results so far.

    iogauge run --name=x --filename=test.bin --size=1g --rw=randread \
        --bs=4k --direct=1 --runtime=10 --time_based

    iogauge run jobs.fio --fail-if 'job=log: write.p99 > 5ms' \
        --checks checks.toml --check-results checks.xml
"""

from __future__ import annotations

import difflib
import itertools
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.run import formats as run_formats
from iogauge.cli.run import progress_options
from iogauge.cli.terminal import checks, process, status, streams
from iogauge.cli.terminal.shared_options import Destroy, TraceLatency, Verbose, Watch
from iogauge.errors import IogaugeError
from iogauge.library.quantities import time_ns

if TYPE_CHECKING:
    from iogauge.cli.run.formats import Formats
    from iogauge.cli.run.printed import Printed
    from iogauge.cli.run.progress_options import ProgressOptions
    from iogauge.cli.run.status_reports import StatusReports
    from iogauge.library.running.measurement import RunLogs, RunRequest
    from iogauge.report.run.fail_if import Condition
    from iogauge.report.run.so_far import SoFar
    from iogauge.schema import Ceiling, RunPlan, RunRecord, TargetFacts
    from iogauge.store.outputs import Output

CONTEXT: dict[str, Any] = {"ignore_unknown_options": True}


def run(
    context: typer.Context,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB.fio | --OPTION=VALUE]...",
            help="fio job files, or jobs as fio's options, each from --name=JOB on; see 'iogauge options'.",
        ),
    ] = None,
    diskspd: Annotated[
        str | None,
        typer.Option(
            metavar="'-OPTION... TARGET...'",
            help="Run a command line of DiskSpd; 'normal' then prints DiskSpd's tables.",
        ),
    ] = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            metavar="normal|terse|json|json+",
            help="Output formats, separated by commas. 'normal' is iogauge's own table.  [default: normal]",
        ),
    ] = None,
    minimal: Annotated[
        bool,
        typer.Option("--minimal", help="The same as --output-format=terse; the later of the two counts."),
    ] = False,
    terse_version: Annotated[
        int, typer.Option(min=2, max=5, metavar="2|3|4|5", help="Version of fio's terse format.")
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
        typer.Option(
            "--readonly", help="Refuse jobs that write or trim, or that would have to create files."
        ),
    ] = False,
    allow_exec: Annotated[
        bool,
        typer.Option(
            "--allow-exec", help="Run the commands of the jobs: exec_prerun and exec_postrun can do anything."
        ),
    ] = False,
    destroy: Destroy = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="Seed of all random choices, except in jobs with randseed.  [default: the same in every run; "
            "a random one if a job has randrepeat=0]",
        ),
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of an interval, such as 500ms.  [default: 1s]")
    ] = None,
    request_log: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Log every request with all its times.")
    ] = None,
    log_overflow: Annotated[
        str,
        typer.Option(
            metavar="wait|drop",
            help="If the log's disk is slower than the load: let the load wait, or drop requests from the log.",
        ),
    ] = "wait",
    trace_latency: TraceLatency = False,
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    give_up: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="If no request completes for this long, stop and report the requests in flight. Also the longest wait "
            "for a target to answer before the run.",
        ),
    ] = "120s",
    no_ceiling: Annotated[
        bool, typer.Option("--no-ceiling", help="Do not first measure how fast iogauge itself can be here.")
    ] = False,
    no_drive_samples: Annotated[
        bool,
        typer.Option(
            "--no-drive-samples",
            help="Do not read the drives' temperature, throttling and errors each second.",
        ),
    ] = False,
    eta: Annotated[
        progress_options.Eta,
        typer.Option(help="Show progress. Messages and warnings are printed even with 'never'."),
    ] = progress_options.Eta.AUTO,
    eta_interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time between progress updates, at least 250ms.")
    ] = None,
    max_jobs: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Accepted for compatibility; no effect, as in fio.")
    ] = None,
    alloc_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Accepted: memory is as large as the jobs need.")
    ] = None,
    eta_newline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Accepted: each progress line ends where it should.")
    ] = None,
    warnings_fatal: Annotated[
        bool, typer.Option("--warnings-fatal", help="Accepted: whatever fio warns of in jobs is an error.")
    ] = False,
    parse_only: Annotated[
        bool,
        typer.Option("--parse-only", help="Print the jobs as iogauge reads them and do no I/O."),
    ] = False,
    showcmd: Annotated[
        bool, typer.Option("--showcmd", help="Print the jobs as a command line and do no I/O.")
    ] = False,
    watch: Watch = False,
    verbose: Verbose = False,
) -> None:
    """Run the jobs. Raises typer.Exit with the exit status, or an error that ``commands.call`` prints."""
    del max_jobs, alloc_size, eta_newline, warnings_fatal
    if minimal and (output_format is None or _last(context, "output_format", "minimal") == "minimal"):
        output_format = "terse"
    formats = run_formats.chosen(
        output_format or "normal",
        terse_version=terse_version,
        diskspd=diskspd,
        columns=0 if verbose or output is not None else streams.columns(),
    )
    progress = progress_options.chosen(eta, every=eta_interval)
    if diskspd is None and not jobs:
        raise status.UsageError(
            "no job to run",
            hint="name a job file, or write a job: --name=x --filename=FILE --rw=randread --bs=4k --direct=1",
        )
    from iogauge import workload
    from iogauge.report.run.fail_if import parse

    if watch and status_interval and output is None:
        raise status.UsageError(
            "--watch and --status-interval would both print on the terminal",
            hint="leave one out, or print into a file with --output",
        )
    names = checks.names(fail_if, check_files)
    conditions = [parse(text) for text in names]
    _refuse_typing_errors(jobs or (), own=_option_names(context), known=workload.BY_NAME)
    if diskspd is None:
        job_file = workload.from_arguments(jobs or (), only=section or ())
    else:
        from iogauge.library.running.diskspd import diskspd_jobs

        job_file, chosen = diskspd_jobs(
            diskspd, jobs=jobs or (), section=section or (), interval=interval, say=streams.say
        )
        interval = None if chosen is None else str(chosen)
    if any(job.read_iolog for job in job_file.jobs) and not (showcmd or parse_only):
        from iogauge.execution import with_traces

        job_file = with_traces(job_file, say=streams.say)
    if readonly:
        from iogauge.execution.refusals import refuse_writes

        refuse_writes(job_file)
    for condition in conditions:
        condition.require(job_file)
    from iogauge.library.running import measurement

    every_ns = status_interval and measurement.at_least_shortest(status_interval, name="status_interval")
    request = measurement.RunRequest(
        jobs=job_file,
        files=() if diskspd else tuple(workload.job_files(jobs or ())),
        interval_ns=measurement.interval_ns(job_file, interval, name="interval", most_ns=every_ns or None),
        give_up_ns=time_ns(give_up, name="give_up"),
        destroy=tuple(destroy or ()),
        seed=seed,
        request_log=request_log,
        log_drops=measurement.log_drops(log_overflow),
        ceiling=not no_ceiling,
        drive_samples=not no_drive_samples,
        readonly=readonly,
        allow_exec=allow_exec,
        trace_latency=trace_latency,
    )
    options = RunOptions(
        request=request,
        conditions=conditions,
        names=names,
        check_files=check_files or (),
        check_results=check_results or (),
        formats=formats,
        output=output,
        status_ns=every_ns or None,
        progress=progress,
        watch=watch,
    )
    if showcmd:
        _emit_jobs(shlex.join(["iogauge", "run", *workload.to_command(job_file)]), options)
    elif parse_only:
        plain = formats.names == ("normal",)
        _emit_jobs(workload.to_fio(job_file) if plain else job_file.model_dump_json(indent=2), options)
    else:
        measure(options)


@dataclass(frozen=True)
class RunOptions:
    """The command line, parsed."""

    request: RunRequest
    conditions: list[Condition]
    names: Mapping[str, str]
    """The names of the conditions, by their texts."""
    check_files: Sequence[Path]
    check_results: Sequence[Path]
    formats: Formats
    output: Path | None
    status_ns: int | None
    """The time between status reports."""
    progress: ProgressOptions
    watch: bool = False
    """Whether to show the screen of ``iogauge watch`` instead of progress."""


def _emit_jobs(text: str, options: RunOptions) -> None:
    """Print the jobs. If they go to a file, make sure that it is not one of their targets."""
    from iogauge.cli.run.printed import emit
    from iogauge.store.outputs import Existing

    path = options.output
    output = options.request.claims(streams.say).file(path, existing=Existing.REPLACE) if path else None
    emit(f"{text.rstrip()}\n", output)


def measure(options: RunOptions) -> None:
    """Run the jobs and print the results. Raises typer.Exit with the exit status."""
    # Import everything before process.begin: until then an interrupt costs nothing.
    from iogauge import execution  # noqa: F401
    from iogauge.cli.brief import run, warnings  # noqa: F401
    from iogauge.cli.run.printed import Printed
    from iogauge.library.running import diskspd, measurement
    from iogauge.report.run import diskspd_table, fio_logs, jsonplus, table, terse  # noqa: F401
    from iogauge.store.outputs import Existing

    if options.formats.diskspd is not None:
        diskspd.require_files(options.request.jobs)
    process.begin()
    request, path = options.request, options.output
    claims = request.claims(streams.say)
    output = claims.file(path, existing=Existing.REPLACE) if path else None
    results = checks.outputs(options.check_results, options.names, lambda: claims, read=options.check_files)
    with (
        measurement.run_logs(request, claims, say=streams.say) as logs,
        Printed(options.formats, output) as printed,
    ):
        record = _measure_logging(options, printed=printed, logs=logs)
    _conclude(record, options, results)


def _measure_logging(options: RunOptions, *, printed: Printed, logs: RunLogs) -> RunRecord:
    from iogauge.cli.run.listeners import Listeners
    from iogauge.cli.run.status_reports import StatusReports
    from iogauge.cli.terminal.progress import Progress
    from iogauge.cli.watch.measuring import Measuring
    from iogauge.library.running import measurement
    from iogauge.report.run.diskspd_rates import DiskspdRates
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.workload import driven_paths

    request, shown = options.request, options.progress
    progress = partial(
        Progress, title="iogauge run", virtual=request.virtual, quiet=shown.quiet, every_s=shown.every_s
    )
    targets = [*driven_paths(request.jobs)]
    with Measuring(
        progress,
        title=f"run of {', '.join(targets) or 'null'}",
        targets=targets,
        virtual=request.virtual,
        screen=options.watch,
    ) as measuring:
        stats = IntervalStats(interval_ns=request.interval_ns)
        listeners = Listeners(measuring, stats, DiskspdRates(interval_ns=request.interval_ns))
        request.require_tracing()
        ceiling = request.measure_ceiling()
        if every_ns := options.status_ns:

            def make_reports(plan: RunPlan, targets: tuple[TargetFacts, ...]) -> StatusReports:
                printed.open()
                so_far = _so_far(request, plan, targets, ceiling)
                return StatusReports(
                    plan, so_far, every_ns=every_ns, show=lambda record: printed.so_far(record, listeners)
                )

            listeners.make_reports = make_reports
        record = measurement.measure(
            request,
            logs,
            ceiling=ceiling,
            on_start=listeners.started,
            on_interval=listeners.interval,
            say=measuring.message,
            on_drive=measuring.feed.drive,
        )
        measuring.feed.finished(record)
    with process.results_first():
        printed.results(record, listeners)
    logs.close()
    # An incomplete spill stays: the disk may be full, and 'iogauge recover' makes the logs later.
    if logs.complete:
        with Progress(title="iogauge run") as converting:
            converting.step(logs.label, expected_s=None)
            logs.convert(record.plan, on_share=converting.share, say=streams.say)
        logs.remove_spill()
    return record


def _so_far(
    request: RunRequest, plan: RunPlan, targets: tuple[TargetFacts, ...], ceiling: Ceiling | None
) -> SoFar:
    from iogauge import execution as runner
    from iogauge.report.run.so_far import SoFar

    clock = runner.clock()
    if request.virtual:
        clock = clock.model_copy(update={"source": "virtual", "tsc_hz": 0.0})
    return SoFar(request.jobs, plan, targets, clock=clock, ceiling=ceiling)


def _conclude(record: RunRecord, options: RunOptions, results: Sequence[Output]) -> None:
    """Say which conditions hold, and choose the exit status: interrupted, failed, violated, in this order."""
    from iogauge.library.running import measurement

    violations = [violation for condition in options.conditions for violation in condition.check(record)]
    checks.say([("", violation) for violation in violations], results)
    interrupted, failure = record.result.stopped_by == "interrupt", measurement.failure(record)
    early = "the run was interrupted" if interrupted else failure[0] if failure else ""
    checks.write(results, options.names, violations, suite=record.jobs.source, early=early)
    if interrupted:
        streams.say(f"{process.word()}: the results up to then are reported")
        raise typer.Exit(process.status())
    if failure:
        reason, past = failure
        raise IogaugeError(reason, hint=f"the results up to then are reported above{past}")
    checks.conclude(violations)


def _last(context: typer.Context, *names: str) -> str:
    """Return the parameter that is last on the command line; all are on it."""
    return max(names, key=[*context.params].index)  # params keeps the order of the command line


def _option_names(context: typer.Context) -> list[str]:
    """Return the names of the command's options, without their dashes."""
    names = (name for param in context.command.params for name in param.opts)
    return [name.removeprefix("--") for name in names if name.startswith("--")]


def _refuse_typing_errors(arguments: Sequence[str], *, own: Sequence[str], known: Collection[str]) -> None:
    """Refuse a misspelt option of iogauge, which would otherwise be taken for an unknown option of fio."""
    for argument in itertools.takewhile(lambda argument: argument != "--", arguments):
        name = argument.removeprefix("--").partition("=")[0]
        if name == argument or name in known:
            continue
        if meant := difflib.get_close_matches(name, own, n=1, cutoff=0.8):
            raise status.UsageError(f"--{name} is not an option", hint=f"did you mean --{meant[0]}?")
