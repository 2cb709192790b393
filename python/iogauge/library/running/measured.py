"""One run from its request to its result, for the functions that return one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.library.errors import ConditionError, Interrupted, RunError
from iogauge.library.progress import RunReporter
from iogauge.library.running import measurement
from iogauge.library.running.result import RunResult
from iogauge.schema import Interval

if TYPE_CHECKING:
    from iogauge.report.run.fail_if import Condition


def measured(
    request: measurement.RunRequest,
    conditions: Sequence[Condition],
    reporter: RunReporter,
    *,
    diskspd: str | None = None,
) -> RunResult:
    """Run the jobs, write their logs, and return what was measured. ``diskspd`` is the command line of the jobs.

    Raises as ``iogauge.run`` does.
    """
    request.require_tracing()
    intervals: list[Interval] = []

    def interval_over(interval: Interval) -> None:
        intervals.append(interval)
        reporter.interval(interval)

    with measurement.run_logs(request, request.claims(reporter.message), say=reporter.message) as logs:
        record = measurement.measure(
            request,
            logs,
            ceiling=request.measure_ceiling(),
            on_start=reporter.started,
            on_interval=interval_over,
            say=reporter.message,
        )
        logs.close()
        if logs.complete:
            logs.convert(record.plan, on_share=lambda _: None, say=reporter.message)
            logs.remove_spill()
    reporter.ended()
    result = RunResult(record, intervals, diskspd=diskspd)
    if record.result.stopped_by == "interrupt":
        raise Interrupted("what was measured until then is in the result", result=result)
    if failure := measurement.failure(record):
        reason, past = failure
        raise RunError(reason, hint=f"what was measured until then is in the result{past}", result=result)
    if broken := [violation for condition in conditions for violation in condition.check(record)]:
        raise ConditionError(broken, result=result)
    return result
