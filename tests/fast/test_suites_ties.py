"""Findings about the most of an axis: what cannot be told from it is said, the fewest first."""

from __future__ import annotations

from iogauge.stats.figures import ties
from iogauge.stats.quantiles import Estimate
from iogauge.suites.commit_latency import at_most


def known(value: float, by: float = 0.01) -> Estimate:
    """A rate known to within a share of itself."""
    return Estimate(value, value * (1 - by), value * (1 + by), True, 0, 1000, dependence=True)


def test_the_fewest_logs_that_commit_as_many_are_named() -> None:
    said = at_most({1: known(500), 2: known(998), 4: known(1001), 8: known(1003)})
    assert said == (
        "1,003 (993 to 1,013) commits a second at most, by 8 logs; 2 logs cannot be told from that: 998 (988 to 1,008)"
    )
    assert at_most({1: known(500), 8: known(1003)}) == (
        "1,003 (993 to 1,013) commits a second at most, by 8 logs"
    )


def test_what_has_an_open_interval_is_no_tie() -> None:
    unknown = Estimate(999.0, None, None, True, 0, 1000, dependence=True, long_enough=False)
    assert ties({1: unknown, 2: known(990), 4: known(1000)}, 4) == (2, 4)
    assert ties({1: known(1000), 2: unknown}, 2) == (2,)
