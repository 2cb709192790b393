"""The cache of texts: made once, made again if damaged, bounded, and never needed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from iogauge.store import cache


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "iogauge"


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        return "µ\r\nsecond line"


def test_a_text_is_made_once_for_each_source(directory: Path) -> None:
    make = Maker()
    assert {cache.cached("a", make) for _ in range(3)} == {"µ\r\nsecond line"}
    assert make.calls == 1
    cache.cached("b", make)
    assert make.calls == len(list(directory.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"other", b"\xff\n", b"0\nsecond line"])
def test_a_damaged_file_is_made_again(directory: Path, content: bytes) -> None:
    make = Maker()
    cache.cached("a", make)
    (file,) = directory.iterdir()
    sound = file.read_bytes()
    file.write_bytes(content)
    assert cache.cached("a", make) == "µ\r\nsecond line"
    assert make.calls == 2
    assert file.read_bytes() == sound


def test_a_cache_that_cannot_be_written_costs_time_only(directory: Path) -> None:
    directory.write_bytes(b"a file where the directory would be")
    make = Maker()
    cache.cached("a", make)
    assert cache.cached("a", make) == "µ\r\nsecond line"
    assert make.calls == 2


def test_a_cache_that_can_only_be_read_is_read(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    make = Maker()
    cache.cached("a", make)
    monkeypatch.setattr(os, "utime", refused)
    assert cache.cached("a", make) == "µ\r\nsecond line"
    assert make.calls == 1


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", classmethod(lambda _: (_ for _ in ()).throw(RuntimeError("no home"))))
    assert cache.cached("a", Maker()) == "µ\r\nsecond line"


def test_the_files_unused_for_longest_are_removed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 2)
    make = Maker()
    for age, source in enumerate("abc"):
        cache.cached(source, make)
        newest = max(directory.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    assert make.calls == 3
    cache.cached("b", make)  # in use again
    cache.cached("d", make)
    assert len(list(directory.iterdir())) == 2
    cache.cached("b", make)
    assert make.calls == 4
    cache.cached("c", make)
    assert make.calls == 5
