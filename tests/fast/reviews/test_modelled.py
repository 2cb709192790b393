"""Reviews of drive models: a seed repeats them, a kill loses nothing, and another model cannot resume them."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge import catalog
from iogauge.cli import main
from iogauge.report.page.render import Report
from iogauge.store import Review


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(output: str, *more: str, target: str = "model:p4800x", seed: int = 7) -> list[str]:
    """The command for a quick review."""
    return [
        "review",
        target,
        "--suite=write-pressure",
        "--runtime=30ms",
        f"--output={output}",
        f"--seed={seed}",
        *more,
    ]


def figures(review: str) -> dict[str, bytes]:
    """Return a review's Parquet files by name."""
    files = {str(path.relative_to(review)): path.read_bytes() for path in Path(review).rglob("*.parquet")}
    assert len(files) > 10
    return files


def test_equal_seeds_give_equal_reviews() -> None:
    for output, seed in (("one", 7), ("same", 7), ("other", 8)):
        assert main(arguments(output, seed=seed)) == 0
    assert figures("one") == figures("same")
    assert figures("one") != figures("other")


def test_a_review_names_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments("saved"), "-v"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Write pressure (quick): model:p4800x, 9 of 9 steps\n")
    assert "note: A drive model in virtual time, not a drive: p4800x-375g behind AnandTech's Linux.\n" in out
    assert "the generator alone" not in out
    assert "saved: seed 7\n" in err
    manifest = Review.open(Path("saved")).manifest
    assert manifest.targets[0].modelled is not None
    assert manifest.targets[0].modelled.sha256 == catalog.digest(
        *(model.parameters for model in catalog.pair("model:p4800x"))
    )
    assert manifest.ceiling is None


def test_the_default_output_is_named_after_the_model(folder: Path) -> None:
    assert main([part for part in arguments("x") if not part.startswith("--output")]) == 0
    (directory,) = folder.iterdir()
    assert directory.name.startswith("iogauge-p4800x-375g-")


KILLED_AFTER_FOUR_RUNS = """
import glob, os, signal, sys
from iogauge.cli import main
from iogauge.store.review import StepWriter

interval = StepWriter.interval

def last(self, *arguments):
    interval(self, *arguments)
    if len(glob.glob("killed/steps/*/SHA256SUMS")) == 4:
        os.kill(os.getpid(), signal.SIGKILL)

StepWriter.interval = last
main(sys.argv[1:])
"""


def test_a_killed_review_is_resumed_to_the_byte() -> None:
    assert main(arguments("complete")) == 0
    command = [sys.executable, "-c", KILLED_AFTER_FOUR_RUNS, *arguments("killed")]
    assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    killed = Review.open(Path("killed"))
    assert 0 < len(killed.completed()) < len(killed.manifest.steps)
    assert main(["review", "--resume", "killed"]) == 0
    assert figures("killed") == figures("complete")


