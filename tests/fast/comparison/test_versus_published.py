"""Which published drive a measured one is nearest to: by what its samples support, and counted as drives."""

from __future__ import annotations

from dataclasses import replace

from iogauge.comparison.versus_published import Laid, LaidDrive, nearest
from iogauge.results.figure import Figure
from iogauge.results.position import PositionKey
from iogauge.stats.figures import Ratio


def laid(drive: str, metric: str, ratio: float, *, supported: bool = True) -> Laid:
    """A measured figure that is so many times the published one, which is 100."""
    place = PositionKey(suite="s", series="", label="reads", at=0)
    row = Figure(drive=drive, position=place, repeat=0, judged="read", metric=metric, value=100, source="S")
    return Laid(
        load="reads",
        where="S: reads",
        anchor="s",
        metric=metric,
        measured=100 * ratio,
        published=row,
        ratio=Ratio(ratio, None, None),
        supported=supported,
    )


FAR = [laid("X (windows)", metric, 1.5) for metric in ("iops", "mean_ns", "p99_ns")]
NEAR = [laid("X (linux)", metric, 1.1) for metric in ("iops", "mean_ns", "p99_ns")]
OTHER = [laid("Y (linux)", metric, 2.0) for metric in ("iops", "mean_ns", "p99_ns")]


def test_sets_of_figures_and_drives_are_counted_apart() -> None:
    (said,) = nearest(LaidDrive("mine", "saved", (*FAR, *NEAR, *OTHER)))
    assert said == (
        "of 3 published sets of figures of the same loads, of 2 drives, X (linux) is nearest to mine: 3 figures, "
        "10.0 % apart on average and 10.0 % at most"
    )


def test_a_quantile_that_the_sample_does_not_support_has_no_say() -> None:
    tails = [
        laid(drive, "p99.99999_ns", ratio, supported=False)
        for drive, ratio in (("X (windows)", 1.0), ("X (linux)", 40.0), ("Y (linux)", 1.0))
    ]
    (said,) = nearest(LaidDrive("mine", "saved", (*FAR, *NEAR, *OTHER, *tails)))
    assert "X (linux) is nearest to mine: 3 figures, 10.0 % apart" in said
    assert said.endswith("; 3 figures left out, which too few samples support")
    # Were they counted, another would be.
    counted = tuple(replace(each, supported=True) for each in (*FAR, *NEAR, *OTHER, *tails))
    (other,) = nearest(LaidDrive("mine", "saved", counted))
    assert "X (windows) is nearest" in other


def test_nothing_is_nearest_by_unsupported_figures_alone() -> None:
    assert nearest(LaidDrive("mine", "saved", (laid("X (linux)", "p99.999_ns", 1.0, supported=False),))) == ()
