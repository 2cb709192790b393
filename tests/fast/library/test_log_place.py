"""The log of every request stays off the drives that are measured, and where a log cannot, that is said."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.library.running import log_place
from iogauge.report.run import fio_logs
from iogauge.schema import EngineKind, Job, JobFile
from iogauge.store.outputs import Claims, Existing, Output
from tests import report_records

SAID = "on a drive that is measured"


@pytest.fixture
def drives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Directories by name, on drives as the test says; the current directory is ``here``, TMPDIR ``temporary``."""
    drive_of = {name: name for name in ("here", "temporary", "elsewhere")}
    for name in drive_of:
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def drives(path: Path) -> frozenset[str]:
        return frozenset({drive_of[path.resolve().relative_to(tmp_path).parts[0]]})

    monkeypatch.setattr(log_place, "_drives", drives)
    return drive_of


def job(tmp_path: Path, **fields: object) -> JobFile:
    job = {
        "name": "x",
        "ioengine": EngineKind.PSYNC,
        "filenames": (str(tmp_path / "here/drive.bin"),),
    } | fields
    return JobFile(source="test", jobs=(Job(**job),), options=({},))


def claimed(log: Path) -> Output:
    return Claims().file(log, existing=Existing.OWN)


def spilled(jobs: JobFile, log: Path | None = None, *, say=print) -> Path | None:
    output = claimed(log) if log else None
    with log_place.spill(output, fio_logs.claim(jobs, Claims()), jobs, say=say) as spill:
        assert spill is None or spill.path.exists()
        return spill and spill.path


@pytest.mark.parametrize(
    ("measured", "log", "chosen"),
    [
        ("elsewhere", None, "here"),
        ("here", None, "temporary"),
        ("temporary", None, "here"),
        ("here", "elsewhere/log.parquet", "elsewhere"),
        ("elsewhere", "elsewhere/log.parquet", "temporary"),
    ],
)
def test_requests_are_spilled_off_the_measured_drive(
    drives: dict[str, str], tmp_path: Path, capsys, measured: str, log: str | None, chosen: str
) -> None:
    fields = {} if log else {"write_lat_log": "out"}
    jobs = job(tmp_path, filenames=(str(tmp_path / measured / "drive.bin"),), **fields)
    path = spilled(jobs, tmp_path / log if log else None)
    assert path
    assert path.parent.resolve() == tmp_path / chosen
    assert not path.exists(), "nothing was spilled"
    assert capsys.readouterr().out == ""


def test_where_all_is_one_drive_it_is_said(drives: dict[str, str], tmp_path: Path, capsys) -> None:
    drives["temporary"] = drives["elsewhere"] = "here"
    path = spilled(job(tmp_path), tmp_path / "elsewhere/log.parquet")
    assert path
    assert path.parent == tmp_path / "elsewhere"
    assert f"{path.parent}: {SAID}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, False),
        ({"write_bw_log": "out", "log_avg_ns": 10**9}, True),
        ({"write_bw_log": "../elsewhere/out", "log_avg_ns": 10**9}, False),
        ({"write_hist_log": "", "log_hist_ns": 10**9}, True),
        ({"write_hist_log": "", "log_hist_ns": 10**9, "ioengine": EngineKind.NULL}, False),
    ],
)
def test_logs_written_meanwhile_are_mentioned(
    drives: dict[str, str], tmp_path: Path, capsys, fields: dict[str, object], said: bool
) -> None:
    assert spilled(job(tmp_path, **fields)) is None
    said_text = capsys.readouterr().out
    assert (f"{tmp_path / 'here'}: {SAID}" in said_text) == said
    assert bool(said_text) == said


def test_nowhere_to_spill_to(drives: dict[str, str], tmp_path: Path) -> None:
    output = claimed(tmp_path / "elsewhere/log.parquet")
    (tmp_path / "elsewhere").rmdir()
    with (
        pytest.raises(IogaugeError, match="cannot create a spill of requests: No such file"),
        log_place.spill(output, {}, job(tmp_path), say=print),
    ):
        pass


def test_a_spill_lies_where_its_log_does_whatever_leads_there(drives: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "here/link").symlink_to(tmp_path / "elsewhere/log.parquet")
    path = spilled(job(tmp_path), Path("link"))
    assert path
    assert path.parent == tmp_path / "elsewhere"
    path = spilled(job(tmp_path), Path("/dev/null"))
    assert path
    assert path.parent == tmp_path / "temporary", "/dev is memory"


@pytest.mark.parametrize(("added", "kept"), [(b"", False), (b"no frame", True)])
def test_a_spill_is_kept_unless_it_is_known_to_be_empty(
    drives: dict[str, str], tmp_path: Path, capsys, added: bytes, kept: bool
) -> None:
    jobs = job(tmp_path)
    output = claimed(tmp_path / "elsewhere/log.parquet")
    with log_place.spill(output, {}, jobs, say=print) as spill:
        assert spill
        spill.begin(jobs, report_records.plan(jobs.jobs))
        with spill.path.open("ab") as file:
            file.write(added)
    assert spill.path.exists() == kept
    assert ("the logged requests are in" in capsys.readouterr().out) == kept


def test_a_missing_file_is_on_its_directorys_drive(tmp_path: Path) -> None:
    assert log_place._drives(tmp_path)
    assert log_place._drives(tmp_path / "no" / "file") == log_place._drives(tmp_path)
    assert log_place._drives(Path("/proc/self/no")) != log_place._drives(tmp_path)
