"""Which published drive is nearest to a measured one: by supported figures, with sets and drives counted separately."""

from __future__ import annotations

from dataclasses import replace

from iogauge.comparison.versus_published import PublishedMatch, VersusPublished, nearest
from iogauge.results.figures import PositionFigure
from iogauge.results.position import PositionKey
from iogauge.stats.figures import Ratio


def match(drive: str, metric: str, ratio: float, *, supported: bool = True) -> PublishedMatch:
    """A measured figure that is so many times the published one, which is 100."""
    place = PositionKey(suite="s", series="", label="reads", at=0)
    row = PositionFigure(
        drive=drive, position=place, repeat=0, judged="read", metric=metric, value=100, source="S"
    )
    return PublishedMatch(
        load="reads",
        where="S: reads",
        anchor="s",
        metric=metric,
        measured=100 * ratio,
        published=row,
        ratio=Ratio(ratio, None, None),
        supported=supported,
    )


FAR = [match("X (windows)", metric, 1.5) for metric in ("iops", "mean_ns", "p99_ns")]
NEAR = [match("X (linux)", metric, 1.1) for metric in ("iops", "mean_ns", "p99_ns")]
OTHER = [match("Y (linux)", metric, 2.0) for metric in ("iops", "mean_ns", "p99_ns")]


def test_sets_of_figures_and_drives_are_counted_apart() -> None:
    (sentence,) = nearest(VersusPublished("mine", "saved", (*FAR, *NEAR, *OTHER)))
    assert sentence == (
        "X (linux) is nearest to mine, among 3 published sets of figures for the same loads, from 2 drives: "
        "over 3 figures the difference is 10.0 % on average and 10.0 % at most"
    )


def test_a_quantile_that_the_sample_does_not_support_has_no_say() -> None:
    tails = [
        match(drive, "p99.99999_ns", ratio, supported=False)
        for drive, ratio in (("X (windows)", 1.0), ("X (linux)", 40.0), ("Y (linux)", 1.0))
    ]
    (sentence,) = nearest(VersusPublished("mine", "saved", (*FAR, *NEAR, *OTHER, *tails)))
    assert sentence.startswith("X (linux) is nearest to mine")
    assert "over 3 figures the difference is 10.0 %" in sentence
    assert sentence.endswith("; left out: 3 figures that too few samples support")
    # If they counted, another drive would be the nearest.
    counted = tuple(replace(figure, supported=True) for figure in (*FAR, *NEAR, *OTHER, *tails))
    (other,) = nearest(VersusPublished("mine", "saved", counted))
    assert other.startswith("X (windows) is nearest")


def test_nothing_is_nearest_by_unsupported_plain() -> None:
    assert (
        nearest(VersusPublished("mine", "saved", (match("X (linux)", "p99.999_ns", 1.0, supported=False),)))
        == ()
    )
