"""The parts of one run: its outputs claimed, its jobs measured, its logs written, and the reason of an early end.

The function ``run`` is made of them, as is the command of that name, which prints in between.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.library.quantities import time_ns
from iogauge.library.running import log_place
from iogauge.schema import Ceiling, Interval, JobFile, RunPlan, RunRecord, TargetFacts
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.text.option import option

if TYPE_CHECKING:
    from iogauge.execution.log.spill import Spill
    from iogauge.library.running.commands import JobCommands
    from iogauge.machine.samples.news import DriveNews
    from iogauge.report.run.fio_logs import FioLogs

Say = Callable[[str], None]
OnStart = Callable[[RunPlan, tuple[TargetFacts, ...]], None]
OnInterval = Callable[[Interval], None]
OnDrive = Callable[["DriveNews"], None]


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The jobs to run, and how to run them."""

    jobs: JobFile
    files: tuple[str, ...] = ()
    """The job files that the jobs come from."""
    interval_ns: int = 10**9
    give_up_ns: int = 120 * 10**9
    destroy: tuple[str, ...] = ()
    seed: int | None = None
    request_log: Path | None = None
    log_drops: bool = False
    ceiling: bool = True
    drive_samples: bool = True
    readonly: bool = False
    allow_exec: bool = False
    trace_latency: bool = False

    @property
    def virtual(self) -> bool:
        """Whether the targets are drive models, whose virtual time the generator cannot limit."""
        from iogauge.target import is_model

        return any(is_model(name) for job in self.jobs.jobs for name in job.filenames)

    def claims(self, say: Say) -> Claims:
        """Return claims for the run's outputs: none may be one of its targets or job files."""
        from iogauge.workload import driven_paths

        return Claims(
            targets=driven_paths(self.jobs), inputs=self.files, patience_s=self.give_up_ns / 1e9, say=say
        )

    def require_tracing(self) -> None:
        """Raise IogaugeError if latencies are to be traced and nothing can be traced here."""
        from iogauge import execution

        if self.trace_latency and not self.virtual:
            execution.require_tracing()

    def measure_ceiling(self) -> Ceiling | None:
        """Measure what the generator can do without a drive; None if that is not wanted, or limits nothing."""
        from iogauge import execution

        return execution.measure_ceiling(self.jobs) if self.ceiling and not self.virtual else None


