"""Judges a review whose suite cannot be had: one of somebody's own whose file is gone, or a newer iogauge's.

All that it takes is in the plan: what was measured, whose latency counts, along which axis. What the suite itself would
have concluded is missing, and whoever uses this says so. It plans nothing, so that nothing can be measured by it.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import Axis, SuitePlan
from iogauge.suites.suite import Suite, SuiteRequest


class PlainSuite(Suite):
    """See the module's text."""

    NAME = "plain"
    TITLE = "A suite that cannot be had"
    SOURCE = "the review's own plan"
    AXIS = Axis(name="step", unit="step")
    READER = "load"

    def plan(self, _request: SuiteRequest, /) -> SuitePlan:
        """Raise IogaugeError: there is nothing that could be planned."""
        raise IogaugeError("a suite that cannot be had plans nothing", hint="put its file back")
