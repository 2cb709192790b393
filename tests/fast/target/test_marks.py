"""A file that iogauge made and somebody else has changed since is theirs; one that a killed run left is not."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.target import TargetRefused, mark, noise, open_target

MIB = 1 << 20
CHANGED = "something else has changed it"
NOT_LEFT = "not what a killed run of iogauge leaves"
TEXT = b"years of work, \n" * (MIB // 16)


def use(path: Path, *, size_bytes: int | None = MIB, data: bytes = b"") -> None:
    """A run: opened for writing, written to, and closed."""
    with open_target(str(path), write=True, size_bytes=size_bytes) as target:
        os.pwrite(target.fd, data, 0)


def refused(path: Path, because: str) -> None:
    before = path.read_bytes()
    for size_bytes in (None, 2 * MIB):
        with pytest.raises(TargetRefused, match=because) as caught:
            use(path, size_bytes=size_bytes)
        assert caught.value.hint is not None
        assert f"destroy=['{path}']" in caught.value.hint
    assert path.read_bytes() == before


@pytest.fixture(params=["attribute", "sidecar"], autouse=True)
def marking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Both ways to mark a file; killed runs are processes, which have the filesystem's own way."""
    if request.param == "attribute":
        try:
            os.setxattr(tmp_path, "user.probe", b"")
        except OSError:
            pytest.skip("the filesystem of the temporary directory has no extended attributes")
    else:

        def unsupported(*_: object) -> None:
            raise OSError(errno.ENOTSUP, "Operation not supported")

        monkeypatch.setattr(os, "setxattr", unsupported)
        monkeypatch.setattr(os, "getxattr", unsupported)
    return str(request.param)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours.bin"
    use(path)
    return path


# --- Left properly -------------------------------------------------------------------------------------------


def test_whatever_a_run_wrote_is_ours(ours: Path) -> None:
    for data in (TEXT, bytes(MIB)):
        use(ours, data=data)
    use(ours)


@pytest.mark.parametrize("content", [b"my thesis", TEXT, os.urandom(MIB)], ids=["short", "text", "random"])
def test_a_copy_into_it_at_once_is_not_ours(ours: Path, tmp_path: Path, content: bytes) -> None:
    precious = tmp_path / "precious.dat"
    precious.write_bytes(content)
    before = ours.stat()
    subprocess.run(["cp", precious, ours], check=True)
    assert ours.stat().st_ino == before.st_ino
    refused(ours, CHANGED)