class RunLogs:
    """The logs of a run. Logs over time are written during the run, logs of requests after it, from the spill."""

    def __init__(
        self,
        jobs: JobFile,
        names: Mapping[str, Output],
        requests: Output | None,
        spill: Spill | None,
        commands: JobCommands | None = None,
        *,
        stamps: Mapping[str, Output] = MappingProxyType({}),
        states: Mapping[int, Output] = MappingProxyType({}),
        claims: Claims,
    ) -> None:
        self.spill = spill
        self.commands = commands
        self.stamps = stamps
        self.states = states
        self.claims = claims
        self._jobs = jobs
        self._names = names
        self._requests = requests
        self._over_time: FioLogs | None = None

    @property
    def label(self) -> str:
        """The files that are made from the spill, the first three by name."""
        names = [str(output.path) for output in self.outputs]
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    def started(self) -> None:
        """Open the logs that are written during the run."""
        from iogauge.report.run import fio_logs

        if fio_logs.needs_intervals(self._jobs):
            self._over_time = fio_logs.FioLogs(self._jobs, self._names)

    def interval(self, interval: Interval) -> None:
        """Take one interval of one row."""
        if self._over_time:
            self._over_time.interval(interval)

    def close(self) -> None:
        """Close the logs over time. This may fail: call it once the results are safe."""
        if self._over_time:
            self._over_time.close()

    @property
    def complete(self) -> bool:
        """Whether there is a spill, and no request is missing from it."""
        return self.spill is not None and not self.spill.failure

    def convert(self, plan: RunPlan, *, on_share: Callable[[float], None], say: Say) -> None:
        """Write the logs of requests. Of a damaged spill, write the requests before the damage, and say so."""
        assert self.spill is not None
        log_place.convert(
            self.spill,
            jobs=self._jobs,
            plan=plan,
            parquet=self._requests,
            logs=self._names,
            on_share=on_share,
            say=say,
        )

    def remove_spill(self) -> None:
        """Remove the spill, from which the logs were made."""
        if self.spill is not None:
            self.spill.remove()

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The files that are made from the spill."""
        return tuple(filter(None, (self._requests, *self._names.values())))


@contextmanager
def run_logs(request: RunRequest, claims: Claims, *, say: Say) -> Iterator[RunLogs]:
    """Claim the logs of a run and create its spill. The spill is kept if requests are left in it."""
    from iogauge.library.running import stamp_logs, verify_states
    from iogauge.library.running.commands import JobCommands
    from iogauge.report.run import fio_logs

    stamps = stamp_logs.claim(request.jobs, claims, say=say)
    names = fio_logs.claim(request.jobs, claims)
    states = verify_states.claim(request.jobs, claims)
    requests = claims.file(request.request_log, existing=Existing.OWN) if request.request_log else None
    with log_place.spill(requests, names, request.jobs, say=say) as spill:
        commands = JobCommands(request.jobs, claims, say=say) if request.allow_exec else None
        yield RunLogs(
            request.jobs, names, requests, spill, commands, stamps=stamps, states=states, claims=claims
        )


def measure(
    request: RunRequest,
    logs: RunLogs,
    *,
    ceiling: Ceiling | None,
    on_start: OnStart,
    on_interval: OnInterval,
    say: Say,
    on_drive: OnDrive | None = None,
) -> RunRecord:
    """Run the jobs, write the logs over time, and return what was measured. Raises as ``execution.execute`` does."""
    from iogauge import execution
    from iogauge.library.running import block_dumps, stamp_logs, verify_states
    from iogauge.report import verified

    def started(plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        if logs.commands:
            logs.commands.before(0)
        logs.started()
        on_start(plan, targets)

    def next_stage(stage: int, interrupted: Callable[[], bool]) -> None:
        if logs.commands:
            logs.commands.before(stage, interrupted)

    def interval_over(interval: Interval) -> None:
        on_interval(interval)
        logs.interval(interval)

    with stamp_logs.opened(logs.stamps) as stamp_descriptors:
        record = execution.execute(
            request.jobs,
            destroy=request.destroy,
            seed=request.seed,
            interval_ns=request.interval_ns,
            give_up_ns=request.give_up_ns,
            spill=logs.spill,
            log_drops=request.log_drops,
            on_interval=interval_over,
            on_message=say,
            on_start=started,
            on_stage=next_stage,
            on_drive=on_drive,
            ceiling=ceiling,
            readonly=request.readonly,
            allow_exec=request.allow_exec,
            trace_latency=request.trace_latency,
            drive_samples=request.drive_samples,
            stamp_descriptors=stamp_descriptors,
        )
    if logs.commands:
        logs.commands.after(max((row.stage for row in record.result.rows), default=0))
    for line in (*verified.mismatches(record), *verified.unread(record)):
        say(line)
    block_dumps.write(record, logs.claims, say=say)
    verify_states.write(record, logs.states, say=say)
    return record


def failure(record: RunRecord) -> tuple[str, str] | None:
    """Return why a run ended early, and the end of a hint; None if it did not, or was interrupted."""
    from iogauge.report import verified

    result = record.result
    failed = [f"{worker.name}: {worker.error}" for worker in result.workers if worker.error]
    if not (result.error or failed):
        return None
    medium = any(
        {errno.EIO, errno.EILSEQ} & set(tally.errors) for row in result.rows for tally in row.tallies.values()
    )
    mismatch = any(worker.verify and worker.verify.failed for worker in result.workers)
    past = "; continue_on_error=io goes on past I/O errors" if medium else ""
    if mismatch:
        cause = verified.hint(record)
        past = f"{cause and f'; {cause}'}; continue_on_error=verify goes on past bad blocks"
    return result.error or "; ".join(dict.fromkeys(failed)), past


def interval_ns(jobs: JobFile, value: float | str | None, *, name: str, most_ns: int | None = None) -> int:
    """Return the length of a run's intervals in ns.

    It is ``value``, of the argument ``name``. If that is None, it is the longest that the logs of the jobs allow, up to
    a second and ``most_ns``. Raises UsageError, and IogaugeError if it does not fit the logs.
    """
    from iogauge.report.run import fio_logs

    if value is None:
        longest_ns = fio_logs.interval_ns_for(jobs)
        # Parts of one that fits the logs' windows fit them too.
        parts = range(1, longest_ns // fio_logs.SHORTEST_NS + 1)
        fitting_ns = [longest_ns // count for count in parts if longest_ns % count == 0]
        wanted_ns = most_ns or longest_ns
        return next((length_ns for length_ns in fitting_ns if length_ns <= wanted_ns), fitting_ns[-1])
    chosen_ns = at_least_shortest(value, name=name)
    if chosen_ns > fio_logs.LONGEST_NS:
        raise UsageError(f"{option(name)}: {value!r} is longer than a minute", hint="use 1s")
    fio_logs.require_interval(jobs, interval_ns=chosen_ns)
    return chosen_ns


def at_least_shortest(value: float | str, *, name: str) -> int:
    """Return a time in ns. Raises UsageError if it is shorter than the shortest interval."""
    from iogauge.report.run import fio_logs

    chosen_ns = time_ns(value, name=name)
    if chosen_ns < fio_logs.SHORTEST_NS:
        raise UsageError(f"{option(name)}: {value!r} is shorter than 10 ms", hint="use 10ms or more")
    return chosen_ns


def log_drops(overflow: str) -> bool:
    """Return whether a log that is too slow drops requests. Raises UsageError."""
    if overflow not in ("wait", "drop"):
        raise UsageError(
            f"{option('log_overflow')}: {overflow!r} is not wait or drop", hint="use wait or drop"
        )
    return overflow == "drop"
