"""A review carried to fio or DiskSpd and back: its steps are its own again, with the figures that those had."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.offline import PLAN, SCRIPTS, Program, export_steps, import_results, reasons
from iogauge.reviews.ordering import order
from iogauge.schema import Direction, Pace
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.store import Review
from iogauge.store.review import load_manifest
from iogauge.suites import SUITES, suite_of
from iogauge.workload.diskspd.arguments import Command
from tests import builders
from tests.carried import run_as_diskspd, run_as_fio, runs_of
from tests.reviews import concluded
from tests.suite_runs import cut_down

MODEL = "model:p4800x"
TARGETS = {"file": "/tmp/drive{}.bin", "block": "/dev/nvme{}n1"}
CANNOT = {
    "commit-latency": r"fdatasync=1 has no counterpart",
    "stack-overhead": r"ioengine=null: DiskSpd needs a target",
    "pts-composite": r"bssplit=\S+ has no counterpart",
    "pts-write-saturation": r"DiskSpd ends only by time",
}
"""What DiskSpd has no words for, of everything that suites ask for."""
FILLS = r"ends with its bytes, .* over a known size"
"""Nor for filling a drive that is used whole, and whose size no job gives."""


@pytest.mark.parametrize("kind", ["file", "block"])
@pytest.mark.parametrize("pace", ["quick", "full"])
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("program", SCRIPTS)
def test_every_suite_is_carried_but_for_what_has_no_words(
    program: Program, suite: str, pace: Pace, kind: str, tmp_path: Path
) -> None:
    count = SUITES[suite].FEWEST_TARGETS
    targets = [
        builders.target(TARGETS[kind].format(n), kind=kind, size_bytes=10**12, model="Flash 9000")
        for n in range(count)
    ]
    made = new_manifest(
        [SUITES[suite]],
        targets,
        seed=1,
        command=(),
        machine=builders.manifest([]).machine,
        ceiling=None,
        pace=pace,
    )
    steps = [step for plan in made.plans for step in (*plan.steps, *([plan.search] if plan.search else []))]
    allowed = [CANNOT[suite]] if suite in CANNOT else []
    allowed += [FILLS] if kind == "block" and suite.startswith("pts-") and pace == "full" else []
    nothing = suite == "pts-write-saturation" or (suite == "pts-composite" and len(allowed) == 2)
    if program == "diskspd" and nothing:
        with pytest.raises(IogaugeError, match="|".join(allowed)):
            export_steps(tmp_path / "jobs", made, program, suite_of)
        return
    written, held = export_steps(tmp_path / "jobs", made, program, suite_of)
    assert held == 0
    if program == "fio":
        assert written.impossible == {}
        assert set(written.files) == {"run.sh", *(f"{step.id}.fio" for step in steps)}
    for reason, hint, _ in reasons(written.impossible):
        assert any(re.search(each, reason) for each in allowed), reason
        assert hint
    if program == "diskspd" and suite in CANNOT:
        assert written.impossible
    kept = load_manifest(tmp_path / "jobs" / PLAN)
    assert kept.plans == made.plans
    assert {target.model for target in kept.targets} == {None}, (
        "what this machine has there is not the other's"
    )
    assert kept.machine.hostname == "not known"


def carried(directory: Path, saved: Path, *, intervals: bool) -> int:
    """Run and import until nothing follows; return how often that took."""
    for turn in range(1, 12):
        run_as_fio(directory, "/tmp/carried.bin", MODEL, intervals=intervals)
        if not import_results(directory, saved, suite_of).missing:
            return turn
    raise AssertionError("it goes on and on")


def figures(review: Review) -> dict[tuple[str, str, float], StepFigures]:
    return {
        (plan.suite, step.id, step.at): step_figures(
            review.record(step.id),
            review.intervals(step.id),
            measured_job=plan.measured_job,
            load_jobs=plan.load_jobs,
            kind=plan.kind,
            direction=step.direction,
        )
        for plan in review.manifest.plans
        for step in plan.steps
        if step.judged
    }


@pytest.mark.parametrize(
    "suite", ["write-pressure", pytest.param("reader-under-writers", marks=pytest.mark.slow)]
)
def test_a_carried_review_is_what_a_native_one_of_the_same_requests_is(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    same = [f"--suite={suite}", "--size=64m", "--runtime=150ms", "--seed=7"]
    jobs, saved, native = (tmp_path / name for name in ("jobs", "saved", "native"))
    assert main(["plan", "/tmp/carried.bin", *same, "--as=fio", f"--output={jobs}"]) == 0
    assert "further steps follow from its result" in capsys.readouterr().err
    assert carried(jobs, saved, intervals=True) >= 2
    assert main(["review", MODEL, *same, f"--output={native}"]) == 0
    theirs, ours = figures(Review.open(saved)), figures(Review.open(native))
    assert list(theirs) == list(ours)
    assert len(ours) > 5
    for place, expected in ours.items():
        found = theirs[place]
        assert found.ios == expected.ios
        assert found.iops == pytest.approx(expected.iops, rel=0.01)
        assert found.pressure_Bps == pytest.approx(expected.pressure_Bps, rel=0.01)
        assert [moment.ios for moment in found.moments] == [moment.ios for moment in expected.moments]
        pairs = [
            (found.mean, expected.mean),
            *((found.quantile(q), expected.quantile(q)) for q in (0.5, 0.99)),
        ]
        for mine, known in pairs:
            assert mine is not None
            assert known is not None
            assert mine.value == pytest.approx(known.value, rel=0.01)
            assert mine.long_enough == known.long_enough
            for bound, of_native in ((mine.low, known.low), (mine.high, known.high)):
                assert bound == (None if of_native is None else pytest.approx(of_native, rel=0.02))
            assert mine.supported == known.supported
            assert mine.dependence == known.dependence
    assert main(["compare", str(native), str(saved)]) == 0
    assert main(["compare", "published", str(saved)]) in (0, 1)


@pytest.mark.parametrize(
    ("suite", "turns"),
    [
        pytest.param("tenants", 3, marks=pytest.mark.slow),
        ("pts-iops", 1),
        ("commit-latency", 1),
        ("mixed", 1),
    ],
)
def test_searches_rounds_stages_syncs_and_mixes_come_back(
    suite: str,
    turns: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    same = ["--size=16m", "--runtime=60ms", "--seed=1", *(["--repeats=2"] if suite == "mixed" else [])]
    asked = ["plan", "/tmp/carried.bin", f"--suite={suite}", *same]
    assert main([*asked, "--as=fio", f"--output={jobs}"]) == 0
    assert carried(jobs, saved, intervals=False) >= turns
    capsys.readouterr()
    assert main(["show", str(saved)]) == 0
    out = capsys.readouterr().out
    assert "missing" not in out
    assert "not by iogauge: the machine, the drive behind the path and its state are not known." in out
    if suite == "pts-iops":
        assert "steady in round" in out
        assert "IOPS, mean of rounds 1 to 5" in out
    if suite == "commit-latency":
        review = Review.open(saved)
        (plan,) = review.manifest.plans
        synced = [step for step in plan.steps if step.direction is Direction.SYNC]
        assert synced
        for step in synced:
            found = step_figures(
                review.record(step.id),
                (),
                measured_job=plan.measured_job,
                load_jobs=None,
                direction=Direction.SYNC,
            )
            assert found.ios > 0
            assert found.mean is not None


@pytest.mark.slow
def test_rounds_that_are_not_steady_follow_one_by_one(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = ["plan", "C:\\drive.bin", "--suite=pts-iops", "--size=16m", "--runtime=1", "--seed=1"]
    assert main([*asked, "--as=diskspd", f"--output={jobs}"]) == 0
    # A drive that is slower by a thirtieth each time it is asked: by a quarter from round to round.
    rates = (100_000 * 0.97**turn for turn in itertools.count())
    rounds = []
    for _ in range(5):
        run_as_diskspd(jobs, iops=lambda _: next(rates))
        brought = import_results(jobs, saved, suite_of)
        rounds.append([step.label for step in brought.review.manifest.steps if step.judged])
        assert len(brought.missing) == (len(rounds) < 4)
        if not brought.missing:
            break
    assert [len(each) for each in rounds] == [6, 7, 8, 8]
    assert rounds[-1][-1] == "round 8"
    assert all(brought.review.has(step.id) for step in brought.review.manifest.steps)


def asked_iops(command: Command) -> float:
    """A drive that takes what is asked for, and 20,000 a thread where nothing limits it."""
    limit = command.rate_iops or command.rate_Bpms * 1000 / command.block_bytes
    return (limit or 20_000) * command.threads


def test_diskspds_figures_are_judged_without_intervals_and_nothing_is_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = ["plan", "C:\\drive.bin", "--suite=write-pressure", "--size=1g", "--runtime=2", "--seed=1"]
    assert main([*asked, "--as=diskspd", f"--output={jobs}"]) == 0
    assert run_as_diskspd(jobs, iops=asked_iops) == [
        "write-pressure.search+1.xml",
        "write-pressure.search+2.xml",
    ]
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{saved}\n"
    assert f"1 step imported; 9 steps to run: run {jobs}/run.ps1, then: iogauge import {jobs}" in err
    assert len(run_as_diskspd(jobs, iops=asked_iops)) == 17, "the step without writers is one process"
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    assert "10 steps imported; none is missing" in capsys.readouterr().err
    review = Review.open(saved)
    (plan,) = review.manifest.plans
    assert any("Measured by diskspd (2.2.0), not by iogauge" in note for note in plan.notes)
    assert review.manifest.versions["diskspd"] == "2.2.0"
    for (_, _, at), found in figures(review).items():
        assert (found.ios, found.iops) == (40_000, 20_000)
        assert found.pressure_Bps == pytest.approx(at * 10**6, rel=0.001)
        assert found.mean is not None
        assert found.mean.value == pytest.approx(5e6)
        tail = found.quantile(0.99)
        assert tail is not None
        assert tail.value == pytest.approx(9.9e6)
        assert (tail.low, tail.high, tail.dependence, tail.supported) == (None, None, False, True)
        deep = found.quantile(0.9999)
        assert deep is not None
        assert not deep.supported
        assert found.histogram.count == 0
        assert {moment.ios for moment in found.moments} == {2_000}
        assert {(moment.p50_ns, moment.max_ns) for moment in found.moments} == {(None, None)}
    again = tmp_path / "again"
    assert main(["import", str(jobs), f"--output={again}"]) == 0
    for command in (["show"], ["report"], ["query", "select * from figures"], ["compare", str(again)]):
        assert main([*command, str(saved)]) == 0
    page = (saved / "report.html").read_text()
    assert "Latencies were reported without samples: they have no intervals." in page
    assert "unknown: diskspd ran the steps" in page
    assert "nothing completed" not in re.sub(r"(?s)<script.*?</script>", "", page).replace(
        "Red: nothing completed", ""
    )
    capsys.readouterr()
    first = review.manifest.steps[0].id
    assert main(["show", str(saved), "--step", first]) == 0
    out = capsys.readouterr().out
    assert "mean 5.000 ms, p50 5.000 ms" in out
    assert "reported without samples" in out
    assert " 0 ns" not in out, "what was not told is no zero"
    asked = ["query", "select mean_ns, mean_low_ns, supported from figures", str(saved), "--json"]
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"mean_ns": 5e6, "mean_low_ns": None, "supported": 0.999}
    assert main(["export", str(saved), f"--csv={tmp_path}/csv"]) == 0
    assert (tmp_path / "csv" / "write-pressure.csv").is_file()


def test_reads_and_writes_together_are_what_diskspd_says_of_both(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = ["plan", "\\\\.\\PhysicalDrive1", "--suite=mixed", "--size=1g", "--runtime=1", "--seed=1"]
    assert main([*asked, "--as=diskspd", f"--output={jobs}"]) == 0
    run_as_diskspd(jobs, iops=asked_iops)
    assert import_results(jobs, saved, suite_of).missing == ()
    review = Review.open(saved)
    assert review.manifest.targets[0].kind == "block"
    for found in figures(review).values():
        assert found.quantile(0.5) is not None
        assert found.quantile(0.5).value == pytest.approx(5e6)


def test_repeats_that_were_told_have_a_mean_together_and_no_quantile(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = [
        "plan",
        "C:\\drive.bin",
        "--suite=mixed",
        "--suite=queue-depth",
        "--size=1g",
        "--runtime=1",
        "--repeats=2",
    ]
    assert main([*asked, "--as=diskspd", f"--output={jobs}"]) == 0
    named = [name.removesuffix(".xml") for name, _ in runs_of((jobs / "run.ps1").read_text())]
    made = load_manifest(jobs / PLAN)
    assert named == [step.id for repeat, plan in order(made) for step in plan.steps if step.repeat == repeat]
    latencies = iter([0.1, 0.3] * len(named))
    run_as_diskspd(jobs, iops=asked_iops, latency_ms=lambda command: next(latencies))
    review = import_results(jobs, saved, suite_of).review
    for step in concluded(review):
        first, second = (run.figures.mean.value for run in step.runs if run.figures.mean is not None)
        assert step.figures.mean is not None
        assert step.figures.mean.value == pytest.approx((first + second) / 2)
        assert step.figures.quantile(0.99) is None
        assert all(run.figures.quantile(0.99) is not None for run in step.runs)


def test_what_diskspd_cannot_run_is_named_and_the_rest_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = ["plan", "#1", "--suite=commit-latency", "--suite=mixed", "--size=1g", "--as=diskspd"]
    assert main([*asked, f"--output={jobs}"]) == 1
    assert re.search(
        r"warning: \d+ steps left out, from \S+ on: .*fdatasync=1 has no", capsys.readouterr().err
    )
    run_as_diskspd(jobs, iops=asked_iops)
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"warning: \d+ steps cannot be run by diskspd, .*fdatasync=1", err)
    assert "imported; all that " in err
    manifest = Review.open(saved).manifest
    assert {plan.targets for plan in manifest.plans} == {("\\\\.\\PhysicalDrive1",)}


def test_nothing_comes_between_the_rounds_of_a_drives_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = [
        "plan",
        "/tmp/carried.bin",
        "--suite=mixed",
        "--suite=write-pressure",
        "--size=16m",
        "--runtime=60ms",
    ]
    assert main([*asked, "--state=preconditioned", "--as=fio", f"--output={jobs}"]) == 0
    assert "4 steps more follow: 'iogauge import' writes them after earlier rounds" in capsys.readouterr().err
    ran = []
    for _ in range(8):
        ran.append(run_as_fio(jobs, "/tmp/carried.bin", MODEL, intervals=False))
        brought = import_results(jobs, saved, suite_of)
        if not brought.missing:
            break
    assert brought.held == 0
    assert all(step_id.startswith("precondition.") for step_id in ran[0])
    first = next(turn for turn, ids in enumerate(ran) if not ids[0].startswith("precondition."))
    assert ran[first - 1][-1] == "precondition.settle"
    assert set(ran[first]) >= {"write-pressure.search", "mixed.reads-100"}
    assert all(brought.review.has(step.id) for step in brought.review.manifest.steps)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the results of all of a short suite's steps."""
    cut_down(monkeypatch)
    place = tmp_path / "jobs"
    asked = ["plan", "/tmp/carried.bin", "--suite=mixed", "--size=16m", "--runtime=60ms", "--seed=1"]
    assert main([*asked, "--as=fio", f"--output={place}"]) == 0
    run_as_fio(place, "/tmp/carried.bin", MODEL, intervals=False)
    return place


