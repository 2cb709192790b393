"""The state in which a drive model's flash begins: asked for by --state, obeyed by every run, and said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge import catalog
from iogauge.calibrate.assess import shipped
from iogauge.catalog.state import INITIAL, MEANING, begun_as
from iogauge.cli import main
from iogauge.cli.terminal.review_options import State as Choice
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import Manifest, State
from iogauge.store import Review
from iogauge.target import open_target

DEEP = "[load]\nfilename={drive}\nrw=randwrite\nbs=4k\nioengine=libaio\niodepth=32\nnorandommap\nnumber_ios=20000\n"


def reviewed(path: Path, *options: str) -> tuple[Manifest, float]:
    """What a review of deep random writes says of itself, and the rate that it measured."""
    plan = path.with_suffix(".toml")
    plan.write_text(
        'name = "deep"\n[[step]]\nat = 1\noptions = { rw = "randwrite", bs = "4k", iodepth = 32 }\n'
    )
    command = [
        "review",
        "model:p3700",
        f"--plan={plan}",
        "--runtime=200ms",
        "--seed=1",
        f"--output={path}",
        "-v",
    ]
    assert main([*command, *options]) == 0
    review = Review.open(path)
    (step,) = [step for step in review.manifest.steps if step.judged]
    record = review.record(step.id)
    assert record.targets == review.manifest.targets
    (row,) = record.result.rows
    return review.manifest, row.tallies["write"].ios  # type: ignore[index]


def test_each_state_is_another_drive_and_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done: dict[str, float] = {}
    for state in Choice:
        manifest, done[state] = reviewed(tmp_path / state, f"--state={state}")
        (target,) = manifest.targets
        assert target.modelled
        # The file of this drive says initial = "random".
        expected = "preconditioned" if state is Choice.AS_IS else state.value
        assert target.modelled.begun_as == expected
        said = f"begins every run {expected}: {MEANING[expected]}"  # type: ignore[index]
        assert said in " ".join(capsys.readouterr().out.split())
        assert any(f"starts {expected}" in note for plan in manifest.plans for note in plan.notes)
    assert done["as-is"] == done["preconditioned"] < done["filled"] <= done["fresh"]


def test_a_review_goes_on_in_its_state_and_a_report_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r"
    manifest, _ = reviewed(path, "--state=filled")
    (step,) = [step for step in manifest.steps if step.judged]
    Review.open(path).discard(step.id)
    assert main(["review", "--resume", str(path)]) == 0
    (target,) = Review.open(path).record(step.id).targets
    assert target.modelled
    assert target.modelled.begun_as == "filled"
    assert main(["report", str(path), f"--output={tmp_path}/report.html"]) == 0
    assert f"filled: {MEANING['filled']}" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("drive", ["p4800x", "disk-7200", "ram"])
def test_what_has_no_such_state_is_as_it_was(drive: str) -> None:
    for state in ("fresh", "filled", "preconditioned"):
        with open_target(f"model:{drive}", write=True, state=state) as in_state:  # type: ignore[arg-type]
            with open_target(f"model:{drive}", write=True) as as_is:
                assert in_state.facts == as_is.facts
            assert in_state.facts.modelled
            assert in_state.facts.modelled.begun_as is None


def test_every_flash_drive_says_what_it_begins_in() -> None:
    drives = {name: catalog.drive(name).parameters for name in catalog.shipped("drive")}
    flash = {name for name, parameters in drives.items() if parameters["media"]["family"] == "nand"}
    assert {name for name, parameters in drives.items() if begun_as(parameters)} == flash
    assert all(drives[name]["media"]["initial"] in INITIAL.values() for name in flash)


def test_comparing_with_what_was_published_takes_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    with Interrupts() as interrupts:
        trial = shipped(interrupts)
        rates: dict[State, float] = {}
        for state in Choice:
            other = type(trial)(
                drives=trial.drives, machines=trial.machines, interrupts=interrupts, state=state.value
            )
            # What a load would have holds as it is; any other state holds for all loads.
            rates[state.value] = other.seen(DEEP, "p3700-800g", "ideal", state="fresh").iops
            assert trial.seen(DEEP, "p3700-800g", "ideal", state=state.value).iops > 0
    assert rates["as-is"] == rates["fresh"] > rates["preconditioned"]
    assert main(["model", "compare", "--state=sequential"]) == 2
    assert "preconditioned" in capsys.readouterr().err


def test_facts_of_older_reviews_lack_it() -> None:
    with open_target("model:p3700", write=False) as target:
        assert target.facts.modelled
        older = json.loads(target.facts.modelled.model_dump_json())
    del older["begun_as"]
    assert type(target.facts.modelled).model_validate(older).begun_as is None
