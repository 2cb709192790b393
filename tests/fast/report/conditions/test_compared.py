"""Conditions on a comparison: a regression is what test and interval establish; what decides nothing says that."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from iogauge.comparison.pairwise import Side, SuiteComparison, compare_sides
from iogauge.errors import UsageError
from iogauge.report.conditions.compared import parse
from iogauge.report.run.fail_if import Violation
from iogauge.results.figures import PositionFigure
from iogauge.results.position import PositionKey
from iogauge.stats.figure import Unit

NOISE = (0.99, 1.01, 1.0, 0.995, 1.005, 0.992, 1.008, 1.002)
"""What repeats differ by; B's are in another order."""


def side(name: str, iops: Sequence[float], p99_ns: Sequence[float], *, within: float = 0.0) -> Side:
    """Return a side with a step for a repeat of each figure; ``within`` is the interval of a run, as a share."""
    key = PositionKey(suite="mixed", series="", label="", at=70, axis="share of reads", unit="%")
    units: dict[str, Unit] = {"iops": "IOPS", "p99_ns": "ns"}
    rows = tuple(
        PositionFigure(
            value=value,
            low=value * (1 - within) if within else None,
            high=value * (1 + within) if within else None,
            unit=units[metric],
            drive=name,
            position=key,
            repeat=repeat,
            judged="I/O",
            metric=metric,
            source=name,
        )
        for metric, values in (("iops", iops), ("p99_ns", p99_ns))
        for repeat, value in enumerate(values)
    )
    return Side(name, name, rows)


def compared(slower: float, *, repeats: int = 8, within: float = 0.0) -> tuple[SuiteComparison, ...]:
    """Compare A with a B whose p99 is ``slower`` times A's, and whose rate is A's."""
    noise, other = NOISE[:repeats], NOISE[::-1][:repeats]
    before = side("A", [1e5 * value for value in noise], [1e5 * value for value in noise], within=within)
    after = side(
        "B", [1e5 * value for value in other], [slower * 1e5 * value for value in other], within=within
    )
    return compare_sides(before, after, titles={})


def violations(text: str, suites: Sequence[SuiteComparison]) -> list[Violation]:
    condition = parse(text)
    condition.require(suites)
    return list(condition.check(suites))


def test_an_established_regression_beyond_the_limit_fails_and_names_the_figure() -> None:
    (violation,) = violations("worse by > 5%", compared(1.2))
    assert not violation.unknown
    assert re.match(
        r"mixed, 70 %: p99 of B is (19|20)\.\d % worse \(1\d\.\d to 2\d\.\d %\)", violation.message
    )
    assert re.fullmatch(r"mixed, 70 %: p99 (19|20)\.\d % worse", violation.brief)


@pytest.mark.parametrize(
    ("slower", "within", "message", "brief"),
    [
        (83.0, 0.01, "is 84.0x A's (82.", "mixed, 70 %: p99 84.0x A's"),
        (1.5, 0.2, "is 52 % worse (1", "mixed, 70 %: p99 52 % worse"),
    ],
)
def test_a_figure_has_the_digits_of_its_interval_and_is_a_multiple_from_twice_on(
    slower: float, within: float, message: str, brief: str
) -> None:
    (violation,) = violations("p99 worse by > 1%", compared(slower, repeats=1, within=within))
    assert message in violation.message
    assert violation.brief == brief


@pytest.mark.parametrize(
    ("text", "slower", "unknown"),
    [
        ("worse by > 5%", 1.0, None),
        ("worse by > 30%", 1.2, None),
        ("better by > 5%", 1.2, None),
        ("better by > 5%", 0.8, False),
        ("p99 worse by > 5%", 1.2, False),
        ("IOPS worse by > 5%", 1.2, None),
        ("mixed[70 %].p99 worse by > 5 %", 1.2, False),
        ("mixed[70].p99 worse by >= 5%", 1.2, False),
        ("mixed.iops worse by > 5%", 1.2, None),
        ("worse by > 20%", 1.2, True),
    ],
)
def test_what_is_judged_and_how(text: str, slower: float, unknown: bool | None) -> None:
    assert [violation.unknown for violation in violations(text, compared(slower))] == (
        [] if unknown is None else [unknown]
    )


def test_a_rate_is_worse_by_the_share_that_it_lacks() -> None:
    before = side("A", [100.0] * 8, [1.0] * 8)
    after = side("B", [50.0] * 8, [1.0] * 8)
    suites = compare_sides(before, after, titles={})
    (violation,) = violations("IOPS worse by > 45%", suites)
    assert "is 50.0 % worse" in violation.message
    assert [one.unknown for one in violations("IOPS worse by > 55%", suites)] == []


@pytest.mark.parametrize("repeats", [2, 5])
def test_few_repeats_decide_nothing(repeats: int) -> None:
    (violation,) = violations("worse by > 5%", compared(2.0, repeats=repeats))
    assert violation.unknown
    assert violation.message.startswith("2 of 2 figures cannot be decided")
    assert "repeats" in str(violation.hint)


def test_single_runs_decide_by_their_intervals() -> None:
    (held,) = violations("worse by > 5%", compared(1.2, repeats=1, within=0.01))
    assert not held.unknown
    assert violations("worse by > 5%", compared(1.0, repeats=1, within=0.01)) == []
    assert [one.unknown for one in violations("worse by > 5%", compared(1.2, repeats=1, within=0.2))] == [
        True
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("worse than 5%", "not a condition on a comparison", "write for example 'worse by > 5%'"),
        ("worse by > 5", "not a condition on a comparison", "write for example"),
        ("mixed[70 %].p99 > 1ms", "not a condition on a comparison", "write for example"),
        ("mixd.p99 worse by > 5%", "there is no suite 'mixd'", "did you mean 'mixed'?"),
        ("mixed[71 %].p99 worse by > 5%", "there is no position '71 %'", "70 %"),
        ("mixed.meen worse by > 5%", "there is no column 'meen'", "did you mean 'mean'?"),
        ("mixed.p98 worse by > 5%", "there is no column 'p98'", "did you mean 'p99'?"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        violations(text, compared(1.0))
    assert hint in str(caught.value.hint)
