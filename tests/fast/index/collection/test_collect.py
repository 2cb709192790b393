"""Collecting adds what a collection lacks, once, whatever else happens: other collectors, ends, damage, odd names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import duckdb
import pytest

from iogauge.errors import IogaugeError
from iogauge.index import Index
from iogauge.index.collection import collect as collecting
from iogauge.index.collection import layout
from iogauge.index.collection.collect import Counts, collect
from iogauge.index.collection.place import LocalPlace
from iogauge.index.collection.stored import Collection
from iogauge.store import Review
from iogauge.store.notes import write_notes
from tests.fast.index.saved import complete, saved

HOSTS = ("h1", "h2", "h3")
ROOT = Path(__file__).parents[4]


def fleet(directory: Path) -> Path:
    """Save the reviews of three hosts as a fleet has them."""
    for number, host in enumerate(HOSTS):
        saved(directory / "hosts" / host, host=host, run=("p0", "p100"), latency_ns=100_000 * (number + 1))
    return directory


def shown(collection: Collection) -> list[tuple[str, int, int]]:
    """Return what an index has of a collection: hosts, complete steps, and rows of figures."""
    with Index.open(collection.address) as index:
        index.refresh()
        rows = index.reviews(order="host").rows
        return [(row.host, row.complete, index.figures([row.id]).num_rows) for row in rows]


ALL = [(host, 2, 2) for host in HOSTS]


def test_a_fleet_is_collected_once(tmp_path: Path) -> None:
    collection = Collection.make(tmp_path / "collection")
    assert collect([fleet(tmp_path / "fleet")], collection) == Counts(added=3)
    assert shown(collection) == ALL
    files = collection.parts()
    assert collect([tmp_path / "fleet"], collection) == Counts(known=3)
    shutil.copytree(tmp_path / "fleet", tmp_path / "copy")
    assert collect([tmp_path / "fleet", tmp_path / "copy"], collection) == Counts(known=6)
    assert collection.parts() == files


def test_a_review_that_went_on_counts_as_it_is_now(tmp_path: Path) -> None:
    review = saved(tmp_path / "reviews" / "a", run=("p0",))
    collection = Collection.make(tmp_path / "collection")
    collect([tmp_path / "reviews"], collection)
    shutil.copytree(review.path, tmp_path / "older" / "a")
    complete(review, "p100")
    assert collect([tmp_path / "reviews"], collection) == Counts(added=1)
    assert shown(collection) == [("bench-1", 2, 2)]
    write_notes(review.path, "#kept")
    assert collect([tmp_path / "reviews"], collection) == Counts(added=1)
    write_notes(tmp_path / "older" / "a", "an older copy, collected last")
    assert collect([tmp_path / "older"], collection) == Counts(added=1)
    with Index.open(collection.address) as index:
        index.refresh()
        (row,) = index.reviews().rows
    assert (row.complete, row.tags, row.source) == (2, ("kept",), str(review.path))


def test_two_collectors_at_once_make_no_review_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet(tmp_path / "fleet")
    both = Barrier(2)
    versions = Collection.versions

    def versions_before_either_adds(self: Collection) -> set[str]:
        known = versions(self)
        both.wait()
        return known

    monkeypatch.setattr(Collection, "versions", versions_before_either_adds)
    counts: list[Counts] = []

    def run() -> None:
        both.wait()
        counts.append(collect([tmp_path / "fleet"], Collection.make(tmp_path / "collection")))

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [Counts(added=3), Counts(added=3)]
    collection = Collection.open(tmp_path / "collection")
    assert len(collection.parts()) == 2
    assert shown(collection) == ALL


def stopping(at: int, stop: Callable[[], None]) -> Callable[[LocalPlace, str, bytes], None]:
    """Return a ``write`` whose call with number ``at`` does not write, but stops."""
    write, done = LocalPlace.write, []

    def written(self: LocalPlace, name: str, data: bytes) -> None:
        done.append(name)
        if len(done) == at:
            stop()
        write(self, name, data)

    return written


@pytest.mark.parametrize("at", range(1, 10))
def test_what_ends_in_the_middle_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    fleet(tmp_path / "fleet")
    monkeypatch.setattr(collecting, "PART", 1)

    def end() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalPlace, "write", stopping(at, end))
        with pytest.raises(KeyboardInterrupt):
            collect([tmp_path / "fleet"], Collection.make(tmp_path / "collection"), with_copies=True)
    collection = Collection.make(tmp_path / "collection")
    before = shown(collection)
    assert before == ALL[: len(before)]
    counts = collect([tmp_path / "fleet"], collection, with_copies=True)
    assert (counts.added, counts.known, counts.copied) == (3 - len(before), len(before), 3)
    assert shown(collection) == ALL


KILLED = """
import os, signal, sys
from iogauge.index.collection.collect import collect
from iogauge.index.collection.stored import Collection
sync = os.fsync
def killing(descriptor):
    if "collection/figures/" in os.readlink(f"/proc/self/fd/{descriptor}"):
        os.kill(os.getpid(), signal.SIGKILL)
    sync(descriptor)
