"""Conditions on the table of a review: what is understood, what is refused, and how an interval decides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iogauge
from iogauge.errors import UsageError
from iogauge.library import conditions
from iogauge.report.conditions.table import is_on_table, parse
from iogauge.report.run.fail_if import OPERATORS, ruled
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figure import Figure
from iogauge.stats.limits import Outcome
from iogauge.store import Review
from iogauge.suites import SUITES
from tests import reviews


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Review:
    """A write-pressure review of a made-up drive; the step at 500 MB/s was not run."""
    path = tmp_path_factory.mktemp("reviews") / "saved"
    return reviews.save(path, pressures_MBps=(100, 300, 500), missing=(500,))


def checked(review: Review, text: str) -> list[tuple[str, bool]]:
    """Return the step and whether it is undecided, of each violation."""
    parsed = conditions.parsed([text])
    conditions.require(parsed, review.manifest, saved=True)
    return [(step, violation.unknown) for step, violation in conditions.violations(review, parsed)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "commit-latency[1 log].commit.p99 > 5ms",
            ("commit-latency", "1 log", "commit", "p99", 0.99, ">", 5e6),
        ),
        ("mixed.p99.9>=1ms", ("mixed", "*", "", "p99.9", 0.999, ">=", 1e6)),
        (" mixed [ 70 % ] . IOPS < 90k ", ("mixed", "70 %", "", "IOPS", None, "<", 90_000)),
        ("quick[SEQ1M Q8T1 read].MB/s < 2000", ("quick", "SEQ1M Q8T1 read", "", "MB/s", None, "<", 2e9)),
        ("quick[*].MB/s < 1GiB/s", ("quick", "*", "", "MB/s", None, "<", 1 << 30)),
        ("mine[x, 1.5].a, b.c.mean > 1us", ("mine", "x, 1.5", "a, b.c", "mean", None, ">", 1e3)),
        ("write-pressure.achieved < 90MB/s", ("write-pressure", "*", "", "achieved", None, "<", 9e7)),
    ],
)
def test_what_is_understood(text: str, expected: tuple[object, ...]) -> None:
    assert is_on_table(text)
    condition = parse(text)
    assert (
        condition.suite,
        condition.position,
        condition.series,
        condition.column,
        condition.q,
        condition.op,
        condition.threshold,
    ) == expected


@pytest.mark.parametrize(
    "text", ["p99.9 > 1ms", "read.p99 > 1ms", "job=mixed: p99 > 1ms", "write.response.mean > 1s"]
)
def test_a_condition_on_rows_is_none_on_a_table(text: str) -> None:
    assert not is_on_table(text)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("mixed[70 %].p99", "not SUITE[POSITION].COLUMN", "write for example"),
        ("mixed[70 %] > 1ms", "not SUITE[POSITION].COLUMN", "write for example"),
        ("mixed[70 %].meen > 1ms", "there is no column 'meen'", "did you mean 'mean'?"),
        ("mixed[70 %].p99 > 1", "'1' lacks its unit", "use one of ns"),
        ("mixed[70 %].IOPS < 1ms", "'ms' is not a unit", "use one of k"),
        ("mixed[70 %].p99 == 1ms", "never exactly a value", "compare by > or <"),
        ("mixd.p99 > 1ms", "there is no suite 'mixd'", "did you mean 'mixed'?"),
        ("worse by > 5%", "nothing to compare with", "compare"),
    ],
)
def test_what_is_none_is_refused_with_a_remedy(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        conditions.require_suites(conditions.parsed([text]), [SUITES["mixed"]])
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "write-presure[100].mean > 1s",
            "there is no suite 'write-presure'",
            "did you mean 'write-pressure'?",
        ),
        (
            "write-pressure[110 MB/s].mean > 1s",
            "there is no position of write-pressure '110 MB/s'",
            "100 MB/s",
        ),
        (
            "write-pressure[100].raeds.mean > 1s",
            "there is no series of write-pressure 'raeds'",
            "did you mean 'read'?",
        ),
    ],
)
def test_a_name_that_the_review_lacks_is_refused_with_the_nearest(
    saved: Review, text: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        checked(saved, text)
    assert hint in str(caught.value.hint)


def test_the_interval_of_the_table_decides(saved: Review) -> None:
    position = SuiteResult(saved, saved.manifest.plans[0]).positions[0]
    mean = position.figures.mean
    assert mean is not None
    assert mean.low is not None
    assert mean.high is not None
    below, inside, beyond = mean.low * 0.9, mean.value, mean.high * 1.1
    for name in ("100 MB/s", "100", "100 mb/s"):
        for limit_ns, expected in (
            (below, [(position.plan.id, False)]),
            (inside, [(position.plan.id, True)]),
            (beyond, []),
        ):
            assert checked(saved, f"write-pressure[{name}].read.mean > {limit_ns:.3f}ns") == expected
    assert checked(saved, f"write-pressure[100].mean < {below:.3f}ns") == []
    assert checked(saved, f"write-pressure[100].mean < {beyond:.3f}ns") == [(position.plan.id, False)]


def test_a_position_that_was_not_measured_is_undecided(saved: Review) -> None:
    assert [unknown for _, unknown in checked(saved, "write-pressure[500].mean > 1s")] == [True]
    assert [unknown for _, unknown in checked(saved, "write-pressure[*].mean > 1s")] == [True]
    assert [unknown for _, unknown in checked(saved, "write-pressure[*].mean > 1ns")] == [False, False, True]


def test_an_unsupported_tail_is_undecided_and_says_how_much_longer(saved: Review) -> None:
    (condition,) = conditions.parsed(["write-pressure[100].p99.9999 > 1s"])
    ((_, violation),) = conditions.violations(saved, [condition])
    assert violation.unknown
    assert "cannot be judged: it needs 10,000,000 samples and has " in violation.message
    assert re.search(r"run \S+ times as long", str(violation.hint))


bounds = st.floats(min_value=1, max_value=1000) | st.none()


@given(bounds, st.floats(min_value=1, max_value=1000), bounds, st.sampled_from([">", ">=", "<", "<="]))
def test_a_decision_holds_for_every_value_of_the_interval(
    low: float | None, limit: float, high: float | None, op: str
) -> None:
    """The definition, on the ends of the interval, its middle, and where it is open, far beyond."""
    if low is not None and high is not None and low > high:
        low, high = high, low
    if low is None and high is None:
        inside = [500.0]
    else:
        ends = (low if low is not None else 0.0, high if high is not None else 1e6)
        inside = [*ends, sum(ends) / 2]
    value = inside[-1]
    holds = {OPERATORS[op](point, limit) for point in inside}
    decided = {True: Outcome.MISSED, False: Outcome.MET}
    expected = decided[holds.pop()] if len(holds) == 1 else Outcome.NOT_SHOWN
    assert ruled(Figure(value, low, high), op, limit).outcome is expected
    for doubt in (
        Figure(value, low, high, supported=False, needed=2, count=1),
        Figure(value, low, high, long_enough=False),
    ):
        assert ruled(doubt, op, limit).outcome is Outcome.NOT_SHOWN


def test_a_lower_quantile_decides_as_it_does_in_a_verdict(saved: Review) -> None:
    position = SuiteResult(saved, saved.manifest.plans[0]).positions[0]
    median = position.figures.quantile(0.5)
    assert median is not None
    assert median.low is not None
    (condition,) = conditions.parsed([f"write-pressure[100].p99.9999 > {median.low * 0.9:.0f}ns"])
    ((_, violation),) = conditions.violations(saved, [condition])
    assert not violation.unknown
    assert "p99.9999 is ~" in violation.message
    assert "; even a lower quantile is above " in violation.message


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Review:
    path = tmp_path_factory.mktemp("commits") / "saved"
    iogauge.review("model:p4800x", suites="commit-latency", runtime="200ms", seed=1, output=path)
    return Review.open(path)


def test_a_sync_has_no_rate_in_bytes(commits: Review) -> None:
    with pytest.raises(UsageError, match=re.escape("there is no MB/s of syncs")):
        checked(commits, "commit-latency[1 log].write, then fdatasync.MB/s < 1")
    # Writes with O_DSYNC have one.
    assert checked(commits, "commit-latency[1 log].MB/s < 1") == []
    ((step, violation),) = conditions.violations(
        commits, conditions.parsed(["commit-latency[1 log].MB/s > 1"])
    )
    assert "dsync" in step
    assert "MB/s is " in violation.message


def test_every_position_of_a_new_review_can_be_named_as_the_table_names_it(tmp_path: Path) -> None:
    review = reviews.save(tmp_path / "saved")
    for position in SuiteResult(review, review.manifest.plans[0]).positions:
        assert checked(review, f"write-pressure[{position.name}].mean > 1s") == []
