"""``iogauge plan``: it says what a review would do and does none of it; and ``review`` asks before it writes much."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
import typer

from iogauge.cli import main
from iogauge.cli.terminal import confirm
from iogauge.report import plan_text
from iogauge.reviews.bounds import LINK_Bps
from iogauge.reviews.estimate import AROUND_S, MOST_AROUND_S, cost_of, cost_of_step
from iogauge.reviews.manifest import new_manifest
from iogauge.schema import Manifest, ModelFacts, StepPlan, SuitePlan
from iogauge.stats.differences.comparison import blocks_needed, blocks_needed_alike, fewest_blocks_alike
from iogauge.store.review import load_manifest
from iogauge.suites import DEFAULT, SUITES, SuiteRequest, suite_of
from iogauge.target import layers
from iogauge.text import numbers
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
    plan = SUITES["mixed"].plan(
        SuiteRequest(targets=(builders.target("/dev/nvme0n1", kind="block"),), pace="quick")
    )
    assert isinstance(plan, SuitePlan)
    # The job's target is known by its size.
    cost = cost_of_step(plan, step, targets=[builders.target("t", size_bytes=3 * 10**9)])
    return cost.expected_s, cost.written_bytes, cost.bounded


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("rw=randread\nruntime=10\ntime_based=1\n", (10, 0, True)),
        ("rw=randrw\nrwmixread=100\nruntime=10\ntime_based=1\n", (10, 0, True)),
        ("rw=write\nrate=1m\nruntime=10\nramp_time=2\ntime_based=1\n", (12, (12 << 20) + 4096, True)),
        ("rw=write\nrate=,1m\nnumjobs=8\nruntime=10\ntime_based=1\n", (10, (80 << 20) + 8 * 4096, True)),
        ("rw=write\nbs=8k\nrate_iops=100\nruntime=10\ntime_based=1\n", (10, 1001 * 8192, True)),
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
    cost = cost_of(manifest("write-pressure"), suite_of)
    assert cost.bounded
    assert cost.following == ()
    assert cost.expected_s == 7 * 60
    # Labels of 100 to 700 MB/s are KiB: 2.4 % more. The first request of a writer is due at once.
    assert cost.written_bytes == sum(range(100, 800, 100)) * 60 * 1_024_000 + 7 * 16 * 4096
    assert cost.written_to("/dev/nvme0n1") == cost.written_bytes
    assert cost.written_to("/dev/other") == 0


def test_what_follows_from_a_search_is_bounded() -> None:
    cost = cost_of(manifest("write-pressure", pace="quick"), suite_of)
    assert (len(cost.steps), cost.fewest, len(cost.most), cost.bounded) == (1, 8, 10, False)
    assert cost.expected_s == 2.5 + 7 * 3.5
    assert cost.longest_s == pytest.approx(2.5 + 9 * 3.5 + 10 * MOST_AROUND_S, rel=0.05)
    assert cost.expected_s < cost.likely_s < cost.longest_s
    assert cost.written_bytes == pytest.approx(LINK_Bps * (2.5 + 8 * 3.5))


def test_rounds_are_bounded_by_those_of_the_specification() -> None:
    cost = cost_of(manifest("pts-throughput"), suite_of)
    # Of two sizes of requests: a fill and 5 to 25 rounds of two minutes.
    assert (cost.fewest, len(cost.most)) == (12, 52)
    assert cost.longest_s - cost.expected_s == pytest.approx(2 * 20 * 120 + 52 * MOST_AROUND_S, rel=0.05)
    prepared = cost_of(manifest("mixed", state="preconditioned", repeats=2), suite_of)
    (first, second) = prepared.following
    assert (first.plan.suite, first.repeat, second.repeat) == ("precondition", 0, 1)
    assert (len(first.least), len(first.most)) == (1, 21)


def test_a_real_target_takes_seconds_around_each_step() -> None:
    facts = ModelFacts(
        drive="p4800x-375g", drive_version=1, machine="m", machine_version=1, machine_title="M", sha256="0"
    )
    likely, longest = [], []
    for target in (builders.target("model:p4800x", modelled=facts), builders.target("/dev/nvme0n1")):
        plan = SUITES["mixed"].plan(SuiteRequest(targets=(target,), pace="quick"))
        cost = cost_of_step(plan, plan.steps[0], targets=[target])
        likely.append(cost.likely_s - cost.expected_s)
        longest.append(cost.longest_s - cost.expected_s)
    assert likely[0] < 0.1 < AROUND_S <= likely[1]
    assert longest[0] < 1 < MOST_AROUND_S <= longest[1]


def test_a_step_may_become_twenty_times_as_long_and_what_is_kept_does_not() -> None:
    once, longer = (
        cost_of(manifest("mixed", pace="standard", until_supported=q, runtime_ns=10**9), suite_of)
        for q in (None, 0.99999)
    )
    assert once.expected_s == longer.expected_s == 11 * 1.5
    assert once.longest_s == pytest.approx(11 * (1.5 + MOST_AROUND_S), rel=0.1)
    assert longer.longest_s == pytest.approx(11 * (1.5 + 0.5 + 20 + 2 * MOST_AROUND_S), rel=0.02)
    assert longer.written_bytes == pytest.approx(once.written_bytes * 22 / 1.5, rel=1e-6)
    rounds = cost_of(manifest("pts-iops", until_supported=0.99999), suite_of)
    assert rounds.longest_s == cost_of(manifest("pts-iops"), suite_of).longest_s


def test_what_nothing_limits_is_bounded_by_the_drive_s_link(capsys: pytest.CaptureFixture[str]) -> None:
    slow = builders.target("/dev/sda", kind="block", size_bytes=10**12, link_Bps=600_000_000)
    made = new_manifest(
        [SUITES["mixed"]], [slow], seed=1, command=(), machine=builders.machine(), ceiling=None
    )
    cost = cost_of(made, suite_of)
    assert cost.written_bytes == 10 * 3.5 * 600_000_000  # one of eleven only reads
    assert "the most that links carry (600.0 MB/s)" in " ".join(plan_text.lines(made, cost))


def test_what_only_a_suite_knows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SUITES["mixed"]), "ahead", lambda *_: None)
    made = manifest("mixed")
    cost = cost_of(made, suite_of)
    assert [plan.suite for plan in cost.unknown] == ["mixed"]
    assert "Mixed reads and writes adds steps that follow from its results" in "\n".join(
        plan_text.lines(made, cost)
    )


def test_repeats_are_counted_in_their_blocks() -> None:
    once, thrice = cost_of(manifest("mixed"), suite_of), cost_of(manifest("mixed", repeats=3), suite_of)
    assert len(thrice.steps) == 3 * len(once.steps)
    assert thrice.expected_s == 3 * once.expected_s
    assert [step.step.repeat for step in thrice.steps] == sorted(step.step.repeat for step in thrice.steps)


def test_every_step_is_listed_and_nothing_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["plan", "drive.bin", "--suite=mixed", "--suite=write-pressure", "--size=1m", "--repeats=2"]
    assert main([*arguments, "-v"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    first = next(place for place, line in enumerate(lines) if line.startswith("Mixed reads and writes on "))
    shares = [f"{share} %" for share in range(100, -1, -10)]
    assert [line.strip().partition("  ")[0] for line in lines[first + 1 : first + 12]] == shares
    assert sum(line.strip().startswith("100 % (repeat 2)") for line in lines) == 1
    assert "written, by usual rates of NVMe flash; at most " in " ".join(out.split())
    assert "7 to 9 further steps (repeat 2)" in out
    assert "2 blocks, each with its steps in another order" in out
    assert "drive.bin: created if it is missing" in " ".join(out.split())
    assert main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    known = sum(step["expected_s"] for step in shown["steps"])
    assert shown["expected_s"] == pytest.approx(
        known + sum(following["expected_s"] for following in shown["following"])
    )
    assert [(following["suite"], following["fewest_steps"]) for following in shown["following"]] == [
        ("write-pressure", 7)
    ] * 2
    # Of a file that is not there yet, the file system is known all the same.
    (target,) = shown["targets"]
    assert (target["kind"], target["size_bytes"], target["filesystem"] is None) == ("file", 1 << 20, False)
    assert list(tmp_path.iterdir()) == []
    assert main([arguments[0], "nowhere/drive.bin", *arguments[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["targets"][0]["filesystem"] is None


def test_several_suites_have_a_row_each_that_adds_up_their_steps(capsys: pytest.CaptureFixture[str]) -> None:
    models = ["model:p4800x", "model:p3700-800g"]
    arguments = ["plan", *models, "--suite=mixed", "--suite=write-pressure", "--repeats=2"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "-v lists every step" in printed.err
    lines = printed.out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [re.split(" {2,}", line.strip()) for line in lines if line.startswith("  model:")]
    assert [row[:2] for row in rows] == [[model, steps] for steps in ("22", "15 to 19") for model in models]
    assert lines.index("Write pressure:") == lines.index("Mixed reads and writes:") + 3
    assert main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    mixed_s = sum(
        step["likely_s"]
        for step in shown["steps"]
        if (step["suite"], step["targets"]) == ("mixed", models[:1])
    )
    assert rows[0][2] == numbers.clock_time(mixed_s)


def test_without_a_target_it_lists_the_suites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--json"]) == 0
    suites = {suite["name"]: suite for suite in json.loads(capsys.readouterr().out)}
    assert set(suites) == set(SUITES)
    assert {name for name, suite in suites.items() if suite["default"]} == set(DEFAULT)
    assert suites["mixed"]["paces"]["full"] == {
        "steps": 11,
        "most_steps": 11,
        "expected_s": 660.0,
        "longest_s": 660.0,
        "search": False,
    }


@pytest.mark.slow
def test_without_a_target_it_lists_the_suites_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    out = capsys.readouterr().out
    assert all(f"{suite.NAME}" in out and suite.TITLE in out for suite in SUITES.values())


@pytest.mark.parametrize(("program", "files"), [("fio", 9), ("diskspd", 2)])
def test_steps_as_another_program_s_files(
    program: str, files: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = {"fio": ["--suite=write-pressure", "--pace=full"], "diskspd": ["--suite=mixed"]}[program]
    out = tmp_path / "jobs"
    arguments = ["plan", f"{tmp_path}/drive.bin", *suite, f"--as={program}", f"--output={out}"]
    assert main(arguments) == 0
    written = capsys.readouterr().out.splitlines()
    assert sorted(written) == sorted(map(str, out.iterdir()))
    assert len(written) == files
    assert all(path.stat().st_size > 100 for path in out.iterdir())


@pytest.mark.parametrize(
    ("target", "program", "lost"),
    [
        ("/dev/elsewhere", "fio", "its content is lost (run.sh asks for --destroy)"),
        ("drive.bin", "fio", "its content is lost (run.sh asks for --destroy if it exists)"),
        ("C:\\t.dat", "diskspd", "its content is lost (run.ps1 asks for -Destroy if it exists)"),
    ],
)
def test_what_a_script_destroys_is_said_when_it_is_written(
    target: str, program: str, lost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"{tmp_path}/{target}" if target == "drive.bin" else target
    arguments = ["plan", path, "--size=1g", f"--as={program}"]
    assert main([*arguments, "--suite=mixed", f"--output={tmp_path}/jobs"]) == 0
    assert f"writes to {path}: {lost}\n" in capsys.readouterr().err
    assert main([*arguments, "--suite=burst-credit", f"--output={tmp_path}/reads"]) == 0
    assert "lost" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "kind", "path"),
    [
        ("C:\\my dir\\t.dat", "file", "C:\\my dir\\t.dat"),
        ("#1", "block", "\\\\.\\PhysicalDrive1"),
        ("\\\\.\\PhysicalDrive2", "block", "\\\\.\\PhysicalDrive2"),
        ("d:", "block", "d:"),
        ("\\\\server\\share\\t.dat", "file", "\\\\server\\share\\t.dat"),
    ],
)
def test_names_of_windows_mean_nothing_here(name: str, kind: str, path: str, tmp_path: Path) -> None:
    out = tmp_path / "jobs"
    arguments = ["plan", name, "--suite=mixed", "--size=1g", "--as=diskspd", f"--output={out}"]
    assert main(arguments) == 0
    made = load_manifest(out / "plan.json")
    assert [(target.path, target.kind, target.size_bytes) for target in made.targets] == [
        (path, kind, 1 << 30)
    ]
    script = (out / "run.ps1").read_text()
    assert f"[string]$Target = '{path}',\n" in script
    assert ("@{ Path = $Target; Bytes = 1073741824 }" in script) == (kind == "file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "--as=fio"), "--as and --output belong together"),
        (("x", "--output=jobs"), "--as and --output belong together"),
        (("--as=fio", "--output=jobs"), "name the TARGET"),
        (("/dev/nothing", "--as=fio", "--output=jobs"), "is not on this machine, so its size is not known"),
        (("C:\\t.dat", "--suite=mixed", "--as=diskspd", "--output=jobs"), "is not on this machine"),
        (("#1", "#1", "--size=1g", "--suite=mixed", "--as=diskspd", "--output=jobs"), "is named twice"),
        (("x", "--suite=pts-write-saturation", "--as=diskspd", "--output=jobs"), "ends only by time"),
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
    said = " ".join(heard.getvalue().split())
    assert said.startswith(
        "7 steps; most likely 7 min 06 s and 170 GB written, by usual rates of NVMe flash; at most "
    )
    question = (
        "this writes about 170 GB, at most 180 GB, to /dev/nvme0n1, and takes about 7 min 06 s; continue?"
    )
    assert question in said


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
    made = device(step("rw=write\nbs=1m\niodepth=8\nloops=2\n"))
    cost = cost_of(made, suite_of)
    assert (cost.expected_s, cost.at_least) == (2000, True)
    assert (cost.written_bytes, cost.bounded) == (6 * 10**12, True)
    shown = "\n".join(plan_text.lines(made, cost))
    # Usual NVMe flash takes 2 GB/s.
    assert "most likely 50 min 01 s and 6.0 TB written" in shown
    assert "at most 6.0 TB; fills and purges have no limit of time" in " ".join(shown.split())
    assert "its content is lost" in shown


def test_what_is_not_bounded_is_unknown() -> None:
    made = device(step("rw=write\nfilename=/dev/other\n"))
    cost = cost_of(made, suite_of)
    assert cost.writes_to("/dev/nvme0n1")
    shown = list(plan_text.lines(made, cost))
    table = shown.index("")
    assert shown[table + 2].split()[-1] == "unknown"
    assert "an unknown amount by jobs that write until their target is full" in " ".join(shown)


@pytest.mark.parametrize(
    ("job", "purge", "lost"),
    [
        ("rw=read\nnumber_ios=1\n", True, "all content is discarded (purge)"),
        ("rw=trim\nruntime=1\ntime_based=1\n", False, "content is discarded (trims)"),
    ],
)
def test_what_only_gives_content_back_is_announced_and_asked_about(
    job: str, lost: str, *, purge: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = device(step(job, purge=purge))
    shown = list(plan_text.lines(made, cost_of(made, suite_of)))
    assert f"/dev/nvme0n1: {lost}" in shown
    assert any("its content is lost" in line for line in shown)
    heard = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", heard)
    with pytest.raises(typer.Exit):
        confirm.before(made)
    assert f"\non /dev/nvme0n1 {lost}, and takes " in heard.getvalue()


def test_a_file_is_asked_about_for_what_is_known_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    endless = manifest("mixed", kind="file")
    assert cost_of(endless, suite_of).written_to("/dev/nvme0n1") > confirm.MUCH_BYTES
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
    arguments = ["plan", "model:p4800x", "--suite=mixed"]
    assert main(arguments) == 0
    assert "to compare" not in capsys.readouterr().out
    assert main([*arguments, "--repeats=3"]) == 0
    out = capsys.readouterr().out
    # 11 steps of five figures each; the blocks are those of stats.comparison.
    assert "to find a difference: 6 blocks at least (planned: 3, by --repeats)" in out
    among = blocks_needed(0.05, 0.03, comparisons=55)
    out = " ".join(out.split())
    assert f"a difference of 5 % in one figure needs {blocks_needed(0.05, 0.03)}; among the 55 figures" in out
    assert f"one of 5 % needs {among} and one of 50 % needs" in out
    alike = blocks_needed_alike(0.03, steps=11, claims=5)
    assert (
        f"to show that a figure is alike, within 5 % at all 11 steps of a series: {fewest_blocks_alike(5)} blocks at "
        "least, among the 5 such claims of that suite; if runs vary by 3 % and nothing differs, it needs "
        f"{alike}"
    ) in out
    assert main([*arguments, "model:p3700"]) == 0
    assert "(planned: 1, by --repeats)" in capsys.readouterr().out
