"""Published procedures, one module each: what to run, and what it shows.

``SUITES`` is the one list of them. A suite of one's own is a module with the same names (``suite.Suite``).
"""

from __future__ import annotations

from iogauge.suites import write_pressure
from iogauge.suites.judgement import Judgement, StepJudgement
from iogauge.suites.suite import Asked, Pace, Suite

__all__ = ["SUITES", "Asked", "Judgement", "Pace", "StepJudgement", "Suite"]

SUITES: dict[str, Suite] = {suite.NAME: suite for suite in (write_pressure,)}
