"""A review that DiskSpd ran: its figures are shown and compared without samples and intervals."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.reviews.offline import PLAN, import_results
from iogauge.reviews.ordering import order
from iogauge.store import Review
from iogauge.store.review import load_manifest
from iogauge.suites import suite_of
from tests.offline_programs import judged_figures, limited_iops, run_as_diskspd, runs_of
from tests.reviews import concluded


@pytest.mark.slow
def test_rounds_that_are_not_steady_follow_one_by_one(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = ["plan", "C:\\drive.bin", "--suite=pts-iops", "--size=16m", "--runtime=1", "--seed=1"]
    assert main([*arguments, "--as=diskspd", f"--output={jobs}"]) == 0
    # A drive that slows by 3 % with every process: by a quarter from round to round.
    rates = (100_000 * 0.97**turn for turn in itertools.count())
    rounds = []
    for _ in range(5):
        run_as_diskspd(jobs, iops=lambda _: next(rates))
        imported = import_results(jobs, saved, suite_of)
        rounds.append([step.label for step in imported.review.manifest.steps if step.judged])
        assert len(imported.missing) == (len(rounds) < 4)
        if not imported.missing:
            break
    assert [len(labels) for labels in rounds] == [6, 7, 8, 8]
    assert rounds[-1][-1] == "round 8"
    assert all(imported.review.has(step.id) for step in imported.review.manifest.steps)


def test_diskspds_figures_are_judged_without_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = ["plan", "C:\\drive.bin", "--suite=write-pressure", "--size=1g", "--runtime=2", "--seed=1"]
    assert main([*arguments, "--as=diskspd", f"--output={jobs}"]) == 0
    assert run_as_diskspd(jobs, iops=limited_iops) == [
        "write-pressure.search+1.xml",
        "write-pressure.search+2.xml",
    ]
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{saved}\n"
    assert f"1 step imported; 9 steps to run: run {jobs}/run.ps1, then: iogauge import {jobs}" in err
    assert len(run_as_diskspd(jobs, iops=limited_iops)) == 17, "the step without writers is one process"
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    assert "10 steps imported; none is missing" in capsys.readouterr().err
    review = Review.open(saved)
    (plan,) = review.manifest.plans
    assert any("Measured by diskspd (2.2.0), not by iogauge" in note for note in plan.notes)
    assert review.manifest.versions["diskspd"] == "2.2.0"
    for (_, _, at), step in judged_figures(review).items():
        assert (step.ios, step.iops) == (40_000, 20_000)
        assert step.pressure_Bps == pytest.approx(at * 10**6, rel=0.001)
        assert step.mean is not None
        assert step.mean.value == pytest.approx(5e6)
        tail = step.quantile(0.99)
        assert tail is not None
        assert tail.value == pytest.approx(9.9e6)
        assert (tail.low, tail.high, tail.dependence, tail.supported) == (None, None, False, True)
        deep = step.quantile(0.9999)
        assert deep is not None
        assert not deep.supported
        assert step.histogram.count == 0
        assert {moment.ios for moment in step.moments} == {2_000}
        assert {(moment.p50_ns, moment.max_ns) for moment in step.moments} == {(None, None)}
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
    assert " 0 ns" not in out, "a figure that is not reported is not zero"
    arguments = ["query", "select mean_ns, mean_low_ns, supported from figures", str(saved), "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"mean_ns": 5e6, "mean_low_ns": None, "supported": 0.999}
    assert main(["export", str(saved), f"--csv={tmp_path}/csv"]) == 0
    assert (tmp_path / "csv" / "write-pressure.csv").is_file()


def test_reads_and_writes_together_have_diskspds_total(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = ["plan", "\\\\.\\PhysicalDrive1", "--suite=mixed", "--size=1g", "--runtime=1", "--seed=1"]
    assert main([*arguments, "--as=diskspd", f"--output={jobs}"]) == 0
    run_as_diskspd(jobs, iops=limited_iops)
    assert import_results(jobs, saved, suite_of).missing == ()
    review = Review.open(saved)
    assert review.manifest.targets[0].kind == "block"
    for step in judged_figures(review).values():
        assert step.quantile(0.5) is not None
        assert step.quantile(0.5).value == pytest.approx(5e6)


def test_repeats_without_samples_share_a_mean_and_no_quantile(tmp_path: Path) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = [
        "plan",
        "C:\\drive.bin",
        "--suite=mixed",
        "--suite=queue-depth",
        "--size=1g",
        "--runtime=1",
        "--repeats=2",
    ]
    assert main([*arguments, "--as=diskspd", f"--output={jobs}"]) == 0
    named = [name.removesuffix(".xml") for name, _ in runs_of((jobs / "run.ps1").read_text())]
    manifest = load_manifest(jobs / PLAN)
    assert named == [
        step.id for repeat, plan in order(manifest) for step in plan.steps if step.repeat == repeat
    ]
    latencies = iter([0.1, 0.3] * len(named))
    run_as_diskspd(jobs, iops=limited_iops, latency_ms=lambda command: next(latencies))
    review = import_results(jobs, saved, suite_of).review
    for step in concluded(review):
        first, second = (run.figures.mean.value for run in step.runs if run.figures.mean is not None)
        assert step.figures.mean is not None
        assert step.figures.mean.value == pytest.approx((first + second) / 2)
        assert step.figures.quantile(0.99) is None
        assert all(run.figures.quantile(0.99) is not None for run in step.runs)


def test_steps_that_diskspd_cannot_run_are_named_and_the_others_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = ["plan", "#1", "--suite=commit-latency", "--suite=mixed", "--size=1g", "--as=diskspd"]
    assert main([*arguments, f"--output={jobs}"]) == 1
    assert re.search(
        r"warning: \d+ steps left out, from \S+ on: .*fdatasync=1 has no", capsys.readouterr().err
    )
    run_as_diskspd(jobs, iops=limited_iops)
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"warning: \d+ steps cannot be run by diskspd, .*fdatasync=1", err)
    assert "imported; all that " in err
    manifest = Review.open(saved).manifest
    assert {plan.targets for plan in manifest.plans} == {("\\\\.\\PhysicalDrive1",)}
