"""Judges a review by its plan alone, for when its suite is not available.

A suite is not available if its file is gone or if a newer iogauge wrote the review. The plan says which job was
measured and along which axis, so figures and charts are complete; the suite's findings are missing, and the caller
says so.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import Axis, SuitePlan
from iogauge.suites.suite import Suite, SuiteRequest


class PlainSuite(Suite):
    """See the module's text."""

    NAME = "plain"
    TITLE = "A suite that is not available"
    SOURCE = "the review's own plan"
    AXIS = Axis(name="step", unit="step")
    MEASURED_JOB = "load"

    def plan(self, _request: SuiteRequest, /) -> SuitePlan:
        """Raise IogaugeError: without the suite there is nothing to plan."""
        raise IogaugeError("a suite that is not available plans nothing", hint="put its file back")
