"""Published procedures, one module each: which steps to run, and what follows from their results.

``SUITES`` lists all built-in suites. Your own suite is a subclass of ``suite.Suite`` in a Python file, or a plan in
TOML; ``suite_of`` loads either by its path. A suite imports everything it needs from this package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.results.conclusions import Conclusions, Convergence, Matrix, TextTable
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Direction, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, ratio
from iogauge.suites.act import Act
from iogauge.suites.burst_credit import BurstCredit
from iogauge.suites.commit_latency import CommitLatency
from iogauge.suites.idle.idle_power import IdlePower
from iogauge.suites.idle.wake_latency import WakeLatency
from iogauge.suites.ladder import LadderSuite
from iogauge.suites.many_drives import ManyDrives
from iogauge.suites.mixed import Mixed
from iogauge.suites.own import python_file, toml_plan
from iogauge.suites.own.plain import PlainSuite
from iogauge.suites.precondition import Precondition
from iogauge.suites.queue_depth import QueueDepth
from iogauge.suites.quick import Quick
from iogauge.suites.rates.find import Find
from iogauge.suites.rates.latency_throughput import LatencyThroughput
from iogauge.suites.reader_under_writers import ReaderUnderWriters
from iogauge.suites.snia.composite import PtsComposite
from iogauge.suites.snia.cross_stimulus import PtsCrossStimulus
from iogauge.suites.snia.host_idle_recovery import PtsHostIdleRecovery
from iogauge.suites.snia.iops import PtsIops
from iogauge.suites.snia.latency import PtsLatency
from iogauge.suites.snia.throughput import PtsThroughput
from iogauge.suites.snia.write_saturation import PtsWriteSaturation
from iogauge.suites.spec import Spec
from iogauge.suites.stack_overhead import StackOverhead
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest
from iogauge.suites.tenants import Tenants
from iogauge.suites.transfer_size import TransferSize
from iogauge.suites.write_pressure import WritePressure
from iogauge.text.numbers import times
from iogauge.text.option import option

__all__ = [
    "DEFAULT",
    "SUITES",
    "Ahead",
    "Axis",
    "Conclusions",
    "Convergence",
    "Direction",
    "Figure",
    "Kind",
    "Matrix",
    "Pace",
    "Position",
    "Ratio",
    "RunRecord",
    "StepPlan",
    "StepTemplate",
    "Suite",
    "SuitePlan",
    "SuiteRequest",
    "SuiteResult",
    "TextTable",
    "is_shipped",
    "load_no_files",
    "ratio",
    "shipped_suite",
    "suite_of",
    "suite_to_judge",
    "times",
]

SUITES: dict[str, Suite] = {
    suite.NAME: suite
    for suite in (
        QueueDepth(),
        Mixed(),
        ReaderUnderWriters(),
        TransferSize(),
        WritePressure(),
        PtsIops(),
        PtsThroughput(),
        PtsLatency(),
        PtsWriteSaturation(),
        PtsHostIdleRecovery(),
        PtsCrossStimulus(),
        PtsComposite(),
        Spec(),
        CommitLatency(),
        Tenants(),
        ManyDrives(),
        StackOverhead(),
        BurstCredit(),
        WakeLatency(),
        LadderSuite(),
        IdlePower(),
        Quick(),
        Act(),
        LatencyThroughput(),
        Find(),
    )
}

IMPORTED = "imported"
"""The suite of runs that another tool made: it has no code, and needs none."""

DEFAULT = ("spec", "queue-depth", "mixed", "reader-under-writers", "write-pressure")
"""The suites of a review whose command names none."""


def is_shipped(name: str) -> bool:
    """Return whether a suite is one of iogauge's own, among them the preparation in a saved review.

    >>> is_shipped("mixed"), is_shipped("/tmp/mixed.py")
    (True, False)
    """
    return name in SUITES or name == Precondition.NAME


def shipped_suite(name: str) -> Suite:
    """Return one of iogauge's own suites. Raises UsageError for any other name; no file is read."""
    if not is_shipped(name):
        raise UsageError(
            f"there is no suite {name!r} among iogauge's own", hint=f"suites: {', '.join(SUITES)}"
        )
    return Precondition() if name == Precondition.NAME else SUITES[name]


_loads_files = True


def load_no_files() -> None:
    """Let ``suite_of`` refuse files in this process, for a review that may come from a stranger."""
    global _loads_files  # noqa: PLW0603 (nothing allows it again)
    _loads_files = False


def suite_of(name_or_path: str) -> Suite:
    """Return a suite by its name, or by the path of a Python file, which is run, or of a TOML plan.

    Raises UsageError if there is no such suite, and IogaugeError if the file defines none.
    """
    if is_shipped(name_or_path) or not _loads_files:
        return shipped_suite(name_or_path)
    if name_or_path.endswith(".py"):
        return python_file.load(Path(name_or_path), taken=SUITES)
    if name_or_path.endswith(".toml"):
        return toml_plan.load(Path(name_or_path), taken=SUITES)
    raise UsageError(
        f"there is no suite {name_or_path!r}",
        hint=f"suites: {', '.join(SUITES)}; or the path of a .py or .toml file",
    )


def suite_to_judge(plan: SuitePlan, *, warn: Callable[[str], None], trusted: Collection[str] = ()) -> Suite:
    """Return the suite of a saved plan; if it is not available, call ``warn`` and return a ``PlainSuite``.

    A review may come from a stranger, so the Python file that it names runs only if it is one of ``trusted``.
    """
    if plan.suite == IMPORTED:
        return PlainSuite()
    if plan.suite.endswith(".py") and plan.suite not in trusted:
        warn(
            f"{plan.title} is shown without its suite's findings: the suite's Python file runs only if you name it: "
            f"{option('judge_by', plan.suite)}"
        )
        return PlainSuite()
    try:
        return suite_of(plan.suite)
    except IogaugeError as error:
        warn(f"{error}: {plan.title} is shown without its suite's findings")
        return PlainSuite()
