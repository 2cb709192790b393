"""What is kept of a review's figures is a cache: it saves work, and never changes a figure or refuses a review."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.results import computed
from iogauge.results.review import keep_computed, load
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Interval
from iogauge.store import Review, durable
from iogauge.store.computed import Computed
from tests import builders, reviews

SMALL = reviews.Drive(seconds=12, reads_a_second=100)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    reviews.save(tmp_path / "r", SMALL, pressures_MBps=(0, 300))
    return tmp_path / "r"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the record and the intervals of any step were read."""
    times: Counter[str] = Counter()
    record, intervals = Review.record, Review.intervals

    def counted(review: Review, step_id: str) -> Iterator[Interval]:
        times["intervals"] += 1
        return intervals(review, step_id)

    monkeypatch.setattr(Review, "intervals", counted)
    monkeypatch.setattr(
        Review, "record", lambda review, step_id: times.update(["record"]) or record(review, step_id)
    )
    return times


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["show", str(path), "--json"]) == 0
    return capsys.readouterr().out


def test_the_second_reader_reads_no_step_and_says_the_same(
    saved: Path, read: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(saved, capsys)
    assert read == {"record": 2, "intervals": 2}
    read.clear()
    assert shown(saved, capsys) == first
    assert read == {}


def test_a_quantile_that_nobody_computed_is_computed_from_the_step(saved: Path, read: Counter[str]) -> None:
    (before,) = load([saved])
    expected = [position.figures.quantile(0.5) for position in before]
    keep_computed([before])
    (after,) = load([saved])
    read.clear()
    assert [position.figures.quantile(0.5) for position in after] == expected
    assert read == {}
    again = [position.figures.quantile(0.75) for position in after]
    assert again == [position.figures.quantile(0.75) for position in before]
    assert read["intervals"] == 2
    assert after.positions[0].figures.moments == before.positions[0].figures.moments


@pytest.mark.parametrize(
    "damage",
    [b"", b"{}", b"0 {}", b"\xff", None],
    ids=["empty", "no checksum", "another checksum", "no text", "a byte"],
)
def test_a_damaged_cache_is_computed_anew(
    saved: Path, damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(saved, capsys)
    kept = saved / "computed.json"
    kept.write_bytes(kept.read_bytes().replace(b"0", b"1", 1) if damage is None else damage)
    assert shown(saved, capsys) == first
    assert shown(saved, capsys) == first


def test_a_step_that_was_run_again_is_computed_again(
    saved: Path, read: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown(saved, capsys)
    review = Review.open(saved)
    step = review.manifest.steps[0]
    record = review.record(step.id)
    review.discard(step.id)
    with review.begin(step.id) as writer:
        writer.finish(record.model_copy(update={"started_at": "2026-01-02T03:04:05+00:00"}))
    read.clear()
    after = json.loads(shown(saved, capsys))["plans"][0]["steps"]
    assert read == {"record": 1, "intervals": 1}
    assert after[0]["mean_ns"]["low"] != after[0]["mean_ns"]["value"]
    text = (saved / "computed.json").read_text()
    assert text.count('"of"') == 2


def test_other_code_computes_for_itself(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Computed(saved, code="mine")
    mine.answers("s", "how many")["answer"] = 7
    mine.save()
    assert Computed(saved, code="mine").answers("s", "how many") == {"answer": 7}
    assert Computed(saved, code="yours").answers("s", "how many") == {}
    assert len(computed.code()) == 64
    assert {"schema", "stats", "results"} == set(computed.PACKAGES)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_review_that_cannot_be_written_is_read_all_the_same(
    saved: Path, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    before = sorted(saved.iterdir())
    monkeypatch.setattr(durable.os, "fsync", refused)
    assert shown(saved, capsys) == shown(saved, capsys)
    assert sorted(saved.iterdir()) == before


def test_a_step_that_was_run_again_meanwhile_is_computed_again_by_the_same_reader(saved: Path) -> None:
    (result,) = load([saved])
    before = result.positions[0].figures
    assert before.mean is not None
    review, step = result.review, result.positions[0].plan
    record = review.record(step.id)
    review.discard(step.id)
    (row, *others) = record.result.rows
    shorter = record.model_copy(update={"started_at": "2026-01-02T03:04:05+00:00"})
    rows = (row.model_copy(update={"end_ns": 2 * row.end_ns}), *others)
    with review.begin(step.id) as writer:
        writer.finish(shorter.model_copy(update={"result": record.result.model_copy(update={"rows": rows})}))
    after = SuiteResult(review, result.plan).positions[0].figures
    assert after.duration_s == pytest.approx(2 * before.duration_s, rel=0.2)
    assert after.moments == ()


@pytest.mark.parametrize(
    "damage",
    [
        lambda steps: [answers.update(totals=7, facts="x", mean="y") for answers in answers_in(steps)],
        lambda steps: [answers.clear() for answers in answers_in(steps)],
        lambda steps: [step.update(answers={"a": 7}) for step in steps.values()],
        lambda steps: [step.update(answers=7) for step in steps.values()],
        lambda steps: steps.update(dict.fromkeys(steps, 7)),
    ],
    ids=["kinds", "none", "question", "answers", "steps"],
)
def test_answers_that_are_none_are_computed_again(
    saved: Path, damage: Callable[[dict[str, Any]], object], capsys: pytest.CaptureFixture[str]
) -> None:
    first = shown(saved, capsys)
    path = saved / "computed.json"
    content = json.loads(path.read_text().partition(" ")[2])
    damage(content["steps"])
    text = json.dumps(content)
    path.write_text(f"{hashlib.sha256(text.encode()).hexdigest()} {text}\n")
    assert shown(saved, capsys) == first


def answers_in(steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [answers for step in steps.values() for answers in step["answers"].values()]


def test_a_directory_in_its_place_is_left_alone(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saved / "computed.json").mkdir()
    (saved / "computed.json" / "mine").touch()
    assert shown(saved, capsys) == shown(saved, capsys)
    assert (saved / "computed.json" / "mine").exists()


def test_nothing_is_kept_of_a_review_of_which_nothing_was_computed(tmp_path: Path) -> None:
    review = Review.create(tmp_path / "r", builders.manifest())
    review.keep_computed()
    assert not (tmp_path / "r" / "computed.json").exists()
