"""Purging a file gives back all that it holds, asks first, and leaves it iogauge's own."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution import purge
from iogauge.target import open_target

MIB = 1 << 20


def laid_out(path: Path) -> Path:
    with open_target(str(path), write=True, size_bytes=4 * MIB):
        pass
    return path


def test_a_file_is_as_large_as_it_was_and_holds_nothing(tmp_path: Path) -> None:
    path, said = laid_out(tmp_path / "f.bin"), []
    before = path.stat()
    assert before.st_blocks * 512 >= 4 * MIB
    purge(str(path), on_message=said.append)
    after = path.stat()
    assert (after.st_size, after.st_ino) == (4 * MIB, before.st_ino)
    # What is left may be the block of an attribute.
    assert after.st_blocks * 512 <= 8192
    assert path.read_bytes() == bytes(4 * MIB)
    assert said == [f"{path}: purged: 4.194 MB given back to the file system"]


def test_it_can_be_written_and_purged_again(tmp_path: Path) -> None:
    path = laid_out(tmp_path / "f.bin")
    for _ in range(2):
        purge(str(path))
        with open_target(str(path), write=True, size_bytes=4 * MIB) as target:
            os.pwrite(target.fd, os.urandom(4 * MIB), 0)


def test_a_file_of_somebody_else_s_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir,\n" * 1000)
    with pytest.raises(IogaugeError, match="iogauge did not make it"):
        purge(str(path))
    assert path.read_text().startswith("Dear Sir")
    purge(str(path), destroy=[str(path)])
    assert set(path.read_bytes()) == {0}


def test_what_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="no such file"):
        purge(str(tmp_path / "none.bin"))
    assert not list(tmp_path.iterdir())


def test_a_model_has_nothing_to_purge() -> None:
    said: list[str] = []
    purge("model:p4800x", on_message=said.append)
    assert said == []


def test_where_it_cannot_be_done_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setitem(purge.__globals__, "_punch", unable)
    with pytest.raises(IogaugeError, match="does not support holes") as caught:
        purge(str(laid_out(tmp_path / "f.bin")))
    assert "state='as-is'" in str(caught.value.hint)
