"""A collection in an object store, as fsspec's store in memory has it, and reviews that are collected from one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from iogauge.errors import IogaugeError
from iogauge.index import Index
from iogauge.index.collection.collect import Counts, collect
from iogauge.index.collection.place import open_place
from iogauge.index.collection.stored import Collection
from tests.fast.index.saved import complete, saved


@pytest.fixture
def store() -> Iterator[str]:
    """The address of an empty store."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield "memory://lab/data"
    MemoryFileSystem.store.clear()


def upload(directory: Path, address: str) -> None:
    place = open_place(address)
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            place.write(path.relative_to(directory).as_posix(), path.read_bytes())


def test_a_collection_is_read_from_a_store(tmp_path: Path, store: str) -> None:
    review = saved(tmp_path / "reviews" / "a", run=("p0",))
    saved(tmp_path / "reviews" / "b", host="h2", run=("p0", "p100"))
    collection = Collection.make(f"{store}/collection")
    assert collect([tmp_path / "reviews"], collection, with_copies=True) == Counts(added=2, copied=2)
    complete(review, "p100")
    assert collect([tmp_path / "reviews"], collection) == Counts(added=1, known=1)
    assert len(collection.copies()) == 2
    with Index.open(f"{store}/collection/") as index:
        assert index.refresh().added == 2
        assert not index.refresh().added
        assert [(row.host, row.complete) for row in index.reviews(order="host").rows] == [
            ("bench-1", 2),
            ("h2", 2),
        ]
        assert index.query("SELECT count(*) AS rows FROM figures").to_pylist() == [{"rows": 4}]
        ids = [row.id for row in index.reviews().rows]
        assert index.compare(ids, ids[0], ["mean_ns"]).num_rows == 4
        assert index.path(ids[0]) is None  # its copy is no directory of this computer
        assert index.place == f"{store}/collection"


def test_reviews_are_collected_from_a_store(tmp_path: Path, store: str) -> None:
    saved(tmp_path / "reviews" / "fleet" / "hosts" / "h1", host="h1", run=("p0", "p100"))
    review = saved(tmp_path / "reviews" / "b", run=("p0",))
    (tmp_path / "reviews" / "bad").mkdir()
    (tmp_path / "reviews" / "bad" / "manifest.json").write_text("{")
    upload(tmp_path / "reviews", f"{store}/reviews")
    collection = Collection.make(tmp_path / "collection")
    counts = collect([f"{store}/reviews"], collection, with_copies=True)
    assert (counts.added, counts.copied) == (2, 2)
    assert [one.source for one in counts.skipped] == [f"{store}/reviews/bad"]
    counts = collect([f"{store}/reviews", tmp_path / "reviews"], collection)
    assert (counts.added, counts.known) == (0, 4)  # the same reviews, wherever they are
    complete(review, "p100")
    upload(tmp_path / "reviews", f"{store}/reviews")
    assert collect([f"{store}/reviews"], collection).added == 1
    with Index.open(collection.address) as index:
        index.refresh()
        rows = index.reviews(order="host").rows
    assert [(row.source, row.complete) for row in rows] == [
        (f"{store}/reviews/b", 2),
        (f"{store}/reviews/fleet/hosts/h1", 2),
    ]


def test_a_store_that_cannot_be_read_is_named(store: str) -> None:
    with pytest.raises(IogaugeError, match=f"{store}/none: no collection is here"):
        Collection.open(f"{store}/none")
    open_place(f"{store}/other").write("file", b"content")
    with pytest.raises(IogaugeError, match="holds other files"):
        Collection.make(f"{store}/other")
    with pytest.raises(IogaugeError, match="cannot open it") as refused:
        Collection.open("unknownstore://bucket/data")
    assert refused.value.hint is not None
    assert "pip install" in refused.value.hint
    with pytest.raises(IogaugeError, match="cannot be read"):
        open_place(store).read("none")


def test_a_missing_fsspec_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(IogaugeError, match="not installed") as refused:
        open_place("memory://lab")
    assert refused.value.hint is not None
    assert "fsspec" in refused.value.hint
