"""The generator's own limits: measured again where a busy machine never let the probe run."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from iogauge.run import ceiling
from iogauge.schema import Direction, RunPlan
from tests import builders


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stand in for the core; the runtimes of the probes, in ms, of which those before the third measure nothing."""
    made: list[int] = []

    def drive(plan: RunPlan, **_: object) -> SimpleNamespace:
        made.append(plan.stages[0].workers[0].runtime_ns // 10**6)
        tallies = {Direction.READ: builders.tally({20: 3_000})} if len(made) > 2 else {}
        return SimpleNamespace(rows=[builders.row("ceiling", tallies)])

    monkeypatch.setattr(ceiling, "drive", drive)
    facts = json.dumps({"source": "tsc", "read_cost_ns": 9.0})
    monkeypatch.setattr(ceiling._core, "clock_facts", lambda: facts)
    monkeypatch.setattr(ceiling._core, "sleep_slack_ns", lambda: 50_000)
    return made


def test_a_probe_that_never_ran_is_tried_again_for_longer(probes: list[int]) -> None:
    found = ceiling.measure_ceiling()
    assert probes == [60, 120, 240, 60]
    assert (found.iops, found.lat_mean_ns) == (1_000, 20)
    assert (found.clock_source, found.clock_read_ns, found.sleep_slack_ns) == ("tsc", 9, 50_000)


def test_tries_come_to_an_end(probes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceiling, "_TRIES", 1)
    assert ceiling.measure_ceiling().iops == 0
    assert probes == [60, 60]
