"""Idle power: steps that keep a drive awake and leave it alone, and what follows from readings of power."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.machine.idle_states import Declared
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import IdleState, Pace, PowerRecord, PowerTrace, RunRecord
from iogauge.store import Review
from iogauge.suites import SUITES
from iogauge.suites.idle import powers
from iogauge.suites.idle.idle_power import AWAKE, LEFT
from tests import builders
from tests.suite_runs import jobs_of, planned

S = 10**9
POWER_STATE = IdleState(
    part="drive",
    name="power state 4",
    enabled=True,
    after_ns=8 * S,
    entry_ns=S // 10,
    exit_ns=S // 10,
    power_W=0.005,
)


def reviewed(drive: str, folder: Path) -> SuiteResult:
    assert main(["review", f"model:{drive}", "--suite=idle-power", "--seed=1", f"--output={folder}"]) == 0
    (result,) = load([folder])
    return result


@pytest.mark.parametrize(
    ("drive", "awake_W", "left_W"),
    [("optane-memory-32g", 1.0, 1.0), ("960evo-250g", 1.15, 0.04), ("mx300-750g", 0.6, 0.08)],
)
def test_a_models_watts_come_out(drive: str, awake_W: float, left_W: float, tmp_path: Path) -> None:
    result = reviewed(drive, tmp_path / "r")
    watts = {
        position.plan.label: run.record.result.drives[0].energy_J / (run.record.result.elapsed_ns / 1e9)
        for position in result.positions
        for run in position.runs
    }
    assert watts[AWAKE] == pytest.approx(awake_W, rel=5e-3)
    # The time before the drive sleeps is in the mean.
    assert watts[LEFT] == pytest.approx(left_W, rel=0.03)


def test_findings_and_tables_of_a_model(tmp_path: Path) -> None:
    result = reviewed("960evo-250g", tmp_path / "r")
    conclusions = SUITES["idle-power"].conclude(result)
    measured, compared, deepest = conclusions.findings
    assert measured == f"the model's energy: {AWAKE} 1.150 W; {LEFT} 40.39 mW"
    assert compared == "left idle it draws 0.035x as much"
    assert deepest.endswith("is low-power state 1, after 100 ms, declared at 40.00 mW")
    power, declared, published = conclusions.tables
    assert [row[0] for row in power.rows] == [AWAKE, LEFT]
    assert declared.rows == (("low-power state 1", "100 ms", "2 ms", "8 ms", "40.00 mW"),)
    assert ("Intel Optane Memory 32GB", "idle", "1 W") in {row[:3] for row in published.rows}


@pytest.mark.parametrize("pace", ["quick", "standard", "full"])
def test_the_drive_is_left_alone_until_it_sleeps_deepest(pace: Pace) -> None:
    plan = planned("idle-power", pace, idle_states=Declared((POWER_STATE,), (), ("echo 0 > tolerance",)))
    awake, left = plan.steps
    for step in (awake, left):
        (job,) = jobs_of(step)
        assert step.power_ns is not None
        assert step.power_ns[1] - step.power_ns[0] == plan.runtime_ns
        assert job.ramp_time_ns == step.power_ns[0]
        assert job.runtime_ns is not None
        assert step.power_ns[1] < job.ramp_time_ns + job.runtime_ns
    (job,) = jobs_of(left)
    assert left.power_ns is not None
    assert left.power_ns[0] >= 2 * 8.1 * S
    # The second read comes after the measured part, and before the end.
    assert job.runtime_ns is not None
    assert left.power_ns[1] < job.thinktime_ns < job.ramp_time_ns + job.runtime_ns
    (job,) = jobs_of(awake)
    assert job.thinktime_ns == 20_000_000
    assert plan.undisturbed
    assert plan.notes[-1] == "For PWR-1 without power management: echo 0 > tolerance"


def test_reads_come_sooner_than_the_drive_sleeps() -> None:
    soon = POWER_STATE.model_copy(update={"after_ns": 4_000_000})
    (job,) = jobs_of(planned("idle-power", idle_states=Declared((soon,), ())).steps[0])
    assert job.thinktime_ns == 2_000_000


def record(*watts: float, of: str = "target", state: str | None = None, problem: str = "") -> RunRecord:
    trace = PowerTrace.model_validate(
        {"source": "the meter (m)", "of": of, "at_ns": range(len(watts)), "power_W": watts}
    )
    power = PowerRecord(traces=(trace,) if watts else (), state=state, problems=(problem,) if problem else ())
    return builders.record([]).model_copy(update={"power": power})


def findings(awake: list[RunRecord], left: list[RunRecord], *states: IdleState) -> list[str]:
    return list(powers.findings({AWAKE: awake, LEFT: left}, states, awake=AWAKE, left=LEFT))


UNEVEN = (1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.0)


def test_less_power_has_its_interval() -> None:
    lower = [value / 10 for value in UNEVEN]
    measured, compared = findings([record(*UNEVEN)], [record(*lower, state="power state 4")])[:2]
    assert measured.startswith(f"the meter (m): {AWAKE} 1.000 W (")
    assert compared.startswith("left idle it draws 0.9000 W less: 0.1000x (0.0970 to 0.1031) as much")


def test_the_same_power_says_so() -> None:
    compared = findings([record(*UNEVEN)], [record(*UNEVEN)])[1]
    assert compared.startswith("left idle it draws the same, within ")


def test_a_meter_that_repeats_one_number_has_no_interval() -> None:
    measured, compared = findings([record(*[3.5] * 11)], [record(*[3.5] * 11)])[:2]
    assert measured.endswith(f"{AWAKE} 3.500 W; {LEFT} 3.500 W")
    assert compared == "left idle it draws the same"


def test_few_readings_decide_nothing() -> None:
    assert "cannot be determined" in findings([record(1.0, 2.0)], [record(0.1)])[1]


def test_repeats_are_pooled() -> None:
    shown = findings([record(1.0), record(1.2), record(1.1)], [record(0.1), record(0.1), record(0.1)])[0]
    assert f"{AWAKE} 1.10 W (0.87 to 1.38 W)" in shown
    assert " to " in shown


def test_the_computers_power_is_not_the_drives() -> None:
    shown = findings([record(*UNEVEN, of="host")], [record(*UNEVEN, of="host")])[0]
    assert shown.startswith("the meter (m) (the computer's, not the drive's): ")


def test_without_any_source_nothing_was_measured() -> None:
    nothing, deepest, state = findings(
        [record(problem="RAPL package-0 cannot be read: run as root")],
        [record(state="power state 4")],
        POWER_STATE,
    )
    assert nothing == (
        "no power was measured: no meter, no drive that measures its own power, and no counter of this machine gave "
        "any; RAPL package-0 cannot be read: run as root"
    )
    assert deepest.endswith("power state 4, after 8 s, declared at 5.000 mW")
    assert state == f"{LEFT}: the drive said that it was in power state 4, asked when the measured part ended"


def test_a_meter_measures_a_review_and_is_named_again_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        type(SUITES["idle-power"]), "RAMP_NS", dict.fromkeys(("quick", "standard", "full"), 10**6)
    )
    target, saved = tmp_path / "target.bin", tmp_path / "r"
    meter = "while true; do echo 2.5; sleep 0.001; done"
    options = ["--suite=idle-power", "--runtime=300ms", "--size=4m", f"--output={saved}"]
    assert main(["review", str(target), *options, f"--meter={meter}", "-v"]) == 0
    assert f"the meter ({meter}): {AWAKE} 2.500 W" in capsys.readouterr().out
    review = Review.open(saved)
    step = review.manifest.steps[-1].id
    with review.lock():
        review.discard(step)
    assert main(["review", f"--resume={saved}"]) == 2
    assert "a command that runs only if you name it" in capsys.readouterr().err
    assert main(["review", f"--resume={saved}", "--meter=echo 1"]) == 2
    capsys.readouterr()
    assert main(["review", f"--resume={saved}", f"--meter={meter}"]) == 0
    power = Review.open(saved).record(step).power
    assert power is not None
    assert set(power.traces[0].power_W) == {2.5}


def test_a_meter_without_a_suite_that_measures_power_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "model:ram", "--suite=mixed", "--meter=x"]) == 2
    assert "none of the suites measures power" in capsys.readouterr().err
