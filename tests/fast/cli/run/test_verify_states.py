"""verify_state_save and verify_state_load: a run verifies what an earlier one wrote, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main

JOB = ["run", "--no-ceiling", "--name=j", "--filename=data", "--size=256k", "--rw=randwrite", "--seed=7"]
VERIFY = [*JOB, "--verify=crc32c", "--iodepth=4", "--ioengine=io_uring"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_verifies_only_what_the_run_before_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*JOB, "--seed=8"]) == 0
    assert main([*VERIFY, "--number_ios=10", "--verify_state_save=1"]) == 0
    assert [path.name for path in Path().glob("*.state")] == ["local-j-0-verify.state"]
    capsys.readouterr()
    assert main([*VERIFY, "--verify_only", "--verify_state_load=1"]) == 0
    assert "verified 10 reads, none bad" in capsys.readouterr().out
    assert main([*VERIFY, "--verify_only"]) == 1, "the rest was not written with verify"


def test_nothing_is_saved_unless_a_job_that_writes_asks_for_it() -> None:
    assert main(VERIFY) == 0
    assert main([*VERIFY, "--verify_only", "--verify_state_save=1"]) == 0
    assert main([*JOB, "--verify_state_save=1"]) == 0
    assert not list(Path().glob("*.state"))


def test_a_state_that_is_missing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(VERIFY) == 0
    capsys.readouterr()
    assert main([*VERIFY, "--verify_only", "--verify_state_load=1"]) == 1
    error = capsys.readouterr().err
    assert "local-j-0-verify.state: verify_state_load cannot read the state" in error
    assert "hint: in this directory, first run the job that writes" in error


def test_a_state_is_no_target(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["run", "--no-ceiling", "--name=j", "--size=64k", "--rw=write", "--verify=crc32c"]
    assert main([*lines, "--filename=local-j-0-verify.state", "--verify_state_save=1"]) == 1
    assert "local-j-0-verify.state" in capsys.readouterr().err
