"""The ledger of a target: what it says, of whom, and that nothing depends on its being there."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iogauge import workload
from iogauge.cli import main
from iogauge.execution import bookkeeping, execute, purge
from iogauge.report.run.surroundings import state_text
from iogauge.schema import LedgerEntry, TargetFacts
from iogauge.store import Review
from iogauge.target import ledger, open_target
from iogauge.target.users.sysfs import Host
from tests import builders

DRIVE = builders.target("/dev/nvme0n1", kind="block", size_bytes=1000, serial="S1", model="Example 1000")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for ledgers that is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "iogauge" / "ledger"


def entry(what: str = "run", **fields: object) -> LedgerEntry:
    values: dict[str, object] = {"what": what, "at": "2026-01-03T10:00:00Z", "capacity_bytes": 1000, **fields}
    return LedgerEntry.model_validate(values)


def test_what_was_written_counts_from_the_last_purge_of_all_of_it() -> None:
    assert ledger.state_of(DRIVE) is None
    ledger.enter(DRIVE, entry(at="2026-01-01T00:00:00Z", written_bytes=500))
    before = ledger.state_of(DRIVE)
    assert before is not None
    assert (before.purged_at, before.written_bytes, before.known_since) == (None, 500, "2026-01-01T00:00:00Z")
    ledger.enter(DRIVE, entry("purge"))
    ledger.enter(DRIVE, entry(written_bytes=2000, block_bytes=131072))
    ledger.enter(DRIVE, entry(written_bytes=1000, random_bytes=900, block_bytes=4096, source="a.fio"))
    # A partition's purge leaves the rest of its drive.
    ledger.enter(DRIVE, entry("purge", at="2026-01-04T00:00:00Z", capacity_bytes=100))
    after = ledger.state_of(DRIVE)
    assert after is not None
    assert (after.purged_at, after.written_bytes, after.random_bytes) == ("2026-01-03T10:00:00Z", 3000, 900)
    assert state_text(after, DRIVE) == (
        "iogauge wrote at least 3.000 kB (3.0 x its size), 900 B of it at random, since its purge on 2026-01-03; "
        "last 4 KiB at random on 2026-01-03, by a.fio"
    )
    ledger.enter(DRIVE, entry("purge", purged_by="format"))
    formatted = ledger.state_of(DRIVE)
    assert formatted is not None
    assert state_text(formatted, DRIVE) == "iogauge wrote nothing since its purge by format on 2026-01-03"


def test_drives_are_told_apart_and_what_cannot_be_has_none() -> None:
    other = DRIVE.model_copy(update={"serial": "S2"})
    renamed = DRIVE.model_copy(update={"path": "/dev/nvme1n1"})
    ledger.enter(DRIVE, entry(written_bytes=1))
    assert ledger.state_of(other) is None
    assert ledger.state_of(renamed) == ledger.state_of(DRIVE)
    for facts in (DRIVE.model_copy(update={"serial": None}), builders.target("model:p4800x", kind="model")):
        ledger.enter(facts, entry(written_bytes=1))
        assert ledger.path_of(facts) is None
        assert ledger.state_of(facts) is None


def test_a_partition_has_a_ledger_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drive = tmp_path / "sys" / "class" / "block" / "nvme0n1"
    drive.mkdir(parents=True)
    for number in (1, 2):
        part = drive / f"nvme0n1p{number}"
        part.mkdir()
        for name, value in (("partition", number), ("start", 2048 * number), ("size", 1)):
            (part / name).write_text(f"{value}\n")
        (drive.parent / part.name).symlink_to(part)
    monkeypatch.setattr(ledger, "HOST", Host(sys=tmp_path / "sys"))
    disk = DRIVE.model_copy(update={"device": "nvme0n1"})
    one, two = (
        DRIVE.model_copy(update={"device": f"nvme0n1p{number}", "size_bytes": 512}) for number in (1, 2)
    )
    ledger.enter(one, entry("purge", capacity_bytes=512))
    ledger.enter(two, entry(written_bytes=7, capacity_bytes=512))
    first, second, drives = (ledger.state_of(target) for target in (one, two, disk))
    assert first is not None
    assert second is not None
    assert drives is not None
    assert (first.purged_at is not None, first.written_bytes) == (True, 0)
    assert (second.purged_at, second.written_bytes) == (None, 7)
    # The drive was written to, and only a part of it purged.
    assert (drives.purged_at, drives.written_bytes) == (None, 7)
    assert len(ledger.entries(disk)) == 2
    (drive / "nvme0n1p2" / "start").write_text("9999\n")
    assert ledger.state_of(two) is None


def facts_of(path: Path) -> TargetFacts:
    with open_target(str(path), write=True, size_bytes=1 << 20) as target:
        return target.facts


def test_a_file_that_takes_the_place_of_another_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "f.bin"
    first = facts_of(path)
    ledger.enter(first, entry(written_bytes=1))
    assert ledger.state_of(facts_of(path)) is not None
    path.rename(tmp_path / "kept.bin")  # so that its inode is not used again
    assert ledger.state_of(facts_of(path)) is None


def test_lines_that_are_not_understood_are_passed_over(home: Path) -> None:
    ledger.enter(DRIVE, entry(written_bytes=1))
    (path,) = home.iterdir()
    path.write_text('{"what":"a thing of the future"}\n{"wha\n' + path.read_text())
    state = ledger.state_of(DRIVE)
    assert state is not None
    assert state.written_bytes == 1


def test_many_may_write_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ledger.enter(DRIVE, entry(written_bytes=1)), range(200)))
    assert len(ledger.entries(DRIVE)) == 200


def test_runs_are_entered_by_what_they_wrote_and_purges_too(tmp_path: Path) -> None:
    path = tmp_path / "f.bin"
    text = (
        f"[global]\nfilename={path}\nsize=1m\nioengine=psync\n"
        "[a]\nrw=write\nbs=64k\n[b]\nstonewall\nrw=randwrite\nbs=4k\nnumber_ios=64\n[c]\nrw=read\n"
    )
    execute(workload.parse(text, source="three.fio"))
    facts = facts_of(path)
    (written,) = ledger.entries(facts)
    assert (written.written_bytes, written.random_bytes) == ((1 << 20) + 64 * 4096, 64 * 4096)
    assert (written.source, written.capacity_bytes) == ("three.fio", 1 << 20)
    assert written.block_bytes == pytest.approx(((1 << 20) + 64 * 4096) / (16 + 64), abs=1)
    execute(workload.parse(f"[r]\nfilename={path}\nsize=1m\nrw=read\n", source="reads.fio"))
    assert len(ledger.entries(facts)) == 1
    purge(str(path))
    state = ledger.state_of(facts)
    assert state is not None
    assert state.purged_at is not None
    assert (state.written_bytes, state.last) == (0, None)


def test_a_home_that_cannot_be_written_is_said_once_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "taken"))
    monkeypatch.setattr(bookkeeping, "_reported", set())
    said: list[str] = []
    job = workload.parse(f"[w]\nfilename={tmp_path}/f.bin\nsize=64k\nrw=write\n", source="w")
    for _ in range(2):
        record = execute(job, on_message=said.append)
        assert record.result.error is None
    assert len([text for text in said if "cannot record" in text]) == 1


def test_a_review_says_in_which_state_it_found_its_target(tmp_path: Path) -> None:
    file = tmp_path / "f.bin"
    options = ["--suite=pts-cross-stimulus", "--size=1m", "--runtime=50ms", "--seed=1"]
    for name in ("first", "second"):
        assert main(["review", str(file), *options, f"--output={tmp_path / name}"]) == 0
    first, second = (Review.open(tmp_path / name).manifest for name in ("first", "second"))
    assert first.state_before == {}
    state = second.state_before[os.fspath(file)]
    assert state.purged_at is not None
    assert 0 < state.random_bytes < state.written_bytes
    assert state.last is not None
    assert state.last.source == "pts-cross-stimulus.parts"
    assert main(["report", str(tmp_path / "second")]) == 0
    assert "iogauge wrote at least" in (tmp_path / "second" / "report.html").read_text()
