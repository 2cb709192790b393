"""The file of an index is never the only copy of anything: it is made anew, or a private copy takes its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from iogauge.errors import IogaugeError
from iogauge.index import Index, database
from tests.fast.index.saved import saved

FILE, LOCK = ".iogauge-index.duckdb", ".iogauge-index.lock"

HOLD = """
import sys
from pathlib import Path
from iogauge.index import Index
with Index.open(sys.argv[1]) as index:
    index.refresh()
    print("open", flush=True)
    sys.stdin.readline()
"""


def listed(directory: Path) -> list[str]:
    """Open the index, refresh it, and return what it lists."""
    with Index.open(directory) as index:
        index.refresh()
        return [row.id for row in index.reviews(order="id").rows]


def test_the_index_is_kept_beside_the_reviews(tmp_path: Path) -> None:
    saved(tmp_path / "a", run=("p0",))
    assert listed(tmp_path) == ["a"]
    assert {path.name for path in tmp_path.iterdir()} == {"a", FILE, LOCK}
    with Index.open(tmp_path) as index:  # not refreshed
        assert [row.id for row in index.reviews().rows] == ["a"]
        assert index.figures(["a"]).num_rows == 1


@pytest.mark.parametrize("damage", [b"", b"not a database", b"\0" * 20_000])
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    saved(tmp_path / "a")
    listed(tmp_path)
    (tmp_path / FILE).write_bytes(damage)
    assert listed(tmp_path) == ["a"]


def test_damage_within_the_file_is_mended_by_the_next_refresh(tmp_path: Path) -> None:
    for number in range(5):
        saved(tmp_path / f"{number}", run=("p0",))
    listed(tmp_path)
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    data[8192:] = bytes(byte ^ 0x55 for byte in data[8192:])
    path.write_bytes(data)
    assert listed(tmp_path) == ["0", "1", "2", "3", "4"]


def test_an_index_of_another_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "a")
    listed(tmp_path)
    monkeypatch.setattr(database, "VERSION", database.VERSION + 1)
    with Index.open(tmp_path) as index:
        assert index.reviews().total == 0
    assert listed(tmp_path) == ["a"]


def test_another_process_works_on_a_copy_of_its_own(tmp_path: Path) -> None:
    saved(tmp_path / "a", run=("p0",))
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"open\n"
        said: list[str] = []
        with Index.open(tmp_path, say=said.append) as index:
            assert "in use" in said[0]
            assert [row.id for row in index.reviews().rows] == ["a"]
            saved(tmp_path / "b")
            assert index.refresh().added == 1
            assert index.sql("SELECT count(*) AS n FROM reviews", timeout_s=300).to_pylist() == [{"n": 2}]
            private = index._database.path
        other.stdin.close()
        assert other.wait() == 0
    assert not private.exists()
    with Index.open(tmp_path) as index:
        assert [row.id for row in index.reviews().rows] == ["a"]


@pytest.mark.parametrize("make", ["link", "directory", "hard link"])
def test_what_is_no_file_of_its_own_is_left_alone(tmp_path: Path, make: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    served = tmp_path / "served"
    saved(served / "a")
    if make == "link":
        (served / FILE).symlink_to(precious)
    elif make == "hard link":
        (served / FILE).hardlink_to(precious)
    else:
        (served / FILE).mkdir()
    said: list[str] = []
    with Index.open(served, say=said.append) as index:
        index.refresh()
        assert index.reviews().total == 1
    assert said
    assert precious.read_text() == "precious"


def test_a_directory_that_cannot_be_written_has_a_private_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "a")
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    assert listed(tmp_path) == ["a"]
    assert {path.name for path in tmp_path.iterdir()} == {"a"}


def test_an_index_is_not_removed_for_want_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "a")
    listed(tmp_path)
    before = (tmp_path / FILE).stat().st_ino

    def fail(*_: object, **__: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")

    with Index.open(tmp_path) as index:
        monkeypatch.setattr("iogauge.index.index.refresh", fail)
        with pytest.raises(IogaugeError, match="failed to allocate"):
            index.refresh()
        assert index.reviews().total == 1
    monkeypatch.setattr(database, "connect", fail)
    assert database._opened(tmp_path / FILE) is None
    assert (tmp_path / FILE).stat().st_ino == before


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database, "copy_database", fail)
    with pytest.raises(OSError, match="No space left"):
        database.private_copy(tmp_path / FILE, tmp_path / "copies")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_stays_as_long_as_a_statement_asks_it(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        with index._copy() as copies:
            copies.mkdir()
            index._database.generation += 1
            with index._copy():
                assert copies.exists()
        with index._copy():
            assert not copies.exists()


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    index = Index.open(tmp_path)
    index.close()
    with pytest.raises(IogaugeError):
        index.reviews()
