"""A target that hangs when it is inspected before a run: the run says what it waits for, and can be ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.store.outputs import Claims, Existing
from unreliable import GETATTR, LOOKUP, OPEN, Unreliable, unreliable

IOGAUGE = Path(sys.executable).with_name("iogauge")


def started(
    drive: Unreliable, *options: str, path: Path | str = "", rw: str = "randread"
) -> subprocess.Popen[str]:
    command = [
        str(IOGAUGE), "run", "--no-ceiling", "--name=r", f"--filename={path or drive.path}", f"--rw={rw}", "--size=1m",
        "--number_ios=10", *options,
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said_while_waiting(process: subprocess.Popen[str]) -> str:
    assert process.stderr
    return next(line for line in process.stderr if "waiting for" in line)


@pytest.mark.parametrize("request_kind", [LOOKUP, GETATTR, OPEN])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_wait(tmp_path: Path, request_kind: int, number: signal.Signals) -> None:
    with unreliable(tmp_path) as drive:
        drive.unanswered = {request_kind}
        process = started(drive)
        assert str(drive.path) in said_while_waiting(process)
        process.send_signal(number)
        # The file system still hangs: the child that looked is left behind, and holds no pipe open.
        output, errors = process.communicate(timeout=600)
        assert drive.hung
    assert (process.returncode, output) == (128 + number, "")
    assert "Traceback" not in errors


def test_giving_up_ends_the_wait(tmp_path: Path) -> None:
    with unreliable(tmp_path) as drive:
        drive.unanswered = {OPEN}
        process = started(drive, "--give-up=3s", "--output", str(tmp_path / "result.json"))
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 1
    assert f"{drive.path}: it does not answer; gave up after 3 s" in errors
    assert "hint:" in errors


def test_a_target_that_answers_late_is_run(tmp_path: Path) -> None:
    with unreliable(tmp_path) as drive:
        drive.unanswered = {OPEN}
        process = started(drive)
        said_while_waiting(process)
        drive.answer()
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors


def test_a_saved_target_that_hangs_is_known_by_its_name_and_holds_nobody_up(tmp_path: Path) -> None:
    with unreliable(tmp_path) as drive:
        drive.unanswered = {LOOKUP, GETATTR}
        claims = Claims(saved_targets=[str(drive.path)])
        with pytest.raises(IogaugeError, match="is the target"):
            claims.file(drive.path, existing=Existing.REPLACE)
        claims.file(tmp_path / "page", existing=Existing.REPLACE).write(b"page")
        assert drive.hung
    assert (tmp_path / "page").read_bytes() == b"page"


def test_a_file_that_another_program_has_open_there_holds_up_no_run_elsewhere(
    tmp_path: Path, disk: str
) -> None:
    """To look at that program's descriptor would be to wait for the file system."""
    code = "import sys; file = open(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with unreliable(tmp_path) as drive:
        command = [sys.executable, "-c", code, str(drive.path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdin
            assert holder.stdout
            holder.stdout.readline()
            drive.unanswered = {GETATTR}
            process = started(drive, path=disk, rw="randwrite")
            _, errors = process.communicate(timeout=600)
            holder.stdin.close()
            drive.answer()
    assert process.returncode == 0, errors