def test_what_has_no_result_is_missing_and_comes_later(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_, last = sorted(jobs.glob("*.json"), key=lambda path: path.name)[:-1]
    kept = last.read_bytes()
    last.unlink()
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    assert "1 step to run: run " in capsys.readouterr().err
    assert main(["report", f"{tmp_path}/saved"]) == 0
    assert f"hint: complete it: iogauge import DIRECTORY --output {tmp_path}/saved" in capsys.readouterr().err
    last.write_bytes(kept)
    first.unlink()  # was imported before
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    assert "imported; none is missing" in capsys.readouterr().err


def test_a_file_that_was_edited_is_replaced_and_said(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = load_manifest(jobs / PLAN).steps
    (jobs / f"{steps[-1].id}.json").unlink()
    job = jobs / f"{steps[-1].id}.fio"
    text = job.read_text()
    job.write_text(f"{text}# mine\n")
    os.removexattr(
        jobs / f"{steps[0].id}.fio", "user.iogauge.output"
    )  # as of one that was copied there and back
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "replaced" in line]
    assert said == [
        f"{job}: exists and was not written by iogauge, or was changed since: it will be replaced"
    ]
    assert job.read_text() == text


def test_a_plan_is_claimed_like_any_output(jobs: Path, tmp_path: Path) -> None:
    drive = tmp_path / "drive.bin"
    manifest = load_manifest(jobs / PLAN)
    target = manifest.targets[0].model_copy(update={"path": str(drive)})
    drive.write_bytes(b"content")
    other = tmp_path / "other"
    other.mkdir()
    (other / PLAN).symlink_to(drive)
    drive.rename(tmp_path / "moved")  # it is not there when the plan is looked for
    with pytest.raises(IogaugeError, match=r"plan.json: is the target"):
        export_steps(other, manifest.model_copy(update={"targets": (target,)}), "fio", suite_of)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (r"\}\s*$", "", "is not valid JSON"),
        (r"(?s).*", "nothing", "no result of fio or DiskSpd"),
        ('"rw": "randrw"', '"rw": "randread"', "it ran with another rw"),
        ('"size": "16m"', '"size": "8m"', "it ran with another size"),
        ('"direct": "1"', '"direct": "0"', "it ran with another direct"),
        ('"size": "16m"', '"size": "16m", "offset": "4k"', "it ran with another offset"),
        ('"size": "16m"', '"size": "16m", "fsync": "1"', "it ran with another fsync"),
        ('"size": "16m"', '"size": "16m", "random_distribution": "zipf:1.2"', "another random_distribution"),
        ('"jobname": "mix"', '"jobname": "other"', "reports other, but the step's rows are mix"),
    ],
)
def test_a_bad_result_is_named_and_the_others_are_saved(
    before: str, after: str, message: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = load_manifest(jobs / PLAN).steps
    bad = jobs / f"{steps[1].id}.json"
    changed = re.sub(before, after, bad.read_text())
    assert changed != bad.read_text()
    bad.write_text(changed)
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 1
    err = capsys.readouterr().err
    assert f"error: {bad}: " in err
    assert message in err
    assert "hint: " in err
    assert f"1 result is damaged: remove it as the hints say, run {jobs}/run.sh, then: iogauge import" in err
    assert "none is missing" not in err
    assert len(Review.open(tmp_path / "saved").completed()) == len(steps) - 1


def test_directories_that_do_not_fit_are_refused(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved"
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    other = [*("plan", "/tmp/carried.bin", "--suite=mixed", "--size=16m", "--as=fio")]
    capsys.readouterr()
    assert main([*other, f"--output={jobs}"]) == 1
    assert "has a plan already" in capsys.readouterr().err
    assert main([*other, "--seed=2", f"--output={tmp_path}/other"]) == 0
    assert main(["import", f"{tmp_path}/other", f"--output={saved}"]) == 1
    assert "is not the review that is planned" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["import", f"{tmp_path}/empty", f"--output={tmp_path}/new"]) == 1
    assert "has no plan.json" in capsys.readouterr().err
    assert main(["import", str(jobs), str(jobs), f"--output={tmp_path}/new"]) == 2
    (jobs / "run.sh").unlink()
    assert main(["import", str(jobs), f"--output={tmp_path}/new"]) == 1
    assert "has no script (run.sh or run.ps1)" in capsys.readouterr().err
    assert main(["review", "--resume", str(saved)]) == 2
    assert "its steps are run by fio" in capsys.readouterr().err


def test_a_result_of_another_target_is_taken_and_said(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for result in jobs.glob("*.json"):
        result.write_text(re.sub(r'"filename": "[^"]*"', '"filename": "/dev/sdx"', result.read_text()))
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    said = "it ran on /dev/sdx instead of /tmp/carried.bin"
    assert capsys.readouterr().err.count(f"warning: {said}\n") == 1
    assert any(said in note for note in Review.open(tmp_path / "saved").manifest.plans[0].notes)


@pytest.mark.parametrize(
    ("before", "after", "option"),
    [
        (r"<MaxFileSize>\d+<", "<MaxFileSize>4096000<", "size"),
        (r"<BaseFileOffset>0<", "<BaseFileOffset>4096<", "size"),  # from there to the same end
        (r"<WriteThrough>false<", "<WriteThrough>true<", "sync"),
        (r"<DisableOSCache>true<", "<DisableOSCache>false<", "direct"),
        (r"<Random>4096<", "<Random>8192<", "ba"),
    ],
)
def test_a_result_of_diskspd_with_another_load_is_refused(
    before: str, after: str, option: str, tmp_path: Path
) -> None:
    jobs = tmp_path / "jobs"
    asked = ["plan", "C:\\drive.bin", "--suite=mixed", "--size=1g", "--runtime=1", "--seed=1"]
    assert main([*asked, "--as=diskspd", f"--output={jobs}"]) == 0
    run_as_diskspd(jobs, iops=asked_iops)
    bad = jobs / "mixed.reads-70.xml"
    changed = re.sub(before, after, bad.read_text())
    assert changed != bad.read_text()
    bad.write_text(changed)
    (error,) = import_results(jobs, tmp_path / "saved", suite_of).damaged
    assert str(bad) in str(error)
    assert re.search(rf"it ran with another {option}\b", str(error))


def test_a_result_that_is_older_than_the_state_it_needs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    asked = ["plan", "/tmp/carried.bin", "--suite=pts-iops", "--size=16m", "--runtime=60ms", "--seed=1"]
    assert main([*asked, "--as=fio", f"--output={jobs}"]) == 0
    run_as_fio(jobs, "/tmp/carried.bin", MODEL, intervals=False)
    first, second, third, *_ = load_manifest(jobs / PLAN).steps
    late = jobs / f"{second.id}.json"
    late.write_text(re.sub(r'"timestamp_ms": \d+', '"timestamp_ms": 4102444800000', late.read_text()))
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={saved}"]) == 1
    err = capsys.readouterr().err
    assert (
        f"{third.id}.json: ran before {second.id}, but needs the drive in the state that this step leaves"
        in err
    )
    assert f"hint: remove {jobs}/{first.id}.json, and run the script" in err
    assert Review.open(saved).completed() == (first.id, second.id)
