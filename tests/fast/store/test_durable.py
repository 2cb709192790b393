"""Files that users name are there whole or not at all, and what is no plain file is written straight."""

from __future__ import annotations

import os
import resource
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.store.durable import explained, goes_on, replace_file
from iogauge.store.outputs import Claims, Existing

LIMIT_BYTES = 64 * 1024


def write_output(path: Path, data: bytes) -> None:
    Claims().file(path, existing=Existing.REPLACE).write(data)


@pytest.fixture
def little_room() -> Iterator[None]:
    """Files cannot grow beyond a limit; writing more fails as on a full disk, in the middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.usefixtures("little_room")
def test_a_file_without_room_stays_as_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("the former page")
    with pytest.raises(IogaugeError, match=r"page.html: cannot write: File too large") as caught:
        write_output(page, b"x" * (2 * LIMIT_BYTES))
    assert caught.value.hint
    assert "--resume" not in caught.value.hint
    assert page.read_text() == "the former page"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_pipe_is_written_into_and_a_link_stays_one(tmp_path: Path) -> None:
    pipe, link, plain = tmp_path / "pipe", tmp_path / "link", tmp_path / "plain"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_output(pipe, b"page")
    reader.join()
    assert heard == [b"page"]
    plain.write_text("before")
    link.symlink_to(plain)
    write_output(link, b"page")
    assert link.is_symlink()
    assert plain.read_bytes() == b"page"


def test_nothing_beside_a_file_is_touched_and_its_mode_is_kept(tmp_path: Path) -> None:
    page, victim, own = tmp_path / "page.html", tmp_path / "victim", tmp_path / ".page.html.tmp"
    victim.write_text("somebody's")
    own.symlink_to(victim)
    page.write_text("before")
    page.chmod(0o600)
    write_output(page, b"page")
    assert page.read_bytes() == b"page"
    assert not page.is_symlink()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert victim.read_text() == "somebody's"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".page.html.tmp", "page.html", "victim"]
    new = tmp_path / ("n" * 255)
    write_output(new, b"page")
    before = os.umask(0)
    os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o666 & ~before


def test_a_review_s_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("somebody's")
    (tmp_path / ".manifest.json.tmp").symlink_to(victim)
    with pytest.raises(IogaugeError, match=r"manifest.json: cannot write"):
        replace_file(tmp_path / "manifest.json", b"{}")
    assert victim.read_text() == "somebody's"


def test_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="File name too long") as caught:
        write_output(tmp_path / ("n" * 300), b"page")
    assert caught.value.hint == "choose a shorter name"


def test_what_a_review_says_beside_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError) as caught, explained("write", tmp_path, then=goes_on()):
        (tmp_path / "missing" / "file").write_text("")
    assert str(caught.value) == f"{tmp_path}: cannot write: No such file or directory"
    assert caught.value.hint is not None
    assert caught.value.hint.endswith(f"; {goes_on()}")


def test_what_ctrl_c_kept_from_being_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_output(tmp_path / "page.html", b"page")
    assert list(tmp_path.iterdir()) == []
