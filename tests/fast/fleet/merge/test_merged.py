"""A step of many hosts, merged: to the count what merging them by hand gives, and nothing of hosts that are missing."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet.judge import observations
from iogauge.fleet.merge.group import QUANTILES, MergedGroup
from iogauge.fleet.saved import Fleet
from iogauge.schema import Direction, FleetMode, HostOutcome, Interval, Kind
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from tests import builders
from tests.fast.fleet.merge.made_up import BROKEN, SECOND_NS, STEP, at, fleet, host, of_seconds, start

READ = Direction.READ


def random_seconds(seed: int, *, seconds: int = 4, count: int = 30) -> list[list[int]]:
    random = np.random.default_rng(seed)
    values: list[list[int]] = [
        (random.lognormal(11, 1, random.integers(1, count)) + 1).astype(int).tolist() for _ in range(seconds)
    ]
    return values


def by_hand(opened: Fleet, name: str, *, second: int | None = None) -> list[Histogram]:
    """What one host's review holds of its reads, read as any review is."""
    review = Review.open(opened.path / "hosts" / name)
    holders = review.record(STEP).result.rows if second is None else review.intervals(STEP)
    return [
        Histogram.decode(holder.tallies[READ].histograms[Kind.LAT], holder.tallies[READ].exact[Kind.LAT])
        for holder in holders
        if READ in holder.tallies and (second is None or getattr(holder, "index", None) == second)
    ]


def only(groups: list[MergedGroup]) -> MergedGroup:
    (group,) = groups
    return group


def counts(histogram: Histogram) -> dict[int, int]:
    return dict(zip(histogram.lowest.tolist(), histogram.counts.tolist(), strict=True))


@pytest.mark.parametrize("intervals_of_a_window", [4096, 3])
def test_hosts_are_merged_to_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, intervals_of_a_window: int
) -> None:
    monkeypatch.setattr("iogauge.fleet.merge.merged.MOST_INTERVALS", intervals_of_a_window)
    opened = fleet(
        tmp_path / "fleet", [(host(f"h{seed}"), random_seconds(seed, count=400)) for seed in range(5)]
    )
    group = only(opened.merged(STEP))
    expected = Histogram.merge(itertools.chain.from_iterable(by_hand(opened, f"h{n}") for n in range(5)))
    total = group.total[READ]
    assert group.requests[READ] == {
        f"h{n}": sum(part.count for part in by_hand(opened, f"h{n}")) for n in range(5)
    }
    assert counts(total) == counts(expected)
    assert total.exact == expected.exact
    assert list(group.total) == [READ], "writes are of another job"
    assert group.moments.included.all()
    course = group.moments.directions[READ]
    for second in range(4):
        merged = Histogram.merge(
            itertools.chain.from_iterable(by_hand(opened, f"h{n}", second=second) for n in range(5))
        )
        assert course.ios[second] == merged.count
        assert course.bytes[second] == merged.count * 8192
        for q in QUANTILES:
            value = course.quantiles_ns[q][second]
            assert value == merged.quantile(q) if merged.supports(q) else np.isnan(value)


def test_groups_have_what_their_hosts_have_in_common(tmp_path: Path) -> None:
    hosts = [host("h0", zone="east"), host("h1", zone="west"), host("h2", zone="east"), host("h3")]
    opened = fleet(
        tmp_path / "fleet",
        [(one, [[1000] * (place + 1)]) for place, one in enumerate(hosts)],
        models={"h0": "Flash A", "h1": "Flash A", "h2": "Flash B", "h3": "Flash B"},
    )

    def sizes(by: str | None) -> dict[str, tuple[tuple[str, ...], int]]:
        return {group.name: (group.hosts, group.total[READ].count) for group in opened.merged(STEP, by=by)}

    assert sizes(None) == {"": (("h0", "h1", "h2", "h3"), 10)}
    assert sizes("host") == {f"h{n}": ((f"h{n}",), n + 1) for n in range(4)}
    assert sizes("zone") == {"": (("h3",), 4), "east": (("h0", "h2"), 4), "west": (("h1",), 2)}
    assert sizes("model") == {"Flash A": (("h0", "h1"), 3), "Flash B": (("h2", "h3"), 7)}
    assert sizes("firmware") == {"A.1": (("h0", "h1"), 3), "B.1": (("h2", "h3"), 7)}
    with pytest.raises(UsageError, match="label 'rack'"):
        opened.merged(STEP, by="rack")
    with pytest.raises(UsageError, match="no host has a step 'other'"):
        opened.merged("other")


