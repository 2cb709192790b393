"""Which steps of a modelled review are explained, what is saved of them, and what its reports say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.report.markdown import markdown
from iogauge.report.page.render import page
from iogauge.report.sections import Report
from iogauge.reviews.explained import ALLOWED, SHARE, in_flight, requests_of, with_explained
from iogauge.schema import Kind, Manifest
from iogauge.store import Review
from iogauge.store.review import manifest_bytes


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of a model with a suite whose steps are known and one that searches for them."""
    path = tmp_path_factory.mktemp("explained") / "saved"
    suites = ["--suite=queue-depth", "--suite=write-pressure"]
    arguments = ["review", "model:p4800x", *suites, "--runtime=3ms", "--seed=7", f"--output={path}"]
    assert main(arguments) == 0
    return path


def explained(manifest: Manifest) -> list[str]:
    return [step.id for step in manifest.steps if step.explained]


def test_the_least_and_the_most_loaded_step_of_a_suite_are_explained(saved: Path) -> None:
    review = Review.open(saved)
    assert explained(review.manifest)[:2] == ["queue-depth.randread-4k-qd1", "queue-depth.randread-4k-qd64"]
    assert explained(review.manifest)[2] == "write-pressure.pressure-0"
    assert len(explained(review.manifest)) == 4
    for step in review.manifest.steps:
        record = review.record(step.id)
        assert (record.explained is not None) == step.explained
        if record.explained is not None:
            rows = {row.row: row for row in record.result.rows}
            for row in record.explained.rows:
                for direction, parts in row.directions.items():
                    exact = rows[row.row].tallies[direction].exact[Kind.LAT]
                    assert parts.count == exact.count
                    assert sum(parts.parts_ns.values()) == pytest.approx(exact.sum_ns / exact.count)
            used = {part.name for part in record.explained.parts}
            assert all(
                set(of.parts_ns) <= used for row in record.explained.rows for of in row.directions.values()
            )


def test_few_requests_of_a_long_review_are_explained(saved: Path) -> None:
    manifest = Review.open(saved).manifest
    bare = manifest.model_copy(
        update={
            "plans": tuple(
                plan.model_copy(
                    update={
                        "steps": tuple(
                            step.model_copy(
                                update={
                                    "explained": False,
                                    "job_file": step.job_file.replace("runtime=3ms", "runtime=60s"),
                                }
                            )
                            for step in plan.steps
                        )
                    }
                )
                for plan in manifest.plans
            )
        }
    )
    chosen = with_explained(bare, [plan.key for plan in bare.plans])
    requests = {step.id: requests_of(step) for step in chosen.steps}
    assert sum(requests.values()) > 60 * ALLOWED
    assert sum(requests[step] for step in explained(chosen)) < SHARE * sum(requests.values())
    (first, *_) = (step for step in chosen.steps if step.explained)
    assert (first.id, in_flight(first)) == ("queue-depth.randread-4k-qd1", 1)
    assert with_explained(chosen, []) == chosen


def test_real_targets_are_not_explained(tmp_path: Path) -> None:
    saved = tmp_path / "file"
    file = f"{tmp_path}/target"
    assert main(["review", file, "--suite=mixed", "--size=1m", "--runtime=1ms", f"--output={saved}"]) == 0
    manifest = Review.open(saved).manifest
    assert not explained(manifest)
    assert all(Review.open(saved).record(step.id).explained is None for step in manifest.steps)
    assert "Where the time went" not in markdown(Report.of([saved]))


def test_reports_say_where_the_time_went(saved: Path) -> None:
    review = iogauge.open_review(saved)
    steps = review.suite("queue-depth").explained
    assert [step.name for step in steps] == [
        "4 KiB random reads, 1 in flight",
        "4 KiB random reads, 64 in flight",
    ]
    assert steps[0].load.mean.longest == "channel"
    assert steps[1].load.mean.longest in ("queue", "busy thread")
    text = " ".join(review.to_text().split())
    written, shown = markdown(Report.of([saved])), page(Report.of([saved]))
    for step in steps:
        assert f"{step.name}: {step.answer}" in text
        assert f"- {step.name}: {step.answer}" in written
        assert f"<li>{step.name}: {step.answer}</li>".replace(" us", " µs") in shown
        assert step.rows[0][:3] == ["", "mean", "p50"]
        assert step.rows[-1][0] == "latency"
    assert "Every part by quantile" in shown
    assert "queue-depth-explained-1" in shown
    assert len(review.to_text(variation=True)) > len(review.to_text())
    shown_steps = [one["step"] for plan in review.to_dict()["plans"] for one in plan["explained"]]
    assert shown_steps[:2] == [step.name for step in steps]
    assert {"submission", "channel", "wake-up"} <= {part.name for step in steps for part in step.parts}


def test_reports_leave_out_syncs_that_take_no_time(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    arguments = ["review", "model:ram@anandtech-linux", "--suite=commit-latency", "--runtime=1ms"]
    assert main([*arguments, f"--output={saved}"]) == 0
    assert explained(Review.open(saved).manifest)
    assert "takes no time" not in markdown(Report.of([saved]))


def test_a_review_from_before_has_no_section(saved: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(saved, older)
    manifest = json.loads((older / "manifest.json").read_text())
    for plan in manifest["plans"]:
        for step in plan["steps"]:
            del step["explained"]
    del manifest["sha256"]
    (older / "manifest.json").write_bytes(manifest_bytes(Manifest.model_validate(manifest)))
    review = iogauge.open_review(older)
    assert all(not suite.explained for suite in review.suites)
    assert "Where the time went" not in markdown(Report.of([older]))
