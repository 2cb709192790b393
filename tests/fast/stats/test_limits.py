"""Whether figures meet limits: the interval decides, and doubt is never taken for an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.stats.figure import Figure, open_figure
from iogauge.stats.limits import Outcome, Ruling, rule

ORDER = [Outcome.MISSED, Outcome.NOT_SHOWN, Outcome.MET]

integers = st.integers(1, 1000)
figures = (
    st.tuples(integers, integers, integers)
    .map(sorted)
    .map(lambda three: Figure(three[1], three[0], three[2]))
)


@pytest.mark.parametrize(
    ("limit", "at_most", "at_least"),
    [
        (6, Outcome.MISSED, Outcome.MET),
        (7, Outcome.NOT_SHOWN, Outcome.MET),
        (8, Outcome.NOT_SHOWN, Outcome.NOT_SHOWN),
        (9, Outcome.MET, Outcome.NOT_SHOWN),
        (10, Outcome.MET, Outcome.MISSED),
    ],
)
def test_the_limit_below_at_the_ends_within_and_above(
    limit: float, at_most: Outcome, at_least: Outcome
) -> None:
    """The interval is 7 to 9; a value equal to the limit meets it."""
    assert rule(Figure(8, 7, 9), limit, upper=True).outcome is at_most
    assert rule(Figure(8, 7, 9), limit, upper=False).outcome is at_least


@given(figures, integers, integers)
def test_an_easier_limit_never_makes_it_worse(figure: Figure, limit: int, easier: int) -> None:
    limit, easier = sorted((limit, easier))
    hard, easy = (ORDER.index(rule(figure, at, upper=True).outcome) for at in (limit, easier))
    assert hard <= easy
    easy, hard = (ORDER.index(rule(figure, at, upper=False).outcome) for at in (limit, easier))
    assert hard <= easy


@given(figures, integers, st.booleans())
def test_a_lower_limit_is_an_upper_one_seen_in_a_mirror(figure: Figure, limit: int, upper: bool) -> None:
    assert figure.low is not None
    assert figure.high is not None
    mirrored = Figure(-figure.value, -figure.high, -figure.low)
    assert rule(figure, limit, upper=upper).outcome is rule(mirrored, -limit, upper=not upper).outcome


@given(figures, integers, st.data())
def test_an_answer_holds_for_every_value_within_the_interval(
    figure: Figure, limit: int, data: st.DataObject
) -> None:
    assert figure.low is not None
    assert figure.high is not None
    true = data.draw(st.integers(int(figure.low), int(figure.high)))
    outcome = rule(figure, limit, upper=True).outcome
    if outcome is not Outcome.NOT_SHOWN:
        assert (outcome is Outcome.MET) == (true <= limit)


@given(figures, integers, st.booleans())
def test_figures_that_show_nothing_are_never_an_answer(figure: Figure, limit: int, upper: bool) -> None:
    for doubtful in (
        replace(figure, supported=False, needed=1000, count=10),
        replace(figure, long_enough=False),
        replace(figure, low=None, high=None),
    ):
        ruling = rule(doubtful, limit, upper=upper)
        assert ruling.outcome is Outcome.NOT_SHOWN
        assert ruling.reason


@given(figures, figures, integers)
def test_a_lower_quantile_can_only_make_an_unsupported_one_miss(
    figure: Figure, median: Figure, limit: int
) -> None:
    unsupported = replace(figure, supported=False, needed=1000, count=10)
    ruling = rule(unsupported, limit, upper=True, lower=[median])
    assert median.low is not None
    assert (ruling.outcome is Outcome.MISSED) == (median.low > limit)
    assert ruling.outcome is not Outcome.MET
    assert ruling.by is (median if median.low > limit else None)


def test_a_lower_quantile_says_nothing_of_what_is_decided_or_of_a_lower_limit() -> None:
    slow = Figure(50, 40, 60)
    assert rule(Figure(8, 7, 9), 10, upper=True, lower=[slow]).outcome is Outcome.MET
    assert rule(open_figure(8, count=100), 10, upper=False, lower=[slow]).outcome is Outcome.NOT_SHOWN


def test_one_known_end_decides_if_it_lies_on_the_right_side() -> None:
    assert rule(Figure(8, 7, None), 6, upper=True).outcome is Outcome.MISSED
    assert rule(Figure(8, 7, None), 10, upper=True) == Ruling(Outcome.NOT_SHOWN, "its interval is open")
    assert rule(Figure(8, None, 9), 10, upper=True).outcome is Outcome.MET


def test_how_much_longer_a_run_should_decide() -> None:
    """From 8 to the limit 10 is half of the way to the end 12: four times the samples halve the interval."""
    assert rule(Figure(8, 6, 12), 10, upper=True).longer == 4
    assert rule(Figure(8, 4, 9), 6, upper=False).longer == 4
    assert rule(Figure(8, 6, 12), 8, upper=True).longer is None
    unsupported = Figure(8, None, None, supported=False, needed=1000, count=250)
    assert rule(unsupported, 10, upper=True).longer == 4
