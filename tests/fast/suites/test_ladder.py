"""The ladder: its steps, what is compared with what, what is not measured and why, and what it concludes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.catalog.ladders import AGAIN, STOCK, Ladder, LadderRung, load_ladder
from iogauge.schema import EngineKind, Kind, ModelFacts, Rung, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures
from iogauge.suites import SUITES, SuiteRequest
from iogauge.suites.ladder import READS, WRITES
from iogauge.suites.ladder import effects as ladder_effects
from iogauge.suites.ladder.effects import LadderFigure, Measured
from iogauge.suites.suite import LadderRequest
from tests import builders
from tests.suite_runs import BLOCK, jobs_of

MODEL = builders.target(
    "model:p4800x",
    kind="model",
    size_bytes=400 << 30,
    modelled=ModelFacts(
        drive="p4800x-375g",
        drive_version=1,
        machine="windows-intel",
        machine_version=1,
        machine_title="Windows",
        sha256="0",
    ),
)
TURBO = {"turbo off 2.3 GHz": "the CPU has no turbo", "turbo off 3 GHz": "the CPU has no turbo"}


def plan(target: Any = BLOCK, **options: Any) -> SuitePlan:
    request = LadderRequest(**({"ladder": load_ladder()} | options))
    return SUITES["ladder"].plan(SuiteRequest(targets=(target,), pace="quick", ladder=request))


def rungs(planned: SuitePlan, series: str = READS.series) -> dict[str, Rung]:
    return {step.rung.name: step.rung for step in planned.steps if step.rung and step.series == series}


def test_each_rung_keeps_the_settings_of_those_below_it() -> None:
    by_name = rungs(plan(missing=TURBO))
    assert list(by_name) == [STOCK, AGAIN, "governor performance", "irqbalance off", "SMP affinity"]
    assert by_name[STOCK].settings == by_name[AGAIN].settings == {}
    assert by_name["SMP affinity"].settings == {
        "cpu.governor": "performance",
        "load.irqbalance": "stopped",
        "interrupts.affinity": "queues",
    }
    assert [rung.against for rung in by_name.values()] == [
        "", STOCK, STOCK, "governor performance", "irqbalance off"
    ]  # fmt: skip


def test_one_at_a_time_each_rung_has_its_own_settings_against_stock() -> None:
    by_name = rungs(plan(missing=TURBO, one_at_a_time=True))
    assert by_name["SMP affinity"].settings == {"interrupts.affinity": "queues"}
    assert {rung.against for rung in by_name.values()} == {"", STOCK}


def test_the_rung_above_a_missing_one_is_compared_with_the_next_below() -> None:
    planned = plan(missing={"irqbalance off": "it does not run", **TURBO})
    by_name = rungs(planned)
    assert "irqbalance off" not in by_name
    assert by_name["SMP affinity"].against == "governor performance"
    assert "load.irqbalance" not in by_name["SMP affinity"].settings
    assert "irqbalance off was not measured: it does not run" in planned.notes


def test_the_loads_are_those_of_the_guide() -> None:
    planned = plan()
    reads, writes = (
        next(step for step in planned.steps if step.series == load.series) for load in (READS, WRITES)
    )
    (read,), (write,) = jobs_of(reads), jobs_of(writes)
    assert (read.iodepth, read.numjobs, read.bs.read.maximum_bytes) == (1, 1, 4096)
    assert (write.iodepth, write.numjobs, write.ioengine) == (4, 4, EngineKind.LIBAIO)
    assert (reads.kind, writes.kind) == (Kind.LAT, Kind.CLAT)
    assert planned.shuffled
    # The same idle time before each, with the settings of the rung.
    assert {job.startdelay_ns for step in planned.steps for job in jobs_of(step)} == {(10**9, 10**9)}


def test_reads_alone() -> None:
    planned = plan(reads_only=True)
    assert {step.series for step in planned.steps} == {READS.series}
    assert not any(
        way.value == "write" for step in planned.steps for job in jobs_of(step) for way in job.rw.directions
    )


@pytest.mark.parametrize(
    ("target", "polled"),
    [
        (BLOCK, False),
        (BLOCK.model_copy(update={"polls": True}), True),
        (BLOCK.model_copy(update={"polls": False}), False),
        (builders.target(polls=True), False),
    ],
)
def test_reads_are_polled_where_a_block_device_polls(target: Any, polled: bool) -> None:
    planned = plan(target)
    (job,) = jobs_of(planned.steps[0])
    assert job.ioengine is EngineKind.IO_URING
    assert job.hipri is polled
    assert any("not polled" in note for note in planned.notes) is not polled


def test_on_a_model_rungs_are_machine_models() -> None:
    planned = plan(MODEL)
    assert rungs(planned)["SMP affinity"].settings == {}
    paths = {step.rung.name: jobs_of(step)[0].filenames for step in planned.steps if step.rung}
    assert paths["SMP affinity"] == ("model:p4800x@linux-smp-affinity",)
    assert paths[STOCK] == paths[AGAIN] == ("model:p4800x@linux-stock",)
    assert "model:p4800x@linux-stock" in planned.compared_with
    assert not any("Windows" in note for note in planned.notes)
    (job,) = jobs_of(planned.steps[0])
    assert (job.ioengine, job.hipri, job.startdelay_ns) == (EngineKind.PVSYNC2, True, (0, 0))


def test_a_rung_without_a_machine_model_is_not_measured_on_a_model() -> None:
    own = Ladder(rung=(LadderRung(name="mine", settings={"block.nomerges": 2}),))
    planned = plan(MODEL, ladder=own)
    assert list(rungs(planned)) == [STOCK, AGAIN]
    assert "mine was not measured: no machine model stands for it" in planned.notes
    assert {name for step in planned.steps for job in jobs_of(step) for name in job.filenames} == {
        "model:p4800x"
    }


def test_every_published_figure_of_the_table_belongs_to_a_step() -> None:
    planned = plan(MODEL)
    values = [
        (point.row, point.metric)
        for step in planned.steps
        if step.label != AGAIN
        for point in SUITES["ladder"].published(step)
    ]
    assert len(values) == len(set(values)) == 60


@dataclass(frozen=True)
class Preset:
    """A figure whose values are given instead of measured."""

    figure: LadderFigure
    supported: bool = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.figure, name)

    def of(self, value: StepFigures) -> tuple[float, bool]:
        """Return the value, which stands in the place of a run's figures."""
        assert isinstance(value, float)
        return value, self.supported


