"""fio's verify on real files: what a run says of what it verified, of what is damaged, and of what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.cli import main

BASE = ["--name=w", "--size=64k", "--ioengine=psync", "--verify=crc32c", "--no-ceiling"]


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Return the exit status of a run, and what it printed on stdout and stderr, in one line each."""
    capsys.readouterr()
    status = main(["run", *BASE, *options])
    out, err = capsys.readouterr()
    return status, out, " ".join(err.split())


def damage(path: Path, *blocks: int, at: int = 100) -> None:
    data = bytearray(path.read_bytes())
    for block in blocks:
        data[4096 * block + at] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture
def data(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that a job wrote to be verified; it is in the working directory."""
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "--filename=data", "--rw=write")[0] == 0
    return tmp_path / "data"


def test_a_job_that_cannot_be_planned_is_refused_before_its_file_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "--filename=data", "--rw=randwrite", "--numjobs=2")
    assert status == 1
    assert "its clones write to the same part" in err
    assert list(tmp_path.iterdir()) == []


def test_a_job_verifies_what_one_wrote_that_it_waits_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beside = ("--name=beside", "--rw=write", "--filename=other", "--size=64k")
    reader = ("--name=r", "--rw=read", "--filename=data", "--size=64k", "--verify=crc32c")
    writer = ("--filename=data", "--rw=write")
    status, out, _ = run(capsys, *writer, *beside, *reader, "--wait_for=w")
    assert status == 0
    assert "r: verified 16 reads, none bad" in out
    status, _, err = run(capsys, *writer, *beside, *reader)
    assert status == 1
    assert "w writes to the same part" in err


def test_a_run_says_what_it_verified(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("-v",)):
        _, out, _ = run(capsys, "--filename=data", "--rw=write", *options)
        assert "w: verified 16 reads, none bad" in out
    assert "writes a second" in " ".join(run(capsys, "--filename=data", "--rw=write")[1].split())


def test_each_bad_block_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(data, 3, 9)
    options = ("--filename=data", "--rw=read", "--continue_on_error=verify")
    status, out, err = run(capsys, *options)
    assert status == 0
    assert "w: verified 16 reads, 2 bad" in out
    assert f"data does not hold what was written at offset {3 * 4096}, length 4096" in err
    assert f"offset {9 * 4096}, length 4096: the block stores crc32c 0x" in err
    assert "dmesg" not in out + err
    _, out, _ = run(capsys, *options, "--output-format=json")
    (worker,) = json.loads(out)["iogauge"]["verify"]
    assert (worker["requests"], worker["failed"], worker["unread"]) == (16, 2, 0)
    assert [bad["offset_bytes"] for bad in worker["mismatches"]] == [3 * 4096, 9 * 4096]
    assert worker["mismatches"][0]["field"] == "checksum of the data"


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--verify_interval=512"], "another verify_interval"),
        (["--verify=md5"], "another verify;"),
        (["--verify=crc32c"], "not written with verify, or by a newer fio"),
    ],
)
def test_the_hint_names_the_cause(
    options: list[str], cause: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if options == ["--verify=crc32c"]:
        damage(data, 0, at=0)
    status, _, err = run(capsys, "--filename=data", "--rw=read", *options)
    assert status == 1
    assert cause in err


@pytest.mark.parametrize("options", [["--rw=read"], ["--rw=write", "--verify_only"]])
def test_what_is_missing_is_not_verified(
    options: list[str], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, "--filename=other", *options)
    assert status != 0
    assert "other: there is nothing to verify: there is no such file" in err
    assert not data.with_name("other").exists()
    status, _, err = run(capsys, "--filename=data", "--size=128k", *options)
    assert status != 0
    assert "data: there is nothing to verify: the file has 65,536 of 131,072 bytes" in err
    assert data.stat().st_size == 65536


def test_saved_blocks_of_files_of_one_name_are_apart(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--rw=read", "--continue_on_error=verify", "--verify_dump=1")
    two = "--filename=one/data:two/data"
    for folder in ("one", "two"):
        data.with_name(folder).mkdir()
    assert run(capsys, two, "--rw=write")[0] == 0
    for folder in ("one", "two"):
        damage(data.parent / folder / "data", 1)
    _, _, err = run(capsys, two, *options)
    assert "saving 2 bad blocks of 2 bad reads" in err
    assert {path.name for path in data.parent.glob("*.received")} == {
        "one_data.4096.received",
        "two_data.4096.received",
    }
