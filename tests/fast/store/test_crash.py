"""A kill, a full disk or a power cut at any instant of saving: complete steps stay whole, nothing half-written counts.

The kill is simulated at every call that changes the disk: the call raises, and so does every later one, as nothing
of a killed process, clean-up included, runs any more.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Manifest, RunRecord
from iogauge.store import Review, durable, tables
from tests import builders

TALLY = builders.tally([100_000] * 7)
INTERVALS = [builders.interval(index, {Direction.READ: TALLY}) for index in range(3)]
PLANNED = builders.manifest([builders.step("a"), builders.step("b"), builders.step("c")])
SEARCHED = PLANNED.model_copy(
    update={"plans": (PLANNED.plans[0].model_copy(update={"notes": ("limit 700 MB/s",)}),)}
)


def run_record(seed: int) -> RunRecord:
    """A run that its seed tells from another."""
    return builders.record([builders.row("reader", {Direction.READ: TALLY})], seed=seed)


def save(review: Review, step_id: str, *, seed: int) -> None:
    """Run one step as a suite's runner does."""
    with review.begin(step_id) as writer:
        for interval in INTERVALS:
            writer.interval(interval)
        writer.finish(run_record(seed))


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Disk:
    """Counts the calls that change the disk, and lets one of them, or all from it on, fail."""

    CHANGES = (
        (os, "fsync"),
        (os, "mkdir"),
        (os, "rmdir"),
        (os, "unlink"),
        (Path, "open"),
        (Path, "mkdir"),
        (Path, "rename"),
        (Path, "unlink"),
        (Path, "write_bytes"),
        (Path, "write_text"),
    )

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.error: BaseException | None = None
        self.error_from = -1
        self.error_to = -1
        for owner, name in self.CHANGES:
            patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def kill_at(self, call: int) -> None:
        """Fail this call and all after it."""
        self.calls, self.error, self.error_from, self.error_to = 0, Killed(), call, 10**9

    def fail_at(self, call: int, number: int) -> None:
        """Fail this call alone, as the kernel would."""
        self.calls, self.error_from, self.error_to = 0, call, call + 1
        self.error = OSError(number, os.strerror(number))

    def heal(self) -> None:
        """Let everything succeed again."""
        self.error = None

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            place = self.calls
            self.calls += 1
            if self.error is not None and self.error_from <= place < self.error_to:
                raise self.error
            return original(*arguments, **named)

        return call


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Every call that changes the disk, under control."""
    with pytest.MonkeyPatch.context() as patch:
        yield Disk(patch)


def changes_of(disk: Disk, action: Callable[[], None]) -> int:
    """How many changing calls an undisturbed action makes."""
    disk.heal()
    disk.calls = 0
    action()
    return disk.calls


def test_a_kill_at_any_call_leaves_each_step_whole_or_absent(tmp_path: Path, disk: Disk) -> None:
    first = Review.create(tmp_path / "count", PLANNED)
    calls = changes_of(disk, lambda: save(first, "a", seed=1))
    assert calls > 10
    seen = set()
    for call in range(calls + 1):
        review = Review.create(tmp_path / f"killed-{call}", PLANNED)
        save(review, "a", seed=1)
        disk.kill_at(call)
        with contextlib.suppress(Killed):
            save(review, "b", seed=2)
        disk.heal()
        again = Review.open(review.path)
        assert again.completed() in {("a",), ("a", "b")}
        seen.add(again.completed())
        for seed, step_id in enumerate(again.completed(), start=1):
            assert again.record(step_id) == run_record(seed)
            assert list(again.intervals(step_id)) == INTERVALS
        if "b" not in again.completed():
            save(again, "b", seed=2)
        save(again, "c", seed=3)
        assert again.completed() == ("a", "b", "c")
        assert sorted(entry.name for entry in (again.path / "steps").iterdir()) == ["a", "b", "c"]
    assert seen == {("a",), ("a", "b")}


def test_a_kill_at_any_call_leaves_one_manifest_or_the_other(tmp_path: Path, disk: Disk) -> None:
    review = Review.create(tmp_path / "r", PLANNED)
    calls = changes_of(disk, lambda: review.save_manifest(SEARCHED))
    seen: list[Manifest] = []
    for call in range(calls + 1):
        review.save_manifest(PLANNED)
        disk.kill_at(call)
        with contextlib.suppress(Killed):
            review.save_manifest(SEARCHED)
        disk.heal()
        seen.append(Review.open(review.path).manifest)
    assert PLANNED in seen
    assert seen[-1] == SEARCHED
    assert all(manifest in (PLANNED, SEARCHED) for manifest in seen)


def test_a_kill_at_any_call_of_create_leaves_a_place_for_the_next(tmp_path: Path, disk: Disk) -> None:
    calls = changes_of(disk, lambda: void(Review.create(tmp_path / "count", PLANNED)))
    for call in range(calls):
        path = tmp_path / f"killed-{call}"
        disk.kill_at(call)
        with pytest.raises(Killed):
            Review.create(path, PLANNED)
        disk.heal()
        if (path / "manifest.json").exists():
            assert Review.open(path).manifest == PLANNED
        else:
            Review.create(path, PLANNED)


def test_a_kill_at_any_call_of_discard_leaves_the_step_whole_or_absent(tmp_path: Path, disk: Disk) -> None:
    first = Review.create(tmp_path / "count", PLANNED)
    save(first, "a", seed=1)
    calls = changes_of(disk, lambda: first.discard("a"))
    for call in range(calls):
        review = Review.create(tmp_path / f"killed-{call}", PLANNED)
        save(review, "a", seed=1)
        disk.kill_at(call)
        with pytest.raises(Killed):
            review.discard("a")
        disk.heal()
        if review.has("a"):
            assert review.record("a") == run_record(1)
            review.discard("a")
        save(review, "a", seed=2)
        assert review.record("a") == run_record(2)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_an_error_at_any_call_is_explained_and_cleared_away(tmp_path: Path, disk: Disk, number: int) -> None:
    review = Review.create(tmp_path / "r", PLANNED)
    calls = changes_of(disk, lambda: save(review, "a", seed=1))
    for call in range(calls):
        disk.fail_at(call, number)
        with pytest.raises(IogaugeError, match=re.escape(os.strerror(number))) as caught:
            save(review, "b", seed=2)
        assert caught.value.hint
        disk.heal()
        # The last sync comes after the rename: the step is whole then, though a power cut could still take it.
        assert {entry.name for entry in (review.path / "steps").iterdir()} in ({"a"}, {"a", "b"})
        assert review.record("a") == run_record(1)
        if review.has("b"):
            assert review.record("b") == run_record(2)
            review.discard("b")


class FullFile(io.FileIO):
    """A file on a disk that takes so many bytes and no more."""

    room = 0

    def write(self, data: Any) -> int:
        """Write, or fail as the kernel does."""
        if self.room < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        return super().write(data)


@pytest.mark.parametrize("room", [0, 100, 3_000, 20_000])
def test_a_disk_that_fills_up_while_intervals_stream_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    def opened(self: Path, mode: str) -> FullFile:
        file = FullFile(self, mode)
        file.room = room
        return file

    review = Review.create(tmp_path / "r", PLANNED)
    save(review, "a", seed=1)
    monkeypatch.setattr(tables, "ROW_GROUP_ROWS", 4)
    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(IogaugeError, match="No space left") as caught:
        save_endless(review, "b")
    monkeypatch.undo()
    assert "resume" in str(caught.value.hint)
    assert sorted(entry.name for entry in (review.path / "steps").iterdir()) == ["a"]
    assert list(review.intervals("a")) == INTERVALS


def save_endless(review: Review, step_id: str) -> None:
    """Stream intervals until something gives."""
    with review.begin(step_id) as writer:
        for index in itertools.count():
            writer.interval(builders.interval(index, {Direction.READ: TALLY}))


def test_nothing_is_published_before_it_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[str, Path]] = []
    sync, rename = durable._sync, Path.rename

    def noted_sync(path: Path, flags: int) -> None:
        sync(path, flags)
        events.append(("sync", path))

    def noted_rename(self: Path, target: Path) -> Path:
        events.append(("rename", target))
        return rename(self, target)

    review = Review.create(tmp_path / "r", PLANNED)
    monkeypatch.setattr(durable, "_sync", noted_sync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    save(review, "a", seed=1)
    steps = review.path / "steps"
    published = events.index(("rename", steps / "a"))
    before = [path for kind, path in events[:published] if kind == "sync"]
    files = {file.name for file in (steps / "a").iterdir()}
    assert {path.name for path in before if path.parent == steps / ".a.tmp"} == files
    assert before[-1] == steps / ".a.tmp"
    assert events[published + 1 :] == [("sync", steps)]


def void(_: object) -> None:
    """Drop a value."""
