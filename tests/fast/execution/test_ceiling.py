"""The generator's own limits: the best of several probes, on the CPU of the run, again where none of them ran."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from iogauge.execution import ceiling
from iogauge.schema import Direction, Job, RunPlan
from tests import builders, report_records

Probe = tuple[int, int, int]


class Core:
    """Stands in for the core: remembers the probes made, and says what each did."""

    def __init__(self) -> None:
        self.made: list[Probe] = []
        """Runtime in ms, iodepth and CPU."""
        self.ios: dict[int, int] = {}
        """By probe; 3,000 where nothing else is said."""

    def run_plan(self, plan: RunPlan, **_: object) -> SimpleNamespace:
        (worker,) = plan.stages[0].workers
        ios = self.ios.get(len(self.made), 3_000)
        self.made.append((worker.runtime_ns // 10**6, worker.iodepth, worker.cpus[0]))
        tallies = {Direction.READ: builders.tally({60_000 // ios: ios})} if ios else {}
        return SimpleNamespace(rows=[builders.row("ceiling", tallies)])


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    made = Core()
    monkeypatch.setattr(ceiling, "run_plan", made.run_plan)
    facts = json.dumps({"source": "tsc", "read_cost_ns": 9.0})
    monkeypatch.setattr(ceiling._core, "clock_facts", lambda: facts)
    monkeypatch.setattr(ceiling._core, "sleep_slack_ns", lambda: 50_000)
    monkeypatch.setattr(ceiling._core, "allowed_cpus", lambda: [2, 3, 5])
    return made


def test_the_best_of_several_short_probes_counts(core: Core) -> None:
    core.ios = {0: 1_000, 1: 30, 2: 3_000, 3: 600, 4: 2_000, 5: 60}
    result = ceiling.measure_ceiling()
    assert core.made == [(20, 32, 5), (20, 1, 5)] * 3
    assert (result.iops, result.shallow_iops, result.lat_mean_ns) == (1_000, 200, 100)
    assert (result.clock_source, result.clock_read_ns, result.sleep_slack_ns) == ("tsc", 9, 50_000)


def test_probes_that_never_ran_are_tried_again_for_longer(core: Core) -> None:
    core.ios = dict.fromkeys(range(7), 0)
    result = ceiling.measure_ceiling()
    assert [runtime_ms for runtime_ms, _, _ in core.made] == [20] * 6 + [40] * 6
    assert (result.iops, result.shallow_iops, result.lat_mean_ns) == (1_000, 1_000, 20)


def test_tries_come_to_an_end(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceiling, "_TRIES", 1)
    core.ios = dict.fromkeys(range(6), 0)
    result = ceiling.measure_ceiling()
    assert (result.iops, result.shallow_iops, result.lat_mean_ns, len(core.made)) == (0, 0, 0, 6)


@pytest.mark.parametrize(
    ("fields", "cpu"),
    [
        ({}, 5),
        ({"cpus_allowed": (3,)}, 3),
        ({"cpus_allowed": (2, 3)}, 3),
        ({"cpus_allowed": (2, 3), "cpus_allowed_policy": "split"}, 2),
        ({"numjobs": 4}, 5),
    ],
)
def test_it_is_measured_where_the_first_worker_will_be(
    core: Core, fields: dict[str, object], cpu: int
) -> None:
    job = Job.model_validate({"name": "r", "ioengine": "null", **fields})
    ceiling.measure_ceiling(report_records.job_file(job))
    assert {made[2] for made in core.made} == {cpu}
