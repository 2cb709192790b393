"""fio's verify: each program verifies what the other wrote, both find the same damage, and both make the same calls.

Needs fio 3.33, whose header is written, and neither root nor a device. The order of calls needs strace as well.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, call, trace

pytestmark = pytest.mark.skipif(
    shutil.which("fio") is None
    or "fio-3.3"
    not in subprocess.run(["fio", "--version"], capture_output=True, text=True, check=False).stdout,
    reason="needs fio 3.3x: newer versions have another header",
)
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")

CHECKSUMS = (
    "md5", "crc64", "crc32", "crc32c", "crc32c-intel", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224",
    "sha3-256", "sha3-384", "sha3-512", "xxhash", "meta",
)  # fmt: skip
PATTERN = "--verify_pattern=0xdeadbeef%o12"

LAYOUTS: dict[str, list[str]] = {
    **{checksum: [f"--verify={checksum}"] for checksum in CHECKSUMS},
    "interval": ["--verify=crc32c", "--verify_interval=512"],
    "offset": ["--verify=md5", "--verify_offset=1000"],
    "sizes": ["--verify=crc32c", "--verify_interval=2k", "--bs=8k"],
    "pattern": ["--verify=pattern", PATTERN],
    "meta-pattern": ["--verify=meta", PATTERN, "--verify_interval=1k"],
    "pattern-checksum": ["--verify=crc16", "--verify_pattern=0xab"],
}

PROGRAMS = {"fio": ["fio"], "iogauge": IOGAUGE}


def job(program: str, *options: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    common = ["--name=j", "--filename=data", "--size=256k", "--ioengine=psync"]
    return subprocess.run(
        [*PROGRAMS[program], *common, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=600,
    )


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(("writer", "reader"), [("iogauge", "fio"), ("fio", "iogauge")])
def test_each_verifies_what_the_other_wrote(writer: str, reader: str, tmp_path: Path) -> None:
    def run(program: str, *options: str) -> None:
        """Run a job for each layout, on a file of its own."""
        lines = ["[global]", "size=256k", "ioengine=psync", *options]
        for name, of_layout in LAYOUTS.items():
            lines += [f"[{name}]", f"filename={name}.data", *(option[2:] for option in of_layout)]
        (tmp_path / "jobs.fio").write_text("\n".join(lines) + "\n")
        call(PROGRAMS[program], "jobs.fio", cwd=tmp_path)

    run(writer, "rw=write", "do_verify=0")
    run(reader, "rw=read")
    run(reader, "rw=randread")


@pytest.mark.parametrize(
    "layout", ["crc32c", "md5", "sha3-256", "interval", "offset", "meta-pattern", "pattern"]
)
def test_both_find_the_same_damage_and_end_with_the_same_status(layout: str, tmp_path: Path) -> None:
    """Without verify_fatal, fio 3.33 forgets a bad block if a later block of the same I/O is good."""
    options = LAYOUTS[layout]
    assert job("iogauge", "--rw=write", *options, cwd=tmp_path).returncode == 0
    damage(tmp_path / "data", 3 * 4096 + 2500)
    reading = ("--rw=read", "--verify_fatal=1", *options)
    ours, theirs = (job(name, *reading, cwd=tmp_path) for name in ("iogauge", "fio"))
    assert ours.returncode == theirs.returncode == 1
    place = re.search(r"at file data offset (\d+), length (\d+)", theirs.stderr)
    assert place, theirs.stderr
    # For a pattern, fio takes the length from a header that the data does not have.
    length = place[2] if layout != "pattern" else "4096"
    assert f"data does not hold what was written at offset {place[1]}, length {length}" in ours.stderr
    assert "Traceback" not in ours.stderr


def test_damage_is_counted_and_the_job_goes_on_if_it_says_so(tmp_path: Path) -> None:
    options = ("--verify=crc32c", "--continue_on_error=verify", "--output-format=json")
    assert job("fio", "--rw=write", *options, cwd=tmp_path).returncode == 0
    for block in (3, 9, 40):
        damage(tmp_path / "data", block * 4096 + 99)
    results = {}
    for name in PROGRAMS:
        done = job(name, "--rw=read", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (results[name],) = json.loads(done.stdout)["jobs"]
    ours, theirs = results["iogauge"], results["fio"]
    for key in ("total_err", "first_error"):
        assert ours[key] == theirs[key], key
    for key in ("total_ios", "io_bytes"):
        assert ours["read"][key] == theirs["read"][key], key


def test_bad_blocks_are_saved_as_fio_saves_them(tmp_path: Path) -> None:
    options = (
        "--verify=crc32c",
        "--verify_dump=1",
        "--verify_pattern=0xab",
        "--verify_fatal=1",
        "--verify_interval=1k",
    )
    assert job("iogauge", "--rw=write", *options, cwd=tmp_path).returncode == 0
    damage(tmp_path / "data", 8192 + 1024 + 500)
    files = []
    for name in ("fio", "iogauge"):
        assert job(name, "--rw=read", *options, cwd=tmp_path).returncode == 1
        saved = {path.name: path.read_bytes() for path in tmp_path.glob("data.*")}
        assert set(saved) == {"data.9216.received", "data.9216.expected"}
        files.append({name: bytes(data[40:]) for name, data in saved.items()})
        for path in tmp_path.glob("data.*"):
            path.unlink()
    assert files[0] == files[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_dry_run_reads_back_what_the_job_would_write(program: str, tmp_path: Path) -> None:
    options = ("--rw=write", "--verify=crc32c")
    assert job("iogauge", *options, cwd=tmp_path).returncode == 0
    before = (tmp_path / "data").read_bytes()
    done = job(program, *options, "--verify_only", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "data").read_bytes() == before


@pytest.mark.parametrize(("writer", "reader"), [("iogauge", "fio"), ("fio", "iogauge")])
@pytest.mark.parametrize(
    "engine", [["--ioengine=psync"], ["--ioengine=libaio", "--iodepth=4"]], ids=["one", "four"]
)
def test_each_verifies_only_what_the_others_state_says(
    writer: str, reader: str, engine: list[str], tmp_path: Path
) -> None:
    """In sequence, since random offsets differ. The rest of the file was never written with verify."""
    data = tmp_path / "data"
    assert job("iogauge", "--rw=write", cwd=tmp_path).returncode == 0
    common = ("--rw=write", "--verify=crc32c", "--output-format=json", *engine)
    written = job(writer, *common, "--number_ios=10", "--verify_state_save=1", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    before = data.read_bytes()
    done = job(reader, *common, "--verify_only", "--verify_state_load=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["jobs"]
    assert (result["error"], result["read"]["total_ios"]) == (0, 10)
    assert data.read_bytes() == before


def test_a_state_is_the_one_that_fio_writes(tmp_path: Path) -> None:
    states = []
    for program in PROGRAMS:
        folder = tmp_path / program
        folder.mkdir()
        done = job(
            program, "--rw=write", "--verify=crc32c", "--number_ios=10", "--verify_state_save=1", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        (path,) = folder.glob("*.state")
        content = bytearray(path.read_bytes())
        content[16:24] = content[56:112] = b""  # The checksum, and the random numbers.
        states.append((path.name, bytes(content)))
    assert states[0] == states[1]


def places(program: str, *options: str, cwd: Path) -> list[tuple[str, int]]:
    """Return the direction and the offset of each call of the job's thread, which makes most of them."""
    data = cwd / "data"
    if not data.exists():
        made = job("iogauge", "--rw=write", "--size=64k", "--verify=crc32c", "--do_verify=0", cwd=cwd)
        assert made.returncode == 0, made.stderr
    common = ["--name=j", f"--filename={data}", "--size=64k", "--ioengine=psync", "--verify=crc32c"]
    calls = trace(PROGRAMS[program], "pread64,pwrite64", *common, *options, cwd=cwd / program)
    made = re.findall(rf"(?m)^(\d+) (pread|pwrite)64\(\d+<{re.escape(str(data))}>.*, (\d+)\) += 4096$", calls)
    ((worker, _),) = Counter(thread for thread, *_ in made).most_common(1)
    return [(kind, int(offset)) for thread, kind, offset in made if thread == worker]