def test_a_time_that_was_set_back_deceives_nobody(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp_ns = ours.stat().st_mtime_ns
    ours.write_bytes(TEXT)
    os.utime(ours, ns=(stamp_ns, stamp_ns))
    # As if it had happened long after.
    monkeypatch.setattr(mark, "_MARKING_NS", -(10**9))
    refused(ours, CHANGED)


def test_a_change_of_its_inode_alone_is_no_change(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.chmod(0o600)
    monkeypatch.setattr(mark, "_MARKING_NS", -(10**9))
    use(ours)


@pytest.mark.parametrize(("name", "value"), [("_EXACT", frozenset()), ("_FINE_STAMP_NS", 1)])
def test_where_times_are_coarse_the_content_decides(
    ours: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(mark, name, value)
    use(ours)
    use(ours, data=TEXT)
    refused(ours, CHANGED)


# --- Killed --------------------------------------------------------------------------------------------------


def killed(path: Path, program: str) -> None:
    """Open the file in a process of its own that ends itself by SIGKILL where the program says die()."""
    begin = "import os, signal, sys; from iogauge.target import open_target\n"
    die = "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + die + program, str(path)],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == -signal.SIGKILL


RUN = f"""
with open_target(sys.argv[1], write=True, size_bytes={MIB}) as target:
    os.pwrite(target.fd, os.urandom(8192) + bytes(4096) + (os.urandom(256) + bytes(256)) * 8, 0)
    die()
"""
LAYOUT = f"""
from iogauge.target import layout
noise, calls = layout.noise, [2]
def slow(seed, at, end):
    calls[0] -= 1
    return die() if calls[0] < 0 else noise(seed, at, end)[:300_000]
layout.noise = slow
open_target(sys.argv[1], write=True, size_bytes={MIB})
"""


@pytest.fixture
def after_kill(marking: str, tmp_path: Path) -> Path:
    """Where a run will be killed: by attribute only, and where a file's birth is known."""
    if marking == "sidecar":
        pytest.skip("the process that is killed marks by attribute")
    with (tmp_path / "probe").open("w") as file:
        if mark.birth_ns(file.fileno()) is None:
            pytest.skip("the filesystem of the temporary directory keeps no time of birth")
    return tmp_path / "ours.bin"


def test_what_a_killed_run_left_is_ours(after_kill: Path) -> None:
    for _ in range(2):
        killed(after_kill, RUN)
    use(after_kill)


@pytest.mark.parametrize(
    "content",
    [b"my thesis", b"", TEXT, b"PK\3\4" + os.urandom(MIB - 4), b"\1" + bytes(MIB - 1), os.urandom(MIB - 1)],
    ids=["short", "empty", "text", "zip", "one byte", "shorter"],
)
def test_what_was_written_into_it_since_is_not(after_kill: Path, content: bytes) -> None:
    killed(after_kill, RUN)
    after_kill.write_bytes(content)
    refused(after_kill, NOT_LEFT)


def test_a_filesystem_made_in_it_since_is_not(after_kill: Path) -> None:
    killed(after_kill, RUN)
    with after_kill.open("r+b") as file:
        file.seek(65600)
        file.write(b"_BHRfS_M")
    refused(after_kill, NOT_LEFT)


def test_a_killed_layout_goes_on(after_kill: Path) -> None:
    killed(after_kill, LAYOUT)
    assert after_kill.stat().st_size == 600_000
    killed(after_kill, LAYOUT.replace("[2]", "[0]"))
    killed(after_kill, LAYOUT.replace("[2]", "[1]"))
    kept = after_kill.read_bytes()
    use(after_kill)
    assert after_kill.stat().st_size == MIB
    length = len(kept) // 4096 * 4096
    assert after_kill.read_bytes()[:length] == kept[:length]


@pytest.mark.parametrize(
    "content", [b"my thesis", os.urandom(8192), os.urandom(MIB)], ids=["short", "part", "all"]
)
def test_what_was_written_into_a_killed_layout_is_not_ours(after_kill: Path, content: bytes) -> None:
    killed(after_kill, LAYOUT)
    after_kill.write_bytes(content)
    refused(after_kill, NOT_LEFT)


# --- Noise ---------------------------------------------------------------------------------------------------


def test_noise_is_the_same_from_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_CHUNK_BYTES", 8192)
    content = bytes(noise.noise(7, 0, 8192)) + bytes(noise.noise(7, 8192, 20_001))
    assert len(content) == 16384
    for at in (0, 1, 4096, 8191, 8192, 10_000):
        piece = bytes(noise.noise(7, at, at + 777))
        assert piece == content[at : at + len(piece)]
    assert bytes(noise.noise(8, 0, 64)) != content[:64]


@pytest.mark.parametrize("size_bytes", [512, 4096, 4099, 10_007, MIB, 5 * MIB + 3])
def test_random_content_may_always_be_ours(tmp_path: Path, size_bytes: int) -> None:
    with (tmp_path / "content").open("w+b") as file:
        file.write(os.urandom(size_bytes))
        file.flush()
        assert noise.may_be_ours(file.fileno())


def test_this_very_file_is_not(tmp_path: Path) -> None:
    for path in (Path(__file__), Path(sys.executable)):
        with path.open("rb") as file:
            assert not noise.may_be_ours(file.fileno())