def test_a_lost_host_is_missing_where_it_would_have_been(tmp_path: Path) -> None:
    opened = fleet(
        tmp_path / "fleet",
        [
            (host("h0", zone="east"), [[1000]]),
            (host("h1", zone="west"), [[1000]]),
            (host("h2", zone="west", outcome=HostOutcome.LOST), None),
            (host("h3", zone="east", outcome=HostOutcome.LOST), []),
            (host("h4", zone="west", outcome=HostOutcome.LOST), [[1000]]),
        ],
        models={"h0": "Flash A", "h1": "Flash B", "h3": "Flash A", "h4": "Flash B"},
    )

    def missing(by: str | None) -> dict[str, tuple[str, ...]]:
        return {group.name: group.missing for group in opened.merged(STEP, by=by)}

    assert only(opened.merged(STEP)).hosts == ("h0", "h1", "h4"), "what was fetched of a lost host counts"
    assert missing(None) == {"": ("h2", "h3")}
    assert missing("zone") == {"east": ("h3",), "west": ("h2",)}
    assert missing("model") == {"Flash A": ("h2", "h3"), "Flash B": ("h2",)}, "h2 may have either"
    assert missing("host")["h2"] == ("h2",)


def test_a_group_of_missing_hosts_has_no_figures(tmp_path: Path) -> None:
    group = only(fleet(tmp_path / "fleet", [(host("h0"), [])]).merged(STEP))
    assert (group.hosts, group.missing, group.total) == ((), ("h0",), {})
    assert len(group.moments.start_ns) == 0


def test_seconds_in_which_not_all_were_running_are_out(tmp_path: Path) -> None:
    opened = fleet(tmp_path / "fleet", [(host("h0"), [[1000]] * 5), (host("h1"), [[2000]] * 3)])
    group = only(opened.merged(STEP))
    assert group.moments.hosts_running.tolist() == [2, 2, 2, 1, 1]
    assert group.excluded_s == (3.0, 4.0)
    assert group.total[READ].count == 6
    np.testing.assert_array_equal(group.moments.directions[READ].ios, [2, 2, 2, np.nan, np.nan])


def test_hosts_that_never_ran_together_have_no_total(tmp_path: Path) -> None:
    opened = fleet(
        tmp_path / "fleet",
        [(host("h0"), [[1000]] * 2), (host("h1"), [[2000]] * 2)],
        mode=FleetMode.STAGGERED,
        starts=[start("h0", 0), start("h1", 5 * SECOND_NS)],
    )
    group = only(opened.merged(STEP))
    assert group.total[READ].count == 0
    assert group.requests == {READ: {"h0": 0, "h1": 0}}
    assert group.excluded_s == (0.0, 1.0, 5.0, 6.0)


def test_staggered_hosts_are_aligned_by_their_starts(tmp_path: Path) -> None:
    opened = fleet(
        tmp_path / "fleet",
        [
            (host("h0"), [[1000]] * 5),
            (host("h1"), [[1000] * 10] * 5),
            (host("h2"), [[1000] * 100] * 5),
        ],
        mode=FleetMode.STAGGERED,
        starts=[
            start("h0", 10**12, late_ns=100),
            start("h1", 10**12 + 2 * SECOND_NS, late_ns=-200),
        ],
    )
    group = only(opened.merged(STEP))
    assert group.moments.hosts_running.tolist() == [1, 1, 2, 2, 2, 1, 1]
    assert group.total[READ].count == 3 * 11
    assert group.missing == ("h2",), "nobody knows when it started"
    assert group.aligned_within_ns == 300 + 2 * 5