os.fsync = killing
collect(sys.argv[1:2], Collection.make(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_killed_collector_leaves_a_collection_that_is_whole(tmp_path: Path) -> None:
    fleet(tmp_path / "fleet")
    place = tmp_path / "collection"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "fleet"), str(place)], cwd=tmp_path, check=False
    )
    assert killed.returncode == -9
    left = [path.name for path in place.rglob(".iogauge-*")]
    assert len(left) == 1  # the file that was being written
    collection = Collection.make(place)
    assert shown(collection) == []
    assert collect([tmp_path / "fleet"], collection) == Counts(added=3)
    assert shown(collection) == ALL


def test_a_damaged_review_is_named_and_the_others_are_added(tmp_path: Path) -> None:
    fleet(tmp_path / "fleet")
    (tmp_path / "fleet" / "hosts" / "h2" / "manifest.json").write_text("{")
    (figures,) = (tmp_path / "fleet" / "hosts" / "h3").glob("steps/p0/totals.parquet")
    figures.write_bytes(b"damaged")
    collection = Collection.make(tmp_path / "collection")
    counts = collect([tmp_path / "fleet"], collection)
    assert counts.added == 1
    assert [Path(one.source).name for one in counts.skipped] == ["h2", "h3"]
    assert all("damaged" in one.why and one.hint for one in counts.skipped)
    assert shown(collection) == ALL[:1]


@pytest.mark.parametrize("name", ["../../../up", "a/b", "month=2020-01", "x" * 4000, "", "\x00", "ä =&%'\""])
def test_no_text_of_a_review_is_in_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    review = saved(tmp_path / "reviews" / "a", model=name, host=name, suite=name, run=("p0",))
    review.save_manifest(review.manifest.model_copy(update={"id": name or "..", "created_at": name}))
    collection = Collection.make(tmp_path / "collection")
    assert collect([tmp_path / "reviews"], collection, with_copies=True).added == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"reviews", "collection", "xdg"}
    (part,) = collection.parts()
    assert layout.is_part(part)
    assert part.startswith("reviews/month=unknown/")
    with Index.open(collection.address) as index:
        index.refresh()
        (row,) = index.reviews().rows
        path = index.path(row.id)
    assert row.id.startswith("review-")
    assert path is not None
    assert Review.open(path).manifest.id == (name or "..")
    assert path.is_relative_to(tmp_path / "collection" / "copies")


