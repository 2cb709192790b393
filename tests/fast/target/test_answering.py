"""Whether targets answer: a child looks at them, each time anew, and what it read is not left in the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from pathlib import Path

import pytest

from iogauge.target import TargetRefused, answering
from iogauge.target.answering import await_answers, unanswered


def never(_: str) -> None:
    while True:
        signal.pause()


def test_each_wait_looks_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "drive.bin"
    target.write_bytes(bytes(4096))
    await_answers([str(target), "missing", "a\0b", "", "model:ram"])
    monkeypatch.setattr(answering, "_read_block", never)
    with pytest.raises(TargetRefused, match=r"drive.bin: it does not answer; gave up after 0.01 s"):
        await_answers([str(target)], patience_s=0.01)


def test_what_is_waited_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_read_block", lambda path: path == "second" and never(path))
    monkeypatch.setattr(answering, "_QUIET_S", 0.01)

    def say(words: str) -> None:
        # On a busy machine the first one's answer is waited for too.
        if not words.startswith("first"):
            raise KeyboardInterrupt(words)

    with pytest.raises(KeyboardInterrupt, match=r"^second: waiting for its file system or drive to answer$"):
        await_answers(["first", "second"], patience_s=600, say=say)


def test_of_a_target_that_answers_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_QUIET_S", 600)
    await_answers(["missing", "/dev/null"], patience_s=1200, say=pytest.fail)


def test_what_did_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unanswered(["missing", "/dev/null", "model:ram"], patience_s=60) == frozenset()
    assert unanswered([], patience_s=60) == frozenset()
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", lambda path: path == "b" and never(path))
        # On a busy machine the child may take longer to reach "a": wait until it has.
        patience_s = 0.1
        while "a" in (missing := unanswered("abc", patience_s=patience_s)) and patience_s < 60:
            patience_s *= 4
        assert missing == {"b", "c"}
        patched.setattr(os, "stat", lambda path: path == "b" and os._exit(1))
        assert unanswered("abc", patience_s=60) == {"b", "c"}


def test_the_child_tries_no_more_numbers_than_there_are_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "open").open("wb") as file:
        closed: list[int] = []
        monkeypatch.setattr(os, "close", closed.append)
        answering._close_from(4)
        monkeypatch.undo()
        assert file.fileno() in closed
    assert min(closed) >= 4
    assert len(closed) < 1000


def test_a_look_leaves_nothing_in_the_page_cache(tmp_path: Path) -> None:
    target = tmp_path / "drive.bin"
    target.write_bytes(bytes(1 << 20))
    with target.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if cached(file.fileno()):
            pytest.skip("this file system keeps its pages")
        await_answers([str(target)])
        assert not cached(file.fileno())


def cached(descriptor: int) -> bool:
    """Ask mincore whether the first block is in memory. A read would not do, even with RWF_NOWAIT: it reads ahead."""
    with mmap.mmap(descriptor, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE) as mapped:
        resident = (ctypes.c_ubyte * 1)()
        start = ctypes.addressof(block := ctypes.c_char.from_buffer(mapped))
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(start), ctypes.c_size_t(mmap.PAGESIZE), resident)
        del block  # The mapping cannot be closed while it is referred to.
        assert not failed
        return bool(resident[0] & 1)
