"""Published procedures, one module each: what to run, and what it shows.

``SUITES`` is the one list of them. A suite of one's own is a subclass of ``suite.Suite``.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.suites.judgement import Judgement, StepJudgement
from iogauge.suites.mixed import Mixed
from iogauge.suites.precondition import Precondition
from iogauge.suites.pts_composite import PtsComposite
from iogauge.suites.pts_cross_stimulus import PtsCrossStimulus
from iogauge.suites.pts_host_idle_recovery import PtsHostIdleRecovery
from iogauge.suites.pts_iops import PtsIops
from iogauge.suites.pts_latency import PtsLatency
from iogauge.suites.pts_throughput import PtsThroughput
from iogauge.suites.pts_write_saturation import PtsWriteSaturation
from iogauge.suites.queue_depth import QueueDepth
from iogauge.suites.reader_under_writers import ReaderUnderWriters
from iogauge.suites.suite import Asked, Pace, Suite
from iogauge.suites.transfer_size import TransferSize
from iogauge.suites.write_pressure import WritePressure

__all__ = ["DEFAULT", "SUITES", "Asked", "Judgement", "Pace", "StepJudgement", "Suite", "suite_named"]

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
    )
}

DEFAULT = ("queue-depth", "mixed", "reader-under-writers", "write-pressure")
"""What a review conducts where no suite is named."""


def suite_named(name: str) -> Suite:
    """Return a suite by its name, one that only prepares among them.

    Raises IogaugeError: there is none.
    """
    if name == Precondition.NAME:
        return Precondition()
    if name not in SUITES:
        raise IogaugeError(f"there is no suite {name!r}", hint=f"suites: {', '.join(SUITES)}")
    return SUITES[name]
