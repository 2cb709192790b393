"""Files: made by iogauge and known again, laid out whole, and nobody else's ever overwritten."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from iogauge.target import Target, TargetRefused, layout, mark, noise, open_target

MIB = 1 << 20


def make(path: Path, *, size_bytes: int = MIB) -> None:
    open_target(str(path), write=True, size_bytes=size_bytes).close()


def refused(path: Path | str, *, write: bool = True, **options: object) -> TargetRefused:
    with pytest.raises(TargetRefused) as caught:
        open_target(str(path), write=write, **options).close()  # type: ignore[arg-type]
    assert caught.value.hint
    assert str(path) in str(caught.value)
    return caught.value


def opened(path: Path | str, **options: object) -> Target:
    target = open_target(str(path), write=True, **options)  # type: ignore[arg-type]
    target.close()
    return target


@pytest.fixture(params=["attribute", "sidecar"])
def marking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Both ways to mark a file: with and without extended attributes."""
    if request.param == "attribute":
        try:
            os.setxattr(tmp_path, "user.probe", b"")
        except OSError:
            pytest.skip("the filesystem of the temporary directory has no extended attributes")
    if request.param == "sidecar":

        def unsupported(*_: object) -> None:
            raise OSError(errno.ENOTSUP, "Operation not supported")

        monkeypatch.setattr(os, "setxattr", unsupported)
        monkeypatch.setattr(os, "getxattr", unsupported)
    return str(request.param)


# --- Making --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [True, False])
def test_a_missing_file_is_made_whole(tmp_path: Path, write: bool) -> None:
    path = tmp_path / "new.bin"
    with open_target(str(path), write=write, size_bytes=3 * MIB) as target:
        assert target.writable is write
        assert target.size_bytes == 3 * MIB
        assert target.facts.kind == "file"
        assert target.facts.real_path == str(path)
    data = path.read_bytes()
    assert len(data) == 3 * MIB
    assert len(zlib.compress(data)) > len(data)
    blocks = {data[at : at + 4096] for at in range(0, len(data), 4096)}
    assert len(blocks) == len(data) // 4096
    assert path.stat().st_blocks * 512 >= 3 * MIB


def test_a_descriptor_for_reading_cannot_write(tmp_path: Path) -> None:
    with open_target(str(tmp_path / "new.bin"), write=False, size_bytes=MIB) as target:
        assert len(os.pread(target.fd, 4096, 0)) == 4096
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(target.fd, b"x", 0)


def test_a_size_that_is_no_multiple_of_anything(tmp_path: Path) -> None:
    make(tmp_path / "odd.bin", size_bytes=10_007)
    assert (tmp_path / "odd.bin").stat().st_size == 10_007


@pytest.mark.parametrize("size_bytes", [None, 0])
def test_a_missing_file_without_a_size(tmp_path: Path, size_bytes: int | None) -> None:
    assert "no such file" in str(refused(tmp_path / "none.bin", write=False, size_bytes=size_bytes))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_not_made(tmp_path: Path) -> None:
    assert "there is no directory" in str(refused(tmp_path / "no" / "new.bin", size_bytes=MIB))


