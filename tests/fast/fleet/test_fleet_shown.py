"""What reports show of a saved fleet: steps without a common interval, too, and how evenly hosts shared."""

from __future__ import annotations

from pathlib import Path

from iogauge.fleet.shown import view_of
from iogauge.report.fleet.sentences import how_it_ran
from iogauge.report.fleet.tables import groups
from iogauge.report.fleet.view import Share
from iogauge.schema import FleetMode
from tests.fast.fleet.merge.made_up import SECOND_NS, STEP, fleet, host, start


def test_a_step_whose_hosts_never_ran_all_at_once_is_shown_without_figures(tmp_path: Path) -> None:
    saved = fleet(
        tmp_path / "fleet",
        [(host("h0"), [[1000]] * 2), (host("h1"), [[2000]] * 2)],
        mode=FleetMode.STAGGERED,
        starts=[start("h0", 0), start("h1", 5 * SECOND_NS)],
    )
    view = view_of(saved)
    (group,) = view.groups
    assert (group.step, group.hosts, group.requests, group.excluded_s) == (STEP, 2, 0, 4)
    assert (group.iops, group.mean_ns, group.p99_ns, group.lowest) == (None, None, None, None)
    ((*_, iops, mean, p50, p99, p999, _),) = groups(view.groups).rows
    assert {iops, mean, p50, p99, p999} == {"-"}
    assert how_it_ran(view)[1:] == [
        "Not all hosts ran for 4 s, which the fleet's figures leave out.",
        f"Without figures, since its hosts never ran all at the same time: {STEP}.",
    ]


def test_the_hosts_that_had_least_and_most_are_known(tmp_path: Path) -> None:
    hosts = [(host(f"h{n}"), [[1000] * (10 + n)] * 2) for n in range(3)]
    view = view_of(fleet(tmp_path / "fleet", hosts))
    (group,) = view.groups
    assert (group.lowest, group.highest) == (Share(host="h0", iops=10), Share(host="h2", iops=12))
    assert group.iops == 33
    assert "a ratio of 1.20; 33" in how_it_ran(view)[0]
