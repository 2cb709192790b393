"""Findings about the highest rate: ties and undecided positions are named."""

from __future__ import annotations

from iogauge.stats.extremes import all_tied, saturation, ties, undecided
from iogauge.stats.figure import Figure, open_figure
from iogauge.suites import commit_latency, mixed, queue_depth, spec
from iogauge.text import numbers, too_short


def known(value: float, by: float = 0.01) -> Figure:
    """Return a rate with an interval of a share of itself."""
    return Figure(value, value * (1 - by), value * (1 + by), True, 0, 1000, dependence=True)


def unknown(value: float) -> Figure:
    """Return the rate of a run that is too short for its dependence."""
    return open_figure(value, count=1000)


def unbounded(value: float) -> Figure:
    """Return the rate of a run with too few intervals for bounds."""
    return Figure(value, None, None, True, 0, 1000, dependence=False)


def test_the_fewest_logs_with_nearly_the_most_commits_are_named() -> None:
    rates = {1: known(500, 0.001), 2: known(985, 0.001), 4: known(1001, 0.001), 8: known(1003, 0.001)}
    assert commit_latency.at_most(rates) == (
        "1,003 commits/s (1,002 to 1,004 commits/s) at most, by 8 logs; 2 logs are enough for 95 % of that: "
        "98.2 % (98.1 to 98.3 %)"
    )
    assert commit_latency.at_most({1: known(500), 8: known(1003)}) == (
        "1,003 commits/s (993 to 1,013 commits/s) at most, by 8 logs"
    )


def test_undecided_positions_are_named_and_left_out() -> None:
    rates = {1: unknown(999), 2: known(990), 4: known(1000), 8: unknown(2000)}
    assert undecided(rates) == (1, 8)
    assert ties(rates, 4) == (2, 4)
    end = saturation(rates)
    assert end is not None
    assert (end.most_at, end.least_at) == (4, 2)
    clause = f"; the rate {{}} 1{{}} and {{}}8{{}} {too_short.UNDECIDED}"
    assert commit_latency.at_most(rates).endswith(clause.format("of", " log", "", " logs"))
    assert queue_depth.at_most(rates).endswith(clause.format("at depth", "", "depth ", ""))
    assert mixed.extremes_of({**rates, 20: known(400)}).endswith(clause.format("at", " %", "", " %"))
    sentence = spec.highest("most data", rates, numbers.bandwidth)
    assert sentence.startswith("most data: 0.001000 MB/s (0.000990 to 0.001010 MB/s), by 4 KiB random writes")
    assert sentence.endswith(f"8 x 4 and {spec.ROWS[7].label} {too_short.UNDECIDED}")


def test_no_winner_is_named_if_nothing_is_decided() -> None:
    rates = {1: unknown(500), 2: known(990), 8: unknown(1000)}
    assert commit_latency.at_most(rates) == f"the highest rate of commits {too_short.UNDECIDED}"
    assert queue_depth.at_most(rates) == f"the highest rate {too_short.UNDECIDED}"
    assert mixed.extremes_of(rates) == f"which mix gives the most {too_short.UNDECIDED}"
    assert spec.highest("most data", {1: unknown(5)}, numbers.bandwidth) == f"most data {too_short.UNDECIDED}"


def test_a_rate_without_an_interval_is_compared_by_its_value() -> None:
    rates = {1: unbounded(500), 2: unbounded(990), 8: unbounded(1000)}
    assert commit_latency.at_most(rates) == (
        "1,000 commits/s (no interval) at most, by 8 logs; 2 logs are enough for 95 % of that: "
        "99.0 % (no interval)"
    )
    assert mixed.extremes_of(rates).startswith(
        "the rate is highest at 8 % reads, 1,000 IOPS, and lowest at 1 %, 500 IOPS: 50.0 %"
    )


def test_a_rate_that_is_equal_for_all_mixes_has_no_extremes() -> None:
    flat = {100: known(1000), 50: known(995), 0: known(990)}
    assert all_tied(flat)
    assert mixed.extremes_of(flat) == (
        "as far as these runs can tell, the rate does not depend on the mix: 990 IOPS (980 to 1,000 IOPS) at 0 % reads "
        "to 1,000 IOPS (990 to 1,010 IOPS) at 100 %"
    )
    assert mixed.extremes_of({**flat, 70: known(500)}).startswith(
        "the rate is highest at 100 % reads, 1,000 IOPS (no clear difference from 0 %, 50 %), and lowest at 70 %, "
        "500 IOPS: 50.0 %"
    )
    # One wide interval hides no difference between the others.
    assert not all_tied({100: known(1000, 0.9), 50: known(900), 0: known(500)})


def test_a_latency_is_shown_with_its_interval_and_its_mark() -> None:
    assert commit_latency._time(known(12_300)) == "12.30 us (12.18 to 12.42 us)"
    assert commit_latency._time(unknown(12_300)) == "?12.3 us (no interval)"