def test_steps_are_made_longer_until_a_quantile_is_supported(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["review", "model:p4800x", "--suite=mixed", "--runtime=20ms", "--seed=7", "--output=plain"]) == 0
    )
    options = ["--suite=mixed", "--runtime=20ms", "--seed=7", "--until-supported=0.9999"]
    assert main(["review", "model:p4800x", *options, "--output=longer"]) == 0
    plain, longer = Review.open(Path("plain")), Review.open(Path("longer"))
    for short, step in zip(plain.manifest.steps, longer.manifest.steps, strict=True):
        (before,), (after,) = (review.record(short.id).result.rows for review in (plain, longer))
        ios = [sum(tally.ios for tally in row.tallies.values()) for row in (before, after)]
        assert ios[0] < 100_000 <= ios[1] < 2 * 100_000
        assert step.longer == math.ceil(1.1 * 100_000 / ios[0])
    # A quantile that cannot be reached is marked, and its steps are at most 20 times as long.
    far = [*options[:-1], "--until-supported=0.99999999", "--output=far", "-v"]
    assert main(["review", "model:p4800x", *far]) == 0
    assert {step.longer for step in Review.open(Path("far")).manifest.steps} == {20}
    said = capsys.readouterr().err
    assert said.count("it ran 20 times as long, which is the limit") == 11 + 1  # the warning, once for all
    assert main(["review", "--resume", "far"]) == 0  # and no step once more
    assert {step.longer for step in Review.open(Path("far")).manifest.steps} == {20}


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start a process of the command line without output."""
    command = [sys.executable, "-m", "iogauge", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def completed() -> int:
    """Return how many steps of the killed review are complete."""
    return len(list(Path("killed").glob("steps/*/SHA256SUMS")))


@pytest.mark.slow
def test_the_default_set_killed_twenty_times_comes_to_the_same_bytes() -> None:
    command = ["review", "model:p4800x", "--runtime=20ms", "--repeats=2", "--seed=7"]
    assert main([*command, "--output=complete"]) == 0
    begun, chance = Path("killed/manifest.json"), random.Random(7)
    for _ in range(20):
        arguments = ["review", "--resume", "killed"] if begun.exists() else [*command, "--output=killed"]
        # Every third before it can have completed anything; the others after so few steps that none is the last.
        further = completed() + chance.randrange(5) if chance.random() < 0.7 else None
        with started(arguments) as process:
            if further is None:
                time.sleep(chance.uniform(0.1, 1))
            while further is not None and completed() < further and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.05))
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
    assert completed() > 20
    assert main(["review", "--resume", "killed"]) == 0
    assert figures("killed") == figures("complete")


def half_done(output: str, target: str) -> None:
    """Make a review without its last steps."""
    assert main(arguments(output, target=target)) == 0
    review = Review.open(Path(output))
    with review.lock():
        for step in review.manifest.steps[4:]:
            review.discard(step.id)


def test_a_review_is_resumed_from_another_directory() -> None:
    Path("mine.toml").write_text(catalog.to_toml(catalog.drive("p4800x")))
    half_done("saved", "model:./mine.toml")
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    assert main(["review", "--resume", "../saved"]) == 0


@pytest.mark.parametrize("changed", ["drive.toml", "machine.toml"])
def test_a_model_with_other_parameters_cannot_resume_a_review(
    changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("drive.toml").write_text(catalog.to_toml(catalog.drive("p4800x")))
    Path("machine.toml").write_text(catalog.to_toml(catalog.machine("anandtech-linux")))
    half_done("saved", "model:./drive.toml@./machine.toml")
    file = Path(changed)
    text = file.read_text()
    (line,) = re.findall(r"^(?:read_media_ns|wake_ns) = \{ value = \d+", text, re.MULTILINE)
    file.write_text(text.replace(line, f"{line}0"))
    capsys.readouterr()
    assert main(["review", "--resume", "saved"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert "this review began on another target: parameters " in error
    assert hint == "hint: restore the first target, or begin a new review"


def test_a_model_with_other_notes_resumes_a_review() -> None:
    path = Path("mine.toml")
    path.write_text(catalog.to_toml(catalog.drive("p4800x")))
    half_done("saved", "model:./mine.toml")
    model = catalog.read(path)
    path.write_text("# a comment\n" + catalog.to_toml(replace(model, notes="Other words.", version=2)))
    assert main(["review", "--resume", "saved"]) == 0


@pytest.mark.parametrize(("condition", "code"), [("read.p50 > 1us", 3), ("read.p50 > 1s", 0)])
def test_a_condition_chooses_the_exit_status(condition: str, code: int) -> None:
    assert main(arguments("saved", "--fail-if", condition)) == code


def test_a_report_tells_one_model_behind_two_machines_apart() -> None:
    assert main(arguments("one", target="model:p4800x@linux-stock")) == 0
    assert main(arguments("two", target="model:p4800x@ideal")) == 0
    labels = [drive.label for drive in Report.of([Path("one"), Path("two")]).drives]
    assert labels == [
        "P4800X 375 GB, model behind linux-stock",
        "P4800X 375 GB, model behind ideal",
    ]


def test_a_report_names_the_model_and_has_no_figures_of_the_kernel() -> None:
    assert main(arguments("saved")) == 0
    assert main(["report", "saved"]) == 0
    page = Path("saved/report.html").read_text()
    for words in (
        "drive model, in virtual time",
        "Simulated on",
        "no clock was read",
        "Intel Optane SSD DC P4800X",
    ):
        assert words in page
    assert "Device,<br>mean" not in page
    assert "by the kernel's own count" not in page
