"""Published procedures, one module each: what to run, and what it shows.

``SUITES`` is the one list of them. A suite of one's own is a subclass of ``suite.Suite``.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.suites.burst_credit import BurstCredit
from iogauge.suites.commit_latency import CommitLatency
from iogauge.suites.judgement import Judgement, StepJudgement
from iogauge.suites.many_drives import ManyDrives
from iogauge.suites.mixed import Mixed
from iogauge.suites.queue_depth import QueueDepth
from iogauge.suites.reader_under_writers import ReaderUnderWriters
from iogauge.suites.spec import Spec
from iogauge.suites.stack_overhead import StackOverhead
from iogauge.suites.suite import Asked, Pace, Suite
from iogauge.suites.tenants import Tenants
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
        Spec(),
        CommitLatency(),
        Tenants(),
        ManyDrives(),
        StackOverhead(),
        BurstCredit(),
    )
}

DEFAULT = ("queue-depth", "mixed", "reader-under-writers", "write-pressure")
"""What a review conducts where no suite is named."""


def suite_named(name: str) -> Suite:
    """Return a suite by its name.

    Raises IogaugeError: there is none.
    """
    if name not in SUITES:
        raise IogaugeError(f"there is no suite {name!r}", hint=f"suites: {', '.join(SUITES)}")
    return SUITES[name]
