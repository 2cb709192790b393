"""``iogauge verify``: the answer first, then counts, each block by name, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from tests.fast.verifying import stamped
from tests.fast.verifying.stamped import BLOCK, SECTOR, block, flush, flushed, write, written

KEPT = [write(1, 0), written(1), flush(1), flushed(1), write(2, BLOCK), written(2), write(3, 0), written(3)]
"""Block 0 was flushed with write 1 and written again, block 1 was written; the rest was not."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lay(blocks: list[bytes], records: list[bytes] = KEPT) -> None:
    """Write the target, of four blocks, and the log."""
    Path("drive.img").write_bytes(b"".join(blocks).ljust(4 * BLOCK, b"\0"))
    Path("stamps.log").write_bytes(stamped.log(records))


def verified(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Run the command; return its status and what it printed."""
    status = main(["verify", "drive.img", *arguments])
    shown = capsys.readouterr()
    assert shown.err == ""
    return status, shown.out.splitlines()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nosuch", "nosuch: there is no such file or device"),
        ("model:p4800x", "model:p4800x: a drive model keeps no data"),
    ],
)
def test_a_target_without_data_is_refused(
    target: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lay([])
    assert main(["verify", target, "--after-crash=stamps.log"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "readonly" not in error


@pytest.mark.parametrize(
    "blocks",
    [
        [block(0, 3), block(BLOCK, 2)],
        [block(0, 1), block(BLOCK, 2)],
        [block(0, 1), bytes(BLOCK)],
    ],
    ids=["all", "old", "none that was not flushed"],
)
def test_what_was_not_flushed_may_be_missing(capsys: pytest.CaptureFixture[str], blocks: list[bytes]) -> None:
    lay(blocks)
    status, lines = verified(capsys, "--after-crash=stamps.log")
    assert status == 0
    assert lines[0] == "nothing violates: everything that was flushed is there, in 2 blocks"


def test_what_was_flushed_must_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    lay([bytes(BLOCK), block(BLOCK, 2)])
    status, lines = verified(capsys, "--after-crash=stamps.log", "-v")
    assert status == 3
    assert lines[0] == "1 block violates: 1 lost, of 2 written"
    assert lines[-1] == "  0: lost, holds nothing of this run"


def test_without_a_power_cut_all_must_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    lay([block(0, 1), bytes(BLOCK)])
    status, lines = verified(capsys, "--after-run=stamps.log", "-v")
    assert status == 3
    assert lines[0] == "2 blocks violate: 2 lost, of 2 written"
    assert lines[-2] == "  0: lost, holds write 1, version 1 of 2"
    lay([block(0, 3), block(BLOCK, 2)])
    assert verified(capsys, "--after-run=stamps.log")[0] == 0


def test_each_class_has_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    torn = b"".join(stamped.sector(at, 1 if at else 3) for at in range(0, BLOCK, SECTOR))
    corrupt = bytearray(block(BLOCK, 2))
    corrupt[1000] ^= 4
    lay([torn, bytes(corrupt)])
    status, lines = verified(capsys, "--after-crash=stamps.log", "--atomic-unit=4k")
    assert status == 3
    assert lines[0] == "2 blocks violate: 1 corrupt and 1 torn, of 2 written"
    # What a drive may tear is no violation.
    assert verified(capsys, "--after-crash=stamps.log", "--atomic-unit=512")[1][0].startswith(
        "1 block violates: 1 corrupt"
    )
    lay([block(BLOCK, 2), block(BLOCK, 2)])
    _, lines = verified(capsys, "--after-crash=stamps.log", "-v")
    assert lines[-1] == f"  0: misdirected, holds write 2 of offset {BLOCK}"


def test_json_has_all_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    lay([bytes(BLOCK), block(BLOCK, 2)])
    status, lines = verified(capsys, "--after-crash=stamps.log", "--json")
    report = json.loads("\n".join(lines))
    assert status == 3
    assert (report["violations"], report["counts"]["lost"], report["counts"]["newest"]) == (1, 1, 1)
    assert report["blocks"][0]["offset_bytes"] == 0
    assert (report["run"], report["block_bytes"], report["records"]) == (stamped.RUN, BLOCK, len(KEPT))


def test_a_log_that_is_cut_off_is_read_up_to_there(capsys: pytest.CaptureFixture[str]) -> None:
    lay([block(0, 3), block(BLOCK, 2)])
    log = Path("stamps.log")
    log.write_bytes(log.read_bytes()[:-40])
    status, lines = verified(capsys, "--after-crash=stamps.log")
    assert status == 0
    assert lines[2].split() == ["unlogged", "1", "a", "write", "that", "the", "log", "does", "not", "have"]
    assert any("its end is cut off" in line for line in lines)


def test_the_library_says_the_same() -> None:
    lay([bytes(BLOCK), block(BLOCK, 2)])
    drive = iogauge.verify("drive.img", after_crash="stamps.log")
    assert (drive.violations, drive.counts["lost"]) == (1, 1)
    assert str(drive).startswith("1 block violates: 1 lost, of 2 written\n")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "name one log of the run"),
        (["--after-crash=stamps.log", "--after-run=stamps.log"], 2, "name one log of the run"),
        (["--after-crash=stamps.log", "--atomic-unit=1000"], 2, "a power of two"),
        (["--after-crash=missing.log"], 1, "missing.log: cannot read"),
        (["--after-crash=drive.img"], 1, "drive.img: not a stamp log"),
        (["--after-crash=damaged.log"], 1, "damaged.log: damaged at byte 64"),
        (["--after-crash=empty.log"], 1, "empty.log: not a stamp log"),
        (["--after-crash=beyond.log"], 1, "the log has writes up to byte"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    lay([block(0, 3), block(BLOCK, 2)])
    damaged = bytearray(Path("stamps.log").read_bytes())
    damaged[70] ^= 1
    Path("damaged.log").write_bytes(damaged)
    Path("empty.log").touch()
    Path("beyond.log").write_bytes(stamped.log([write(1, 4 * BLOCK), written(1)]))
    assert main(["verify", "drive.img", *arguments]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err
    assert "hint: " in shown.err


def test_a_missing_target_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    lay([])
    assert main(["verify", "missing.img", "--after-crash=stamps.log"]) != 0
    assert "missing.img" in capsys.readouterr().err
    assert not Path("missing.img").exists()