def measured(
    values: Mapping[str, Sequence[float]],
    *,
    against: Mapping[str, str],
    supported: bool = True,
    figure: int = 0,
) -> Measured:
    """Return a figure with values of each rung, block by block."""
    positions: dict[str, Any] = {}
    for name, by_block in values.items():
        step = StepPlan(
            id=name, label=name, at=0, job_file="", seed=0, state_group=name,
            rung=Rung(name=name, against=against.get(name, "")),
        )  # fmt: skip
        runs = [
            SimpleNamespace(plan=SimpleNamespace(repeat=block), figures=value)
            for block, value in enumerate(by_block)
        ]
        positions[name] = SimpleNamespace(plan=step, runs=runs, figures=by_block[0])
    preset: Any = Preset(ladder_effects.FIGURES[figure], supported)
    return Measured(f"{preset.label} read latency", preset, positions, lambda _: ())


STOCK_US = [8.4, 8.5, 8.3, 8.45, 8.35, 8.42]
NOISE = [0.01, -0.02, 0.015, -0.005, 0.02, -0.01]
AGAINST = {AGAIN: STOCK, "governor": STOCK, "irqbalance": "governor"}


def ladder_values(
    *, again: float = 0.0, governor: float = -0.3, irqbalance: float = 0.0
) -> dict[str, list[float]]:
    """Return values of stock and of rungs that change it by so much."""
    noisy = [value + noise for value, noise in zip(STOCK_US, NOISE, strict=True)]
    changed = [value + governor for value in noisy]
    return {
        STOCK: STOCK_US,
        AGAIN: [value + again for value in noisy],
        "governor": changed,
        "irqbalance": [value + irqbalance - 2 * noise for value, noise in zip(changed, NOISE, strict=True)],
    }


def findings(figures: Sequence[Measured], blocks: int = 6) -> list[str]:
    return list(ladder_effects._findings(figures, blocks=blocks))


def test_the_answer_comes_first_and_a_silent_a_a_last() -> None:
    first, *_, last = findings([measured(ladder_values(), against=AGAINST)])
    assert first == (
        "governor is worth -0.298 us (-0.320 to -0.280) of mean read latency; no other rung is seen to change it"
    )
    assert last.startswith("A/A shows no difference: stock against itself changes mean read latency by +0.00")


def test_an_a_a_that_differs_comes_first() -> None:
    first, *others = findings([measured(ladder_values(again=0.2), against=AGAINST)])
    assert first.startswith(
        "A/A differs, so nothing below can be trusted: stock against itself changes mean read"
    )
    assert not any("shows no difference" in other for other in others)


def test_a_figure_that_no_rung_changes_is_named() -> None:
    sentences = findings([measured(ladder_values(governor=0.0), against=AGAINST)])
    assert sentences[0] == "no rung is seen to change mean read latency"


def test_too_few_blocks_establish_nothing() -> None:
    few = {name: values[:5] for name, values in ladder_values().items()}
    sentences = findings([measured(few, against=AGAINST)], blocks=5)
    assert sentences[0] == "no effect can be established in 5 blocks: 6 are the fewest"
    assert sentences[-1].startswith("A/A cannot be judged in so few blocks")


def test_a_figure_that_its_samples_do_not_support_establishes_nothing() -> None:
    figure = measured(ladder_values(), against=AGAINST, supported=False)
    assert [row.established for row in figure.effects] == [False, False]
    assert findings([figure]) == []
    (table,) = ladder_effects._effects_table("reads", [figure])
    assert all(row[1].startswith("~") for row in table.rows)


def test_a_rung_whose_reference_was_not_measured_is_left_out() -> None:
    values = ladder_values()
    del values["governor"]
    assert [row.name for row in measured(values, against=AGAINST).effects] == []


@pytest.mark.parametrize("blocks", [1, 3, 6])
def test_tables_have_the_interval_and_a_star_where_an_effect_is_established(blocks: int) -> None:
    values = {name: by_block[:blocks] for name, by_block in ladder_values().items()}
    (table,) = ladder_effects._effects_table("reads", [measured(values, against=AGAINST)])
    assert table.rows[0][0] == "governor"
    assert table.rows[0][1].startswith("*") == (blocks == 6)
    assert ("(" in table.rows[0][1]) == (blocks > 1)
    assert "rung below" in table.title
