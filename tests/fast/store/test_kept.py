"""The file that keeps a served drive's data: made, known again, and no other file taken for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.store import kept
from iogauge.store.kept import read_kept
from iogauge.store.outputs import Claims

SIZE = 1 << 20


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def keep(path: str | Path, data: bytes = b"", claims: Claims | None = None) -> None:
    """Open the file, write to it, and close it."""
    opened = (claims or Claims()).kept(Path(path), size_bytes=SIZE)
    os.pwrite(opened.descriptor, data, 0)
    opened.close()


def refused(path: str | Path, why: str, claims: Claims | None = None) -> str:
    with pytest.raises(IogaugeError, match=why) as caught:
        keep(path, claims=claims)
    assert caught.value.hint
    return caught.value.hint


def test_a_file_is_made_sparse_and_opened_again_with_its_data() -> None:
    keep("store", b"data")
    assert Path("store").stat().st_size == SIZE
    assert Path("store").stat().st_blocks * 512 < SIZE
    Path("link").symlink_to("store")
    keep("link")
    assert Path("store").read_bytes()[:4] == b"data"


def test_a_file_of_the_same_size_is_somebody_else_s_until_its_owner_says_otherwise() -> None:
    image = Path("an image")
    image.write_bytes(b"\7" * SIZE)
    hint = refused(image, "is not marked as the data of a served drive")
    Path("link").symlink_to(image)
    refused("link", "is not marked")
    assert image.read_bytes() == b"\7" * SIZE
    command = hint.partition("setfattr ")[2]
    assert command == f"-n user.iogauge.store -v {SIZE} '{image}'"
    os.setxattr(image, "user.iogauge.store", str(SIZE).encode())
    keep(image, b"data")


def test_a_file_of_another_size_or_kind_is_refused(tmp_path: Path) -> None:
    keep("store")
    os.truncate("store", SIZE - 512)
    refused("store", "exists with 1048064 bytes, and the export has 1048576")
    os.mkfifo("pipe")
    refused("pipe", "not a regular file")
    refused(tmp_path, "is a directory")
    refused("/dev/zero", "is a character device")
    refused("missing/store", "there is no directory missing")
    refused("/dev/nvme99n1", "no such device")


def test_a_model_that_is_served_keeps_no_data() -> None:
    keep("mine.toml")
    refused("mine.toml", "is an input of this command", Claims(targets=["model:./mine.toml"]))


def test_a_file_that_another_program_has_locked_is_in_use() -> None:
    keep("store")
    code = "import fcntl; file = open('store', 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin
        assert other.stdout
        other.stdout.readline()
        refused("store", f"in use: locked by process {other.pid}")
        other.stdin.close()


def test_a_file_that_changes_places_while_it_is_opened_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("store")
    Path("other").write_bytes(bytes(SIZE))
    opened = os.open

    def swapped(path: Path, flags: int, *mode: int) -> int:
        Path("other").replace("store")
        return opened(path, flags, *mode)

    monkeypatch.setattr(kept.os, "open", swapped)
    refused("store", "was replaced while iogauge opened it")


def test_without_attributes_a_file_is_kept_once_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(kept.os, "setxattr", unsupported)
    monkeypatch.setattr(kept.os, "getxattr", unsupported)
    said: list[str] = []
    keep("store", claims=Claims(say=said.append))
    assert "no extended attributes" in said[0]
    refused("store", "no extended attributes")


def test_what_was_only_just_made_can_be_taken_back() -> None:
    first = Claims().kept(Path("store"), size_bytes=SIZE)
    again = Claims().kept(Path("store"), size_bytes=SIZE)
    again.withdraw()
    assert Path("store").exists()
    first.withdraw()
    assert not Path("store").exists()
    for opened in (first, again):
        opened.close()


def test_a_file_that_is_only_read_may_be_anybody_s() -> None:
    Path("image").write_bytes(b"\7" * SIZE)
    opened = read_kept(Path("image"), size_bytes=SIZE)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(opened.descriptor, b"x", 0)
    opened.close()
    for path, size, why in (("image", 512, "the export has 512"), ("missing", SIZE, "no such file")):
        with pytest.raises(IogaugeError, match=why):
            read_kept(Path(path), size_bytes=size)
    assert not Path("missing").exists()