def test_over_four_fifths_of_the_free_space(tmp_path: Path) -> None:
    filesystem = os.statvfs(tmp_path)
    error = refused(tmp_path / "big.bin", size_bytes=filesystem.f_bavail * filesystem.f_frsize * 9 // 10)
    assert "over 80%" in str(error)
    assert list(tmp_path.iterdir()) == []


# --- Knowing again -------------------------------------------------------------------------------------------


def test_ours_is_opened_again_and_again(tmp_path: Path, marking: str) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    assert (tmp_path / ".ours.bin.iogauge").exists() == (marking == "sidecar")
    for _ in range(2):
        with open_target(str(path), write=True) as target:
            os.pwrite(target.fd, b"x" * 4096, 4096)


def test_ours_is_extended(tmp_path: Path, marking: str) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    before = path.read_bytes()
    with open_target(str(path), write=False, size_bytes=2 * MIB) as target:
        assert target.size_bytes == 2 * MIB
    assert path.read_bytes()[:MIB] == before
    assert opened(path, size_bytes=MIB).size_bytes == 2 * MIB


def test_a_strangers_file_is_not_written(tmp_path: Path, marking: str) -> None:
    path = tmp_path / "thesis.tex"
    path.write_text("years of work")
    for size_bytes in (None, 4, MIB):
        assert "iogauge did not make it" in str(refused(path, size_bytes=size_bytes))
    assert "iogauge did not make it" in str(refused(path, write=False, size_bytes=MIB))
    assert path.read_text() == "years of work"
    with open_target(str(path), write=False) as target:
        assert target.size_bytes == 13


def test_an_empty_strangers_file_is_not_written_either(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert "iogauge did not make it" in str(refused(tmp_path / "empty", size_bytes=MIB))
    assert "empty" in str(refused(tmp_path / "empty", write=False))


def test_a_copy_of_ours_is_not_ours(tmp_path: Path, marking: str) -> None:
    path, copy = tmp_path / "ours.bin", tmp_path / "copy.bin"
    make(path)
    subprocess.run(["cp", "-a", str(path), str(copy)], check=True)
    if marking == "sidecar":
        shutil.copy(tmp_path / ".ours.bin.iogauge", tmp_path / ".copy.bin.iogauge")
    assert "copy or a replacement" in str(refused(copy))


def test_a_file_that_took_the_place_of_ours(tmp_path: Path, marking: str) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    path.unlink()
    path.write_bytes(b"theirs")
    error = str(refused(path))
    assert "iogauge did not make it" in error or "replacement" in error


def test_a_reused_inode_is_told_by_its_birth(
    tmp_path: Path, marking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    monkeypatch.setattr(mark, "birth_ns", lambda _: 1)
    assert "copy or a replacement" in str(refused(path))


def test_where_files_have_no_birth_the_last_use_must_be_known(
    tmp_path: Path, marking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mark, "birth_ns", lambda _: None)
    path = tmp_path / "ours.bin"
    make(path)
    opened(path)
    fd = os.open(path, os.O_RDWR)
    mark.put_mark(fd, str(path), in_use=True)
    os.close(fd)
    assert "does not record" in str(refused(path))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b'{"inode": 1}', b'{"inode": "x", "birth_ns": 1, "modified_ns": 1}', b"\xff"],
)
def test_a_damaged_mark_is_no_mark(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "ours.bin"
    path.write_bytes(b"data")
    (tmp_path / ".ours.bin.iogauge").write_bytes(text)
    assert "iogauge did not make it" in str(refused(path))


# --- --destroy -----------------------------------------------------------------------------------------------


def test_destroy_must_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "theirs.bin"
    path.write_bytes(bytes(MIB))
    for wrong in ("", "theirs.bin", str(tmp_path), str(path) + "x", "SERIAL"):
        refused(path, destroy=(wrong,))
    assert opened(path, destroy=("SERIAL", str(path))).size_bytes == MIB
    assert opened(path, destroy=(str(path),), size_bytes=2 * MIB).size_bytes == 2 * MIB
    # Once is not for ever.
    refused(path)


def test_a_link_leads_to_the_file(tmp_path: Path) -> None:
    path, link = tmp_path / "theirs.bin", tmp_path / "link"
    path.write_bytes(bytes(MIB))
    link.symlink_to("theirs.bin")
    refused(link)
    assert opened(link, destroy=(str(path),)).facts.real_path == str(path)
    opened(link, destroy=(str(link),))
    opened(path, destroy=(str(link),))


def test_a_dangling_link_makes_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new.bin")
    make(tmp_path / "link")
    assert (tmp_path / "new.bin").stat().st_size == MIB
    assert (tmp_path / "link").is_symlink()


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    refused(tmp_path / "one", size_bytes=MIB)


def test_a_file_with_two_names(tmp_path: Path) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    os.link(path, tmp_path / "other.bin")
    assert "2 names" in str(refused(path))
    opened(path, destroy=(str(path),))


# --- Not a target --------------------------------------------------------------------------------------------


def test_a_mistyped_device_does_not_become_a_file() -> None:
    path = "/dev/nvme77n77"
    for write in (True, False):
        assert "no such device" in str(refused(path, write=write, size_bytes=MIB))
    assert not Path(path).exists()


def test_what_is_no_target(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    for path, kind in (
        (tmp_path, "a directory"),
        (tmp_path / "pipe", "a pipe"),
        (tmp_path / "socket", "a socket"),
        ("/dev/null", "a character device"),
    ):
        for write in (True, False):
            assert f"it is {kind}" in str(refused(path, write=write, destroy=(str(path),)))
    with pytest.raises(TargetRefused):
        open_target("", write=False)
    with pytest.raises(TargetRefused):
        open_target("a\0b", write=False)


def test_a_name_that_is_not_utf_8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.bin")
    with pytest.raises(TargetRefused, match="is not UTF-8"):
        open_target(path, write=True, size_bytes=MIB)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_iogauge_writes(tmp_path: Path) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    with open_target(str(path), write=True):
        assert "another iogauge" in str(refused(path))
        with open_target(str(path), write=False):
            pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_a_file_that_may_not_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"x")
    path.chmod(0)
    assert "Permission denied" in str(refused(path, write=False))


# --- When laying out fails -----------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def _after(calls: int, error: BaseException) -> object:
    """A pwrite that writes a part each time, and fails after so many calls."""
    real, left = os.pwrite, [calls]

    def pwrite(fd: int, data: memoryview, offset: int) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise error
        return real(fd, data[:100_000], offset)

    return pwrite


def test_an_interrupted_layout_goes_on_where_it_stopped(
    tmp_path: Path, marking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.bin"
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _after(3, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            open_target(str(path), write=True, size_bytes=MIB, on_message=said.append)
    assert path.stat().st_size == 300_000
    assert "continues there" in said[-1]
    kept = path.read_bytes()
    assert opened(path, size_bytes=MIB).size_bytes == MIB
    size_bytes = 300_000 // 4096 * 4096
    assert path.read_bytes()[:size_bytes] == kept[:size_bytes]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_failed_layout_leaves_nothing(
    tmp_path: Path, marking: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "pwrite", _after(3, OSError(number, "")))
    assert os.strerror(number) in str(refused(tmp_path / "new.bin", size_bytes=MIB))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_extension_keeps_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ours.bin"
    make(path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _after(3, OSError(errno.ENOSPC, "")))
        refused(path, size_bytes=2 * MIB)
    assert path.read_bytes() == before
    opened(path)


def test_a_limit_on_file_size_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from iogauge.target import open_target, TargetRefused;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "try: open_target(sys.argv[1], write=True, size_bytes=8 << 20)\n"
        "except TargetRefused as error: print(error.render())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "new.bin")],
        capture_output=True,
        text=True,
        check=True,
        env=_environment(),
    )
    assert "File too large" in done.stdout
    assert "ulimit -f" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_long_work_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_CHUNK_BYTES", MIB // 4)
    monkeypatch.setattr(layout, "_MESSAGE_EVERY_S", 0)
    said: list[str] = []
    open_target(str(tmp_path / "new.bin"), write=True, size_bytes=MIB, on_message=said.append).close()
    assert "writing 1.00 MiB of random data" in said[0]
    assert [line.split("(")[1] for line in said[1:]] == ["25 %)", "50 %)", "75 %)"]


def _descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"x")
    make(tmp_path / "ours.bin")
    before = _descriptors()
    for path in (tmp_path / "theirs", tmp_path, tmp_path / "no" / "file", "/dev/null"):
        refused(path, size_bytes=MIB)
    opened(tmp_path / "ours.bin")
    open_target(str(tmp_path / "ours.bin"), write=False, size_bytes=2 * MIB).close()
    assert _descriptors() == before


def test_a_closed_target_has_no_descriptor(tmp_path: Path) -> None:
    target = open_target(str(tmp_path / "new.bin"), write=True, size_bytes=4096)
    target.close()
    target.close()
    with pytest.raises(ValueError, match="closed"):
        _ = target.fd
