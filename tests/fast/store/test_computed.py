"""What is kept of a review's figures is a cache: it saves work, and never changes a figure or refuses a review."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.results import computed
from iogauge.results.review import keep_computed, load
from iogauge.schema import Interval
from iogauge.store import Review
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_review_that_cannot_be_written_is_read_all_the_same(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved.chmod(0o555)
    try:
        assert shown(saved, capsys) == shown(saved, capsys)
    finally:
        saved.chmod(0o755)
    assert not (saved / "computed.json").exists()


def test_a_directory_in_its_place_is_left_alone(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saved / "computed.json").mkdir()
    (saved / "computed.json" / "mine").touch()
    assert shown(saved, capsys) == shown(saved, capsys)
    assert (saved / "computed.json" / "mine").exists()


def test_nothing_is_kept_of_a_review_of_which_nothing_was_computed(tmp_path: Path) -> None:
    review = Review.create(tmp_path / "r", builders.manifest())
    review.keep_computed()
    assert not (tmp_path / "r" / "computed.json").exists()
