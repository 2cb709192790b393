"""A review whose steps fio runs: exported, run by fio, imported, with the steps that follow. Its figures are fio's.

Every number that fio reports has to be imported. tests/fast/reviews/test_offline_fio.py compares the intervals with
those of a native review, with the same requests in virtual time. Needs fio, but neither root nor a device.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.schema import Kind
from iogauge.stats.figures import step_figures
from iogauge.store import Review
from iogauge.suites import SUITES
from tests.offline_programs import last_report, reports
from tests.reviews import concluded
from tests.suite_runs import cut_down

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


def run(jobs: Path) -> str:
    """Run the script, buffered, since not every file system takes direct I/O; return what it said.

    The results say afterwards that it was direct: those of another load would be refused.
    """
    for job in jobs.glob("*.fio"):
        job.write_text(job.read_text().replace("direct=1", "direct=0"))
    done = subprocess.run(
        ["/bin/sh", str(jobs / "run.sh")], check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    for result in jobs.glob("*.json"):
        result.write_text(re.sub(r'"direct" : "0"', '"direct" : "1"', result.read_text()))
    return done.stderr


def planned(tmp_path: Path, *options: str) -> tuple[Path, Path]:
    """Write a plan's steps for fio; return their directory, and where the review is to be saved."""
    jobs = tmp_path / "jobs"
    review = [str(tmp_path / "drive.bin"), "--size=8m", "--seed=1", *options]
    assert main(["plan", *review, "--as=fio", f"--output={jobs}"]) == 0
    return jobs, tmp_path / "saved"


def run_offline(jobs: Path, saved: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run and import until nothing follows; return what the imports said."""
    messages = []
    while len(messages) < 40:
        run(jobs)
        capsys.readouterr()
        assert main(["import", str(jobs), f"--output={saved}"]) == 0
        # ``run`` has edited the files of the plan, which the import says as it replaces them.
        lines = capsys.readouterr().err.splitlines(keepends=True)
        messages.append("".join(line for line in lines if not line.endswith(": it will be replaced\n")))
        if "to run: run" not in messages[-1]:
            return messages
    raise AssertionError("it goes on and on")


def reported_thrice(of_run: list[dict[str, dict[str, Any]]], job: str) -> bool:
    """Whether fio reported a job three times, with more I/Os each time. A busy machine may delay it to the end."""
    ios = [report[job]["read"]["total_ios"] + report[job]["write"]["total_ios"] for report in of_run]
    return sum(later - earlier > ios[-1] / 20 for earlier, later in pairwise(ios)) >= 3


@pytest.mark.parametrize("suite", ["reader-under-writers", pytest.param("mixed", marks=pytest.mark.release)])
def test_a_suite_comes_back_with_fios_numbers(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of them searches."""
    cut_down(monkeypatch)
    jobs, saved = planned(tmp_path, f"--suite={suite}", "--runtime=600ms")
    messages = run_offline(jobs, saved, capsys)
    assert re.match(r"(warning: .*\n)?\d+ steps? imported; \d+ steps to run: run ", messages[0]), messages[0]
    assert "none is missing" in messages[-1]
    review = Review.open(saved)
    assert review.manifest.versions["fio"].startswith("fio-")
    compared = reported = 0
    for plan in review.manifest.plans:
        for step in plan.steps:
            record = review.record(step.id)
            figures = step_figures(
                record, review.intervals(step.id), measured_job=plan.measured_job, load_jobs=plan.load_jobs
            )
            theirs = last_report(jobs / f"{step.id}.json")[plan.measured_job]
            ways = [theirs[way] for way in ("read", "write") if theirs[way]["total_ios"]]
            assert figures.ios == sum(way["total_ios"] for way in ways)
            assert figures.iops == pytest.approx(sum(way["iops"] for way in ways), rel=0.01)
            assert figures.histogram.max == max(way["lat_ns"]["max"] for way in ways)
            # Of threads that leave a ramp, fio itself counts a few latencies more than I/Os.
            assert sum(moment.ios for moment in figures.moments) == figures.histogram.count
            if reported_thrice(reports(jobs / f"{step.id}.json"), plan.measured_job):
                assert len(figures.moments) >= 2
                reported += 1
            if len(ways) == 1:
                assert figures.mean is not None
                assert figures.mean.value == pytest.approx(ways[0]["lat_ns"]["mean"], rel=1e-6)
                for percentile, value in ways[0]["lat_ns"]["percentile"].items():
                    estimate = figures.histogram.quantile(float(percentile) / 100)
                    # fio's percentiles are middles of its buckets, and may lie above its maximum.
                    assert abs(estimate - value) <= value / 60
                    compared += 1
    assert compared >= 8, "two steps at least, of four percentiles"
    assert reported, "fio reported no step while it ran"
    for command in ("show", "report"):
        assert main([command, str(saved)]) == 0


@pytest.mark.release
def test_rounds_with_a_purge_and_stages_go_on_until_they_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    jobs, saved = planned(tmp_path, "--suite=pts-throughput", "--suite=commit-latency", "--runtime=60ms")
    # Not every file system gives blocks back.
    script = jobs / "run.sh"
    script.write_text(script.read_text().replace("fallocate --punch-hole", "true"))
    messages = run_offline(jobs, saved, capsys)
    assert "none is missing" in messages[-1]
    review = Review.open(saved)
    rounds = [step for step in review.manifest.steps if step.label.startswith("round")]
    assert 5 <= len({step.label for step in rounds}) <= 8
    for place in range(len(review.manifest.plans)):
        assert concluded(review, place).conclusions.findings
    (commits,) = (plan for plan in review.manifest.plans if plan.suite == "commit-latency")
    for step in commits.steps:
        figures = step_figures(
            review.record(step.id),
            (),
            measured_job=commits.measured_job,
            load_jobs=None,
            kind=Kind.LAT,
            direction=step.direction,
        )
        assert figures.ios > 0
        assert figures.mean is not None


@pytest.mark.parametrize("suite", [name for name in SUITES if SUITES[name].FEWEST_TARGETS == 1])
def test_fio_and_the_shell_know_what_is_written(suite: str, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    command = ["plan", str(tmp_path / "drive.bin"), f"--suite={suite}", "--size=64m", "--as=fio"]
    assert main([*command, f"--output={jobs}"]) == 0
    first, *_, last = [*(files := sorted(path.name for path in jobs.glob("*.fio"))), files[-1]]
    # A process of fio each: not all of them.
    for name in {first, last}:
        checked = subprocess.run(
            ["fio", "--parse-only", name], cwd=jobs, check=False, capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stderr + checked.stdout
    assert subprocess.run(["/bin/sh", "-n", str(jobs / "run.sh")], check=False).returncode == 0
