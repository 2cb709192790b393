"""Spills of requests: gone once the logs are made, kept and named where they are not, and made into logs afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from iogauge import cli
from iogauge.cli.terminal import status
from iogauge.execution.log.spill import CODE_VERSION, Spill
from iogauge.report.run import request_logs
from iogauge.schema import Job, JobFile
from tests import report_records

RUN = (
    "run",
    "--no-ceiling",
    "--output-format=json",
    "--name=x",
    "--ioengine=null",
    "--rw=randrw",
    "--iodepth=2",  # at depth 1 the null engine has no slat
    "--size=1g",
)
REQUESTS = 10_007


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # The spill then has one place to go to, whatever file systems there are.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def spills(folder: Path) -> list[Path]:
    return sorted(folder.glob("iogauge-*.spill"))


def rows(path: Path) -> int:
    return parquet.read_metadata(path).num_rows


def run(*arguments: str) -> int:
    return cli.main([*RUN, f"--number_ios={REQUESTS}", *arguments])


def test_logs_are_whole_and_the_spill_is_gone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--request-log=log.parquet", "--write_lat_log=out") == status.OK
    assert rows(folder / "log.parquet") == REQUESTS
    for name in ("lat", "clat", "slat"):
        assert len((folder / f"out_{name}.1.log").read_text().splitlines()) == REQUESTS
    assert spills(folder) == []
    assert "log.parquet, out_lat.1.log, out_clat.1.log and 1 more\n" in capsys.readouterr().err


def test_an_interrupt_while_logs_are_made_keeps_the_spill(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(share: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(
            "iogauge.cli.terminal.progress.Progress.share", lambda self, share: interrupted(share)
        )
        run("--request-log=log.parquet", "--write_lat_log=out")
    (spill,) = spills(folder)
    assert list(folder.iterdir()) == [spill], "no log is half written"
    said = capsys.readouterr()
    assert '"total_ios"' in said.out, "results come first"
    assert f"the logged requests are in {spill}; to write their logs: iogauge recover {spill}" in said.err

    assert cli.main(["recover", str(spill)]) == status.OK
    assert rows(folder / "log.parquet") == REQUESTS
    assert capsys.readouterr().out.splitlines() == [
        str(folder / name) for name in ("log.parquet", "out_lat.1.log", "out_clat.1.log", "out_slat.1.log")
    ]
    assert len((folder / "out_lat.1.log").read_text().splitlines()) == REQUESTS
    assert spills(folder) == []


def test_a_killed_run_leaves_a_spill_that_becomes_logs(folder: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "iogauge", *RUN, "--time_based", "--runtime=600", "--request-log=log.parquet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not any(path.stat().st_size > 1 << 20 for path in spills(folder)):
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    finally:
        child.kill()
        child.wait()
    (spill,) = spills(folder)
    assert cli.main(["recover", str(spill), "--request-log=other.parquet"]) == status.OK
    assert rows(folder / "other.parquet") > 10_000
    assert [path.name for path in folder.iterdir()] == ["other.parquet"]


def test_a_damaged_spill_becomes_logs_up_to_the_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(request_logs, "convert", interrupted)
        run("--request-log=log.parquet")
    (spill,) = spills(folder)
    end = spill.stat().st_size
    with spill.open("ab") as file:
        file.write(bytes(4096))  # as after a power loss
    assert cli.main(["recover", str(spill)]) == status.OK
    assert rows(folder / "log.parquet") == REQUESTS
    said = capsys.readouterr().err
    assert (
        f"the bytes after byte {end} were not written by iogauge; the logs have the requests before it"
        in said
    )
    assert spills(folder) == [spill], "what could not be read is kept"


def test_recovering_leaves_logs_of_windows_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(request_logs, "convert", full)
        run("--write_lat_log=out", "--name=y", "--rw=read", "--size=1m", "--number_ios=5", "--write_bw_log=w",
            "--log_avg_msec=1000")  # fmt: skip
    windows = (folder / "w_bw.2.log").read_text()
    (spill,) = spills(folder)
    assert cli.main(["recover", str(spill)]) == status.OK
    assert (folder / "w_bw.2.log").read_text() == windows
    assert (folder / "out_lat.1.log").exists()


def test_only_a_spill_can_be_recovered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "drive.bin").write_bytes(os.urandom(4096))
    for name in ("drive.bin", "missing"):
        assert cli.main(["recover", name]) == status.ERROR
    said = capsys.readouterr().err
    assert "drive.bin: not a spill of requests" in said
    assert "missing: cannot read: No such file" in said
    assert (folder / "drive.bin").exists()


def test_what_gives_way_is_wait_or_drop(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--request-log=log.parquet", "--log-overflow=drop") == status.OK
    assert run("--log-overflow=both") == status.USAGE
    assert "use wait or drop" in capsys.readouterr().err


def test_a_terminated_run_makes_its_logs(folder: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "iogauge", *RUN, "--time_based", "--runtime=600", "--request-log=log.parquet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    while not any(path.stat().st_size > 1 << 16 for path in spills(folder)):
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == 143
    assert rows(folder / "log.parquet") > 0
    assert spills(folder) == []


def made(jobs: JobFile) -> Spill:
    """A spill without requests."""
    spill = Spill.create(Path(), request_log=None)
    spill.begin(jobs, report_records.plan(jobs.jobs))
    spill.close()
    return spill


def test_a_log_does_not_reach_a_target_of_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out_lat.1.log").write_bytes(b"content")
    job = Job(name="x", ioengine="psync", filenames=("out_lat.1.log",), write_lat_log="out")
    spill = made(report_records.job_file(job))
    monkeypatch.chdir("/")
    assert cli.main(["recover", str(folder / spill.path.name)]) == status.ERROR
    assert "is the target" in capsys.readouterr().err
    assert (folder / "out_lat.1.log").read_bytes() == b"content"


def test_a_spill_of_another_version_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spill = made(report_records.job_file(Job(name="x")))
    content = spill.path.read_bytes()
    spill.path.write_bytes(content.replace(b'"code_version":%d' % CODE_VERSION, b'"code_version":0'))
    assert cli.main(["recover", str(spill.path)]) == status.ERROR
    assert "another version of iogauge wrote this spill of requests\nhint: " in capsys.readouterr().err


def test_a_directory_whose_name_is_not_utf8_is_refused_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / os.fsdecode(b"bad\xff")
    bad.mkdir()
    monkeypatch.chdir(bad)
    assert run("--request-log=log.parquet") == status.ERROR
    said = capsys.readouterr()
    assert "bad\\xff: its name is not UTF-8" in said.err
    assert said.out == ""
