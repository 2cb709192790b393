"""The log of every request stays off the drives that are measured, and where a log cannot, that is said."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from iogauge.cli import log_place
from iogauge.errors import IogaugeError
from iogauge.schema import EngineKind, Job, JobFile

SAID = "on a drive that is measured"


@pytest.fixture
def drives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Directories by name, on drives as the test says; the current directory is ``here``, TMPDIR ``temporary``."""
    drive_of = {name: name for name in ("here", "temporary", "elsewhere")}
    for name in drive_of:
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def found(path: Path) -> frozenset[str]:
        return frozenset({drive_of[path.resolve().relative_to(tmp_path).parts[0]]})

    monkeypatch.setattr(log_place, "_drives", found)
    return drive_of


def job(tmp_path: Path, **fields: object) -> JobFile:
    job = {
        "name": "x",
        "ioengine": EngineKind.PSYNC,
        "filenames": (str(tmp_path / "here/drive.bin"),),
    } | fields
    return JobFile(source="test", jobs=(Job(**job),), options=({},))


def logged(jobs: JobFile, asked: Path | None = None) -> Path | None:
    with log_place.request_log(asked, jobs) as path:
        return path


@pytest.mark.parametrize(
    ("measured", "chosen"), [("elsewhere", "temporary"), ("here", "temporary"), ("temporary", "here")]
)
def test_the_log_of_a_while_stays_off_the_measured_drive(
    drives: dict[str, str], tmp_path: Path, capsys, measured: str, chosen: str
) -> None:
    path = logged(job(tmp_path, write_lat_log="out", filenames=(str(tmp_path / measured / "drive.bin"),)))
    assert path
    assert path.absolute().parent.parent == tmp_path / chosen
    assert not path.parent.exists()
    assert capsys.readouterr().err == ""


def test_where_all_is_one_drive_it_is_said(drives: dict[str, str], tmp_path: Path, capsys) -> None:
    drives["temporary"] = "here"
    path = logged(job(tmp_path, write_lat_log="out"))
    assert path
    assert path.parent.parent == tmp_path / "temporary"
    assert f"{path.parent}: {SAID}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "asked", "said"),
    [
        ({}, None, False),
        ({}, "here/log.parquet", True),
        ({}, "elsewhere/log.parquet", False),
        ({"write_bw_log": "out", "log_avg_ns": 10**9}, None, True),
        ({"write_bw_log": "../elsewhere/out", "log_avg_ns": 10**9}, None, False),
        ({"write_hist_log": "", "log_hist_ns": 10**9}, None, True),
        ({"write_hist_log": "", "log_hist_ns": 10**9, "ioengine": EngineKind.NULL}, None, False),
    ],
)
def test_logs_written_meanwhile_are_mentioned(
    drives: dict[str, str], tmp_path: Path, capsys, fields: dict[str, object], asked: str | None, said: bool
) -> None:
    place = tmp_path / asked if asked else None
    assert logged(job(tmp_path, **fields), place) == place
    err = capsys.readouterr().err
    assert (f"{tmp_path / 'here'}: {SAID}" in err) == said
    assert bool(err) == said


def test_nowhere_to_log_to(drives: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary" / "missing"))
    with pytest.raises(IogaugeError, match="No such file") as caught:
        logged(job(tmp_path, write_lat_log="out"))
    assert "TMPDIR" in (caught.value.hint or "")


def test_a_missing_file_is_on_its_directorys_drive(tmp_path: Path) -> None:
    assert log_place._drives(tmp_path)
    assert log_place._drives(tmp_path / "no" / "file") == log_place._drives(tmp_path)
    assert log_place._drives(Path("/proc/self/no")) != log_place._drives(tmp_path)