def test_a_host_that_ran_the_step_later_is_apart(tmp_path: Path) -> None:
    hosts = [(host(f"h{n}"), [[1000]] * 2) for n in range(3)]
    starts = [start("h0", 100, late_ns=7), start("h1", 100), start("h2", 9 * SECOND_NS)]
    opened = fleet(tmp_path / "fleet", hosts, starts=starts)
    group = only(opened.merged(STEP))
    assert (group.hosts, group.missing, group.apart) == (("h0", "h1"), (), ("h2",))
    assert group.aligned_within_ns == 7 + 2 * 5


def test_a_host_whose_start_nobody_knows_is_apart_from_those_that_are_known(tmp_path: Path) -> None:
    hosts = [(host(f"h{n}"), [[1000]] * 2) for n in range(3)]
    planned_only = start("h1", 100, late_ns=None)
    group = only(fleet(tmp_path / "fleet", hosts, starts=[start("h0", 100), planned_only]).merged(STEP))
    assert (group.hosts, group.missing, group.apart) == (("h0", "h1"), (), ("h2",))
    assert group.aligned_within_ns is None, "when h1 began is not known"


def test_of_the_starts_of_a_host_the_last_counts(tmp_path: Path) -> None:
    hosts = [(host(f"h{n}"), [[1000]] * 4) for n in range(2)]
    starts = [start("h0", 100), start("h1", 100, late_ns=None), start("h1", 100, late_ns=2 * SECOND_NS)]
    group = only(fleet(tmp_path / "fleet", hosts, starts=starts).merged(STEP))
    assert group.moments.hosts_running.tolist() == [1, 1, 2, 2, 1, 1]


def test_a_host_that_was_late_is_merged_when_it_ran(tmp_path: Path) -> None:
    hosts = [(host("h0"), [[1000]] * 5), (host("h1"), [[1000] * 10] * 5)]
    starts = [start("h0", 100), start("h1", 100, late_ns=3 * SECOND_NS + 7)]
    group = only(fleet(tmp_path / "fleet", hosts, starts=starts).merged(STEP))
    assert group.moments.hosts_running.tolist() == [1, 1, 1, 2, 2, 1, 1, 1]
    assert group.requests == {READ: {"h0": 2, "h1": 20}}
    assert group.total[READ].count == 22
    assert group.aligned_within_ns == 7 + 2 * 5