def test_copies_are_the_reviews_and_follow_them(tmp_path: Path) -> None:
    review = saved(tmp_path / "reviews" / "a", run=("p0",))
    collection = Collection.make(tmp_path / "collection")
    collect([tmp_path / "reviews"], collection)
    assert collect([tmp_path / "reviews"], collection, with_copies=True) == Counts(known=1, copied=1)
    complete(review, "p100")
    (review.path / "steps" / ".p9.tmp").mkdir()  # a step that is being written
    assert collect([tmp_path / "reviews"], collection, with_copies=True) == Counts(added=1, copied=1)
    with Index.open(collection.address) as index:
        index.refresh()
        (row,) = index.reviews().rows
        path = index.path(row.id)
    assert path is not None
    assert Review.open(path).completed() == ("p0", "p100")
    for step in ("p0", "p100"):
        for file in (review.path / "steps" / step).iterdir():
            assert (path / "steps" / step / file.name).read_bytes() == file.read_bytes()
    assert sorted(step.name for step in (path / "steps").iterdir()) == ["p0", "p100"]
    # Copies lie below what is collected, and are not collected themselves.
    assert collect([tmp_path], collection, with_copies=True) == Counts(known=1)


def test_a_damaged_part_is_named_and_its_reviews_are_collected_again(tmp_path: Path) -> None:
    fleet(tmp_path / "fleet")
    collection = Collection.make(tmp_path / "collection")
    collect([tmp_path / "fleet"], collection)
    (part,) = collection.parts()
    file = tmp_path / "collection" / part
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with Index.open(collection.address) as index:
        index.refresh()
        (row,) = index.reviews().rows
        assert (row.id, row.figures_read) == (part, False)
        assert "damaged" in row.problem
        assert collect([tmp_path / "fleet"], collection) == Counts(added=3)
        index.refresh()
        assert index.reviews().total == 4
        file.unlink()
        assert index.refresh().added == 3
        assert [row.problem for row in index.reviews().rows] == ["", "", ""]


def test_a_part_that_could_not_be_read_is_read_by_the_next_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = Collection.make(tmp_path / "collection")
    collect([fleet(tmp_path / "fleet")], collection)

    def unreachable(self: LocalPlace, name: str) -> bytes:
        raise IogaugeError(f"{name}: timeout", hint="check the network")

    with Index.open(collection.address) as index:
        with monkeypatch.context() as patch:
            patch.setattr(LocalPlace, "read", unreachable)
            for _ in range(2):
                assert index.refresh().added == 0
                (row,) = index.reviews().rows
                assert "timeout" in row.problem
        assert index.refresh().added == 3
        assert [row.problem for row in index.reviews().rows] == ["", "", ""]
        assert index.refresh().added == 0


def test_any_program_reads_the_files(tmp_path: Path) -> None:
    saved(tmp_path / "reviews" / "a", run=("p0", "p100"))
    saved(tmp_path / "reviews" / "b", run=("p0",), host="h2", created_at="2026-02-28T23:59:59-05:00")
    collect([tmp_path / "reviews"], Collection.make(tmp_path / "collection"))
    rows = duckdb.sql(
        f"SELECT month, host, count(iops) FROM '{tmp_path}/collection/reviews/*/*.parquet' reviews "
        f"JOIN '{tmp_path}/collection/figures/*/*.parquet' USING (review, version, month) "
        "GROUP BY ALL ORDER BY month"
    ).fetchall()
    assert rows == [("2026-01", "bench-1", 2), ("2026-03", "h2", 1)]


def test_other_directories_are_refused(tmp_path: Path) -> None:
    review = saved(tmp_path / "reviews" / "a", run=("p0",))
    with pytest.raises(IogaugeError, match="holds other files"):
        Collection.make(review.path)
    with pytest.raises(IogaugeError, match="no collection is here"):
        Collection.open(tmp_path)
    collection = Collection.make(tmp_path / "collection")
    with pytest.raises(IogaugeError, match="is a collection"):
        collect([tmp_path / "collection"], Collection.make(tmp_path / "other"))
    with pytest.raises(IogaugeError, match="cannot be listed"):
        collect([tmp_path / "nothing"], collection)
    (tmp_path / "collection" / "collection.json").write_text('{"iogauge_collection": 99}')
    with pytest.raises(IogaugeError, match="newer iogauge"):
        Collection.open(tmp_path / "collection")
