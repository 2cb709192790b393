"""``iogauge tune``: what it makes of its arguments, and how it stands in for the command that it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.cli.terminal import child, leftover
from iogauge.library import tuning

RUN = "import sys; from iogauge.cli.terminal import child; sys.exit(child.run(sys.argv[1:]))"
BESIDE_A_THREAD = """
import os, signal, sys, threading
from iogauge.cli.terminal import child
spawn = os.posix_spawnp
def spawned(*arguments, **options):
    pid = spawn(*arguments, **options)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    while signal.SIGCHLD in signal.sigpending():
        os.sched_yield()  # until the other thread has taken it
    return pid
os.posix_spawnp = spawned
threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.exit(child.run(["sh", "-c", "exit 7"]))
"""
WAIT = (
    "import signal, sys; signal.signal(signal.{name}, lambda *_: sys.exit(9)); print('ready', flush=True);"
    "signal.pause()"
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Record what would be tuned; nothing is."""
    calls: list[tuple[Any, ...]] = []

    @contextmanager
    def tune(profile: str, target: str | None, *, on_message: object, command: str) -> Iterator[None]:
        calls.append((profile, target, command))
        yield
        calls.append(("put back",))

    monkeypatch.setattr(tuning, "tune", tune)
    monkeypatch.setattr(tuning, "apply_tuning", lambda *names, **_: calls.append(("apply", *names)))
    monkeypatch.setattr(tuning, "undo_tuning", lambda **_: calls.append(("undo",)))
    monkeypatch.setattr(tuning, "tuning_status", lambda: "nothing is tuned\n")
    return calls


def test_a_command_with_options_of_its_own(calls: list[tuple[Any, ...]]) -> None:
    assert main(["tune", "--profile", "mine.toml", "/dev/x", "--", "sh", "-c", "exit 7"]) == 7
    assert calls == [("mine.toml", "/dev/x", "sh -c 'exit 7'"), ("put back",)]


def test_an_end_that_another_thread_hears_of_is_seen() -> None:
    assert subprocess.run([sys.executable, "-c", BESIDE_A_THREAD], check=False, timeout=20).returncode == 7


def test_a_command_without_a_target(calls: list[tuple[Any, ...]]) -> None:
    assert main(["tune", "--", "true", "--", "--apply"]) == 0
    assert calls == [("latency", None, "true -- --apply"), ("put back",)]


def test_apply_undo_and_status(calls: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--apply", "/dev/x", "--profile=published-linux"]) == 0
    assert main(["tune", "--undo"]) == 0
    assert calls == [("apply", "published-linux", "/dev/x"), ("undo",)]
    assert main(["tune", "--status"]) == 0
    assert capsys.readouterr() == ("nothing is tuned\n", "nothing is tuned\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one thing to do"),
        (["--apply", "--", "true"], "name one thing to do"),
        (["--apply", "--undo"], "name one thing to do"),
        (["--undo", "/dev/x"], "--undo takes no target"),
        (["--status", "--profile", "latency"], "--status takes no target and no --profile"),
        (["--status", "--"], None),
        (["/dev/x", "true"], "unexpected argument 'true': write a command to run after --"),
        (["--", "no-such-program"], "no-such-program: no such command"),
    ],
)
def test_wrong_usage_changes_nothing(
    calls: list[tuple[Any, ...]],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str | None,
) -> None:
    assert main(["tune", *arguments]) == (0 if message is None else 2)
    assert (message or "") in capsys.readouterr().err
    assert calls == []


@pytest.mark.parametrize(
    ("script", "expected"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
)
def test_the_exit_status_is_the_commands(script: str, expected: int) -> None:
    assert child.run(["sh", "-c", script]) == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUN, sys.executable, "-c", WAIT.format(name=number.name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait() == 9


def test_streams_pass_through() -> None:
    command = [sys.executable, "-c", RUN, "sh", "-c", "tr a-z A-Z; echo problem >&2"]
    ran = subprocess.run(command, input="text", capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("TEXT", "problem\n")


def test_the_command_gets_environment_and_limits_as_they_were() -> None:
    """iogauge changes both for itself, which another program must not see."""
    code = "from iogauge.cli.terminal import process; process.start(); " + RUN
    show = ["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-none}; ulimit -Sn"]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    before = subprocess.run(show, env=environment, capture_output=True, text=True, check=True).stdout
    command = [sys.executable, "-c", code, *show]
    assert (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == before
    )


def test_a_damaged_journal_is_told_and_keeps_no_command_from_running(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "journal.jsonl").write_text('{"owner": 7}\n')
    monkeypatch.setattr(leftover, "STATE_DIRECTORY", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert main(["model", "list"]) == 0
    assert (
        f"warning: {tmp_path}/journal.jsonl: it is not a journal of this version" in capsys.readouterr().err
    )