def test_a_group_is_aligned_by_the_first_of_all_hosts(tmp_path: Path) -> None:
    late_ns = {"h0": 0, "h1": 4 * SECOND_NS // 10, "h2": 8 * SECOND_NS // 10}
    hosts = [(host(name, zone="a" if name == "h0" else "b"), [[1000]] * 3) for name in late_ns]
    starts = [start(name, 100, late_ns=late) for name, late in late_ns.items()]
    _, zone_b = fleet(tmp_path / "fleet", hosts, starts=starts).merged(STEP, by="zone")
    assert zone_b.moments.hosts_running.tolist() == [1, 2, 2, 1], "h2 by a second, h1 not at all"
    assert zone_b.aligned_within_ns == 6 * SECOND_NS // 10 + 2 * 5


def test_independent_hosts_count_from_their_own_start(tmp_path: Path) -> None:
    hosts = [(host(f"h{n}"), [[1000]] * 2) for n in range(2)]
    starts = [start("h0", 0), start("h1", 9 * SECOND_NS)]
    opened = fleet(tmp_path / "fleet", hosts, mode=FleetMode.INDEPENDENT, starts=starts)
    group = only(opened.merged(STEP))
    assert (group.total[READ].count, group.aligned_within_ns) == (4, None)


def part(index: int, begin_s: float, end_s: float, reads: int, *, ramp: bool = False) -> Interval:
    """A slice of a second in which the reader reads."""
    times = {"start_ns": round(begin_s * SECOND_NS), "end_ns": round(end_s * SECOND_NS), "ramp": ramp}
    second = builders.interval(index, {READ: builders.tally([1000] * reads)}, row=1)
    return second.model_copy(update=times)


def test_slices_of_a_ramp_and_of_the_end_belong_to_their_neighbours(tmp_path: Path) -> None:
    cut = [
        part(0, 0, 0.8, 1000, ramp=True),
        part(0, 0.8, 1, 1),
        part(1, 1, 2, 10),
        part(2, 2, 3, 100),
        part(3, 3, 3.1, 7),
    ]
    full = [part(1, 1, 2, 20), part(2, 2, 3, 200)]
    opened = fleet(tmp_path / "fleet", [(host("h0"), cut), (host("h1"), full)])
    moments = only(opened.merged(STEP)).moments
    assert moments.start_ns.tolist() == [SECOND_NS, 2 * SECOND_NS]
    assert moments.directions[READ].ios.tolist() == [31, 307]


def test_a_latency_that_equals_lat_is_lat(tmp_path: Path) -> None:
    own = builders.tally([1000], histograms={Kind.LAT: builders.histogram([1000])})
    other = builders.tally(
        [1000],
        histograms={Kind.LAT: builders.histogram([1000]), Kind.RESPONSE: builders.histogram([5000])},
        exact={Kind.LAT: builders.exact([1000]), Kind.RESPONSE: builders.exact([5000])},
    )
    intervals = [builders.interval(n, {READ: tally}, row=1) for n, tally in enumerate((own, other))]
    group = only(fleet(tmp_path / "fleet", [(host("h0"), intervals)], kind=Kind.RESPONSE).merged(STEP))
    assert counts(group.total[READ]) == counts(Histogram.of([1000, 5000]))
    exact = group.total[READ].exact
    assert exact is not None
    assert (exact.count, exact.sum_ns, exact.max_ns) == (2, 6000, 5000)


def test_hosts_with_other_intervals_are_refused(tmp_path: Path) -> None:
    opened = fleet(tmp_path / "fleet", [(host("h0"), of_seconds([[1000]])), (host("h1"), None)])
    other = fleet(
        tmp_path / "other", [(host("h0"), None), (host("h1"), of_seconds([[1000]]))], interval_ns=5 * 10**8
    )
    (other.path / "hosts" / "h1").rename(opened.path / "hosts" / "h1")
    with pytest.raises(IogaugeError, match="the intervals of h1 last 500000000 ns"):
        opened.merged(STEP)


def test_a_broken_histogram_is_an_error_that_names_its_file(tmp_path: Path) -> None:
    broken = builders.tally([1000], histograms={Kind.LAT: BROKEN})
    intervals = [*of_seconds([[1000]]), builders.interval(1, {READ: broken}, row=1)]
    opened = fleet(tmp_path / "fleet", [(host("h0"), [[1000]] * 2), (host("h1"), intervals)])
    with pytest.raises(IogaugeError, match=r"h1/steps/at-0300/intervals\.parquet: damaged: a histogram"):
        opened.merged(STEP)


def test_a_changed_file_is_an_error(tmp_path: Path) -> None:
    opened = fleet(tmp_path / "fleet", [(host("h0"), [[1000]] * 2)])
    path = opened.path / "hosts" / "h0" / "steps" / STEP / "intervals.parquet"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(IogaugeError, match="does not agree with the checksum"):
        opened.merged(STEP)


def test_hosts_are_merged_by_where_their_drives_sit(tmp_path: Path) -> None:
    hosts = [
        (at("h0", "bay 1"), [[1000] * 10]),
        (at("h1", "bay 2"), [[1000] * 20]),
        (at("h2", "bay 1"), [[1000] * 40]),
    ]
    opened = fleet(tmp_path / "fleet", hosts)
    groups = {group.name: group.total[READ].count for group in opened.merged(STEP, by="slot")}
    assert groups == {"bay 1": 50, "bay 2": 20}
    assert set(observations(FleetStore.open(opened.path)).slot) == {"bay 1", "bay 2"}
    with pytest.raises(UsageError, match="has a label 'slot'"):
        fleet(tmp_path / "other", [(host("h0"), [[1000]])]).merged(STEP, by="slot")
