"""``iogauge plan``: it says what a review would do and does none of it; and ``review`` asks before it writes much."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import typer

from iogauge.cli import confirm, main, plan
from iogauge.schema import Manifest, StepPlan, SuitePlan
from iogauge.stats.comparison import blocks_needed
from iogauge.suites import DEFAULT, SUITES, Asked
from iogauge.suites.begin import new_manifest
from iogauge.suites.estimate import LINK_Bps, cost_of, cost_of_step
from iogauge.target import layers
from tests import builders


def manifest(suite: str, *, kind: str = "block", **more: object) -> Manifest:
    target = builders.target("/dev/nvme0n1", kind=kind, size_bytes=10**12)
    return new_manifest(
        [SUITES[suite]],
        [target],
        seed=1,
        command=(),
        machine=builders.manifest([]).machine,
        ceiling=None,
        **{"pace": "full", **more},
    )


def cost(job: str) -> tuple[float, int, bool]:
    """Time, bytes and whether they are bounded, of one job file."""
    step = StepPlan(id="x", at=0, job_file=f"[w]\nfilename=t\n{job}", seed=0, state_group="x")
    plan = SUITES["mixed"].plan(Asked(targets=(builders.target("/dev/nvme0n1", kind="block"),), pace="quick"))
    assert isinstance(plan, SuitePlan)
    # The job's target is known by its size.
    found = cost_of_step(plan, step, targets=[builders.target("t", size_bytes=3 * 10**9)])
    return found.expected_s, found.written_bytes, found.bounded


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("rw=randread\nruntime=10\ntime_based=1\n", (10, 0, True)),
        ("rw=randrw\nrwmixread=100\nruntime=10\ntime_based=1\n", (10, 0, True)),
        ("rw=write\nrate=1m\nruntime=10\nramp_time=2\ntime_based=1\n", (12, 12 << 20, True)),
        ("rw=write\nrate=,1m\nnumjobs=8\nruntime=10\ntime_based=1\n", (10, 80 << 20, True)),
        ("rw=write\nbs=8k\nrate_iops=100\nruntime=10\ntime_based=1\n", (10, 100 * 8192 * 10, True)),
        ("rw=write\nbs=4k\nnumber_ios=10\nruntime=10\ntime_based=1\n", (10, 40960, True)),
        ("rw=write\nsize=1g\nruntime=600\n", (600, 1 << 30, True)),
        ("rw=write\nsize=1g\nruntime=10\ntime_based=1\n", (10, round(10 * LINK_Bps), False)),
        ("rw=write\nsize=1g\nloops=3\n", (3 * 2**30 / 3e9, 3 << 30, True)),
        ("rw=write\nloops=2\n", (2, 6 * 10**9, True)),
        ("rw=write\nsize=50%\nloops=2\nnumjobs=4\n", (4, 12 * 10**9, True)),
        ("rw=write\nio_size=30g\nloops=2\n", (30 * 2**30 / 3e9, 30 << 30, True)),
        ("rw=read\n", (1, 0, True)),
        ("rw=write\nfilename=other\n", (0, 0, False)),
        ("rw=write\n[other]\nrw=write\nfilename=other\n", (1, 0, False)),
    ],
)
def test_what_a_job_writes_at_most(job: str, expected: tuple[float, int, bool]) -> None:
    assert cost(job) == expected


def test_the_published_steps_write_what_their_rates_say() -> None:
    found = cost_of(manifest("write-pressure"))
    assert found.bounded
    assert found.searches == 0
    assert found.expected_s == 7 * 60
    # Labels of 100 to 700 MB/s are KiB: 2.4 % more.
    assert found.written_bytes == sum(range(100, 800, 100)) * 60 * 1_024_000
    assert found.written_to("/dev/nvme0n1") == found.written_bytes
    assert found.written_to("/dev/other") == 0


def test_a_search_stands_for_what_is_not_known() -> None:
    found = cost_of(manifest("write-pressure", pace="quick"))
    assert (len(found.steps), found.searches, found.bounded) == (1, 1, False)


def test_repeats_are_counted_in_their_blocks() -> None:
    once, thrice = cost_of(manifest("mixed")), cost_of(manifest("mixed", repeats=3))
    assert len(thrice.steps) == 3 * len(once.steps)
    assert thrice.expected_s == 3 * once.expected_s
    assert [step.step.repeat for step in thrice.steps] == sorted(step.step.repeat for step in thrice.steps)


def test_every_step_is_listed_and_nothing_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["plan", "drive.bin", "--suite=mixed", "--suite=write-pressure", "--size=1m", "--repeats=2"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.count("Mixed reads and writes on ") == 22
    assert "unknown, up to " in out
    assert "follow from a search" in out
    assert "2 blocks, each in an order of its own" in out
    assert "drive.bin: a file, made where it is missing" in out
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["expected_s"] == pytest.approx(sum(step["expected_s"] for step in found["steps"]))
    assert found["searches"] == 1
    assert list(tmp_path.iterdir()) == []


def test_without_a_target_it_lists_the_suites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(found) == set(SUITES)
    assert {name for name, each in found.items() if each["default"]} == set(DEFAULT)
    assert found["mixed"]["paces"]["full"] == {"steps": 11, "expected_s": 665.5, "search": False}
    assert main(["plan"]) == 0
    out = capsys.readouterr().out
    assert all(f"{suite.NAME}" in out and suite.TITLE in out for suite in SUITES.values())


@pytest.mark.parametrize(("program", "files"), [("fio", 8), ("diskspd", 1)])
def test_steps_as_another_program_s_files(
    program: str, files: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = {"fio": ["--suite=write-pressure", "--pace=full"], "diskspd": ["--suite=mixed"]}[program]
    out = tmp_path / "jobs"
    asked = ["plan", f"{tmp_path}/drive.bin", *suite, f"--as={program}", f"--output={out}"]
    assert main(asked) == 0
    written = capsys.readouterr().out.splitlines()
    assert sorted(written) == sorted(map(str, out.iterdir()))
    assert len(written) == files
    assert all(path.stat().st_size > 100 for path in out.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "--as=fio"), "--as and --output belong together"),
        (("x", "--output=jobs"), "--as and --output belong together"),
        (("--as=fio", "--output=jobs"), "name the TARGET"),
        (("x", "--suite=write-pressure", "--as=fio", "--output=jobs"), "its steps follow from a search"),
        (("model:p4800x", "--suite=mixed", "--as=fio", "--output=jobs"), "drives a model"),
        (("x", "--suite=none"), "there is no suite 'none'"),
        (("--suite=mixed",), "name a TARGET"),
        (("/dev/null",), "it is a character device"),
    ],
)
def test_what_cannot_be_planned(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[0]
    assert err.splitlines()[1].startswith("hint: ")
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("answer", "goes_on"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_a_device_is_asked_about_on_a_terminal(
    answer: str, *, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", heard)
    if goes_on:
        confirm.before(manifest("write-pressure"))
    else:
        with pytest.raises(typer.Exit):
            confirm.before(manifest("write-pressure"))
    assert heard.getvalue().startswith(
        "this writes up to 172.0 GB to /dev/nvme0n1, and takes 7 min 00 s at least; go on?"
    )


def test_nobody_is_asked_about_little_or_nothing_or_in_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    confirm.before(manifest("write-pressure", kind="file", runtime_ns=10**9))
    confirm.before(manifest("write-pressure", kind="model"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    confirm.before(manifest("write-pressure"))


def device(*steps: StepPlan) -> Manifest:
    """A review of a device of 3 TB, of these steps alone."""
    made = manifest("mixed")
    (plan,) = made.plans
    targets = (builders.target("/dev/nvme0n1", kind="block", size_bytes=3 * 10**12),)
    return made.model_copy(update={"plans": (plan.model_copy(update={"steps": steps}),), "targets": targets})


def step(job: str, *, purge: bool = False) -> StepPlan:
    text = f"[w]\nfilename=/dev/nvme0n1\n{job}"
    return StepPlan(id="x", at=0, job_file=text, seed=0, state_group="x", purge=purge)


def test_a_fill_takes_its_time_and_is_as_large_as_its_target() -> None:
    made = device(step("rw=write\nloops=2\n"))
    found = cost_of(made)
    assert (found.expected_s, found.at_least) == (2000, True)
    assert (found.written_bytes, found.bounded) == (6 * 10**12, True)
    shown = "\n".join(plan._lines(made, found))
    assert "at least 33 min 20 s" in shown
    assert "writes at most 6.000 TB" in shown
    assert "its content is lost" in shown


def test_what_is_not_bounded_is_unknown() -> None:
    made = device(step("rw=write\n")).model_copy(update={"targets": (builders.target("/dev/sda"),)})
    found = cost_of(made)
    assert found.writes_to("/dev/nvme0n1")
    shown = list(plan._lines(made, found))
    assert shown[1].split()[-1] == "unknown"
    assert "and an unknown amount where" in "\n".join(shown)


@pytest.mark.parametrize(
    ("job", "purge", "lost"),
    [
        ("rw=read\nnumber_ios=1\n", True, "all content is given back (purge)"),
        ("rw=trim\nruntime=1\ntime_based=1\n", False, "content is given back (trims)"),
    ],
)
def test_what_only_gives_content_back_is_announced_and_asked_about(
    job: str, lost: str, *, purge: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = device(step(job, purge=purge))
    shown = list(plan._lines(made, cost_of(made)))
    assert f"/dev/nvme0n1: {lost}" in shown
    assert any("its content is lost" in line for line in shown)
    heard = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", heard)
    with pytest.raises(typer.Exit):
        confirm.before(made)
    assert heard.getvalue().startswith(f"on /dev/nvme0n1 {lost}, and takes ")


def test_a_file_is_asked_about_for_what_is_known_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    endless = manifest("mixed", kind="file")
    assert cost_of(endless).written_to("/dev/nvme0n1") > confirm.MUCH_BYTES
    confirm.before(endless)
    with pytest.raises(typer.Exit):
        confirm.before(manifest("write-pressure", kind="file"))


def test_planning_sets_no_layer_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a layer is set up")

    monkeypatch.setattr(layers, "standing", never)
    assert main(["plan", f"{tmp_path}/drive.bin", "--suite=stack-overhead"]) == 0
    out = capsys.readouterr().out
    assert "a device in memory" in out
    assert "left out" not in out


def test_every_figure_of_a_step_counts_where_something_can_be_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["plan", "model:p4800x", "--suite=mixed"]
    assert main(asked) == 0
    assert "to compare" not in capsys.readouterr().out
    assert main([*asked, "--repeats=3"]) == 0
    out = capsys.readouterr().out
    # 11 steps of five figures each; the blocks are those of stats.comparison.
    assert "to compare: 3 blocks asked for (--repeats); 6 are the fewest that can find a difference" in out
    among = blocks_needed(0.05, 0.03, comparisons=55)
    assert f"one of 5 % takes {blocks_needed(0.05, 0.03)} by itself, and {among} among the 55 figures" in out
    assert main([*asked, "model:p3700"]) == 0
    assert "to compare: 1 block asked for" in capsys.readouterr().out
