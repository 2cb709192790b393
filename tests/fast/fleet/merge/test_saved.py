"""A saved fleet: its steps, the skew of its starts, and its figures as one table."""

from __future__ import annotations

from os import fspath
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.merge.skew import skew
from iogauge.fleet.saved import open_fleet
from iogauge.schema import HostOutcome
from tests.fast.fleet.merge.made_up import STEP, fleet, host, start


def test_a_fleet_has_its_hosts_steps_and_reviews(tmp_path: Path) -> None:
    opened = fleet(tmp_path / "fleet", [(host("h0"), [[1000]] * 2), (host("h1"), None)])
    assert fspath(opened) == str(tmp_path / "fleet")
    assert [one.name for one in opened.hosts] == ["h0", "h1"]
    assert opened.steps == (STEP,)
    assert opened.review("h0").manifest.targets[0].model == "Flash 9000"
    with pytest.raises(IogaugeError, match="not a saved review"):
        opened.review("h1")
    with pytest.raises(IogaugeError, match="has no host 'h2'"):
        opened.review("h2")
    with pytest.raises(IogaugeError, match="not a saved review of a fleet"):
        open_fleet(tmp_path)


def test_skew_is_how_far_starts_are_from_their_plan(tmp_path: Path) -> None:
    starts = [start(f"h{n}", 1000, late_ns=n, bound_ns=n) for n in range(100)]
    starts += [start("h7", 5000, late_ns=-200), start("h8", 5000, late_ns=None)]
    opened = fleet(tmp_path / "fleet", [(host("h0"), None)], starts=starts)
    skewed = opened.skew()
    assert len(skewed.rows) == 99, "the last start of a host counts"
    late = {row.host: row.late_ns for row in skewed.rows}
    assert (late["h99"], late["h7"]) == (99, -200)
    assert skewed.unknown == ((STEP, "h8"),)
    assert (skewed.p99_ns, skewed.bound_ns) == (200, 99), "of 99 starts it is the last, by distance"
    assert (skew([]).p99_ns, skew([]).bound_ns) == (None, None)


def test_the_table_has_a_row_for_each_figure_and_names_the_lost(tmp_path: Path) -> None:
    hosts = [host("h0", zone="east"), host("h1", outcome=HostOutcome.LOST)]
    opened = fleet(tmp_path / "fleet", [(hosts[0], [[1000] * 40] * 3), (hosts[1], None)])
    table = opened.table()
    rows = {row["figure"]: row for row in table.to_pylist() if row["host"] == "h0"}
    assert rows["p50_ns"]["value"] == pytest.approx(1000, rel=0.001)
    assert {row["target"] for row in rows.values()} == {"/dev/sda"}
    one = rows["iops"]
    assert (one["model"], one["firmware"], one["step"], one["direction"]) == (
        "Flash 9000",
        "0.1",
        STEP,
        "read",
    )
    assert dict(one["labels"]) == {"zone": "east"}
    (lost,) = (row for row in table.to_pylist() if row["host"] == "h1")
    assert (lost["outcome"], lost["step"], lost["figure"]) == ("lost", None, None)


def test_processes_give_the_same_table_and_say_what_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = fleet(tmp_path / "fleet", [(host(f"h{number}"), [[1000] * 40] * 3) for number in range(3)])
    here = opened.table()
    for saved in opened.hosts:
        (opened.review(saved.name).path / "computed.json").unlink()
    monkeypatch.setattr("iogauge.fleet.merge.table._FEW", 0)
    assert opened.table() == here
    (opened.review("h2").path / "manifest.json").write_text("{}")
    with pytest.raises(IogaugeError, match="h2") as raised:
        opened.table()
    assert raised.value.hint