@needs_strace
@pytest.mark.parametrize(
    "options",
    [
        ["--rw=write"],
        ["--rw=write", "--loops=2"],
        ["--rw=write", "--verify_backlog=4"],
        ["--rw=write", "--verify_backlog=4", "--verify_backlog_batch=1"],
        ["--rw=write", "--number_ios=9"],
        ["--rw=write", "--do_verify=0"],
        ["--rw=write", "--verify_only"],
        ["--rw=read"],
    ],
    ids=" ".join,
)
def test_writes_and_their_reading_back_are_in_fios_order(options: list[str], tmp_path: Path) -> None:
    ours, theirs = (places(program, *options, cwd=tmp_path) for program in ("iogauge", "fio"))
    assert ours == theirs


@needs_strace
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("options", [[], ["--norandommap"]], ids=["map", "no map"])
def test_random_writes_are_read_back_in_fios_order(program: str, options: list[str], tmp_path: Path) -> None:
    """Each program draws its own offsets. Under a random map both read in the order of writing, else by offset."""
    ios = places(program, "--rw=randwrite", *options, cwd=tmp_path)
    written = [offset for kind, offset in ios if kind == "pwrite"]
    read = [offset for kind, offset in ios if kind == "pread"]
    assert read == (sorted(set(written)) if options else written)
