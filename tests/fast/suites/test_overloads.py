"""Suites that request more than a target serves, on purpose: that it misses the rate is their result, no warning."""

from __future__ import annotations

from iogauge.machine.warnings import of_step, warning
from iogauge.schema import Code
from iogauge.suites import SUITES
from tests import builders

MISSED = warning(Code.RATE_MISSED, row="load (read)", what="90 of the 100 requested I/Os a second (90.0%)")


def test_a_missed_rate_is_no_warning_where_the_suite_overloads() -> None:
    few = warning(Code.FEW_SAMPLES, row="load (read)", ios=9, quantiles="p99")
    step = builders.step("a")
    assert of_step((MISSED, few), step, overloads=True, left=None) == (few,)
    assert of_step((MISSED, few), step, overloads=False, left=None) == (MISSED, few)


def test_these_suites_overload() -> None:
    assert {suite.NAME for suite in SUITES.values() if suite.OVERLOADS} == {
        "act",
        "find",
        "reader-under-writers",
        "tenants",
    }
