"""Published procedures, one module each: what to run, and what it shows.

``SUITES`` is the one list of them. Your own suite is a subclass of ``suite.Suite`` in a Python file, or a plan in
TOML; ``suite_of`` loads either by its path. All that a suite of your own needs is imported from here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.results.conclusions import Conclusions, Convergence, Matrix, TextTable
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Direction, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import Ratio, ratio
from iogauge.stats.quantiles import Estimate
from iogauge.suites.burst_credit import BurstCredit
from iogauge.suites.commit_latency import CommitLatency
from iogauge.suites.many_drives import ManyDrives
from iogauge.suites.mixed import Mixed
from iogauge.suites.own import python_file, toml_plan
from iogauge.suites.own.figures_alone import PlainSuite
from iogauge.suites.precondition import Precondition
from iogauge.suites.queue_depth import QueueDepth
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

__all__ = [
    "DEFAULT",
    "SUITES",
    "Ahead",
    "Axis",
    "Conclusions",
    "Convergence",
    "Direction",
    "Estimate",
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
    "ratio",
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
    )
}

IMPORTED = "imported"
"""What another tool conducted: there is no suite to be had, and none is missed."""

DEFAULT = ("spec", "queue-depth", "mixed", "reader-under-writers", "write-pressure")
"""What a review conducts where no suite is named."""


def suite_of(name_or_path: str) -> Suite:
    """Return a suite by its name, or one of somebody's own by the path of its Python file, which is run, or TOML plan.

    What only prepares a drive has a name too, by which a review finds it again.

    Raises IogaugeError: there is none, or the file defines none.
    """
    if name_or_path == Precondition.NAME:
        return Precondition()
    if name_or_path in SUITES:
        return SUITES[name_or_path]
    if name_or_path.endswith(".py"):
        return python_file.load(Path(name_or_path), taken=SUITES)
    if name_or_path.endswith(".toml"):
        return toml_plan.load(Path(name_or_path), taken=SUITES)
    raise IogaugeError(
        f"there is no suite {name_or_path!r}",
        hint=f"suites: {', '.join(SUITES)}; or the path of a .py or .toml file",
    )


def suite_to_judge(plan: SuitePlan, *, warn: Callable[[str], None], trusted: Collection[str] = ()) -> Suite:
    """Return the suite of a saved plan; where it cannot be had, one that judges by the plan, and ``warn`` hears why.

    A review may be a stranger's: a Python file that it names is run only where it is one of ``trusted``.
    """
    if plan.suite == IMPORTED:
        return PlainSuite()
    if plan.suite.endswith(".py") and plan.suite not in trusted:
        warn(
            f"{plan.title} is judged by what the review says of itself, since the Python file of its suite is not run "
            f"unless it is named: --judge-by {shlex.quote(plan.suite)}"
        )
        return PlainSuite()
    try:
        return suite_of(plan.suite)
    except IogaugeError as error:
        warn(
            f"{error}: {plan.title} is judged by what the review says of itself, without its suite's findings"
        )
        return PlainSuite()
