"""Completion by the Tab key, as the scripts of the shells ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.cli import COMMANDS, main
from iogauge.suites import SUITES

COMMAND = f"{Path(sys.executable).parent}"
"""The folder of the command ``iogauge``."""


def completed(line: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what bash is offered behind a line."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("_IOGAUGE_COMPLETE", "complete_bash")
    assert main([]) == 0
    return capfd.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("iogauge ", [*COMMANDS]),
        ("iogauge comp", ["compare", "completion"]),
        ("iogauge model s", ["show", "serve"]),
        ("iogauge review --su", ["--suite"]),
        ("iogauge review --pace ", ["quick", "standard", "full"]),
        ("iogauge plan --suite pts-w", [name for name in SUITES if name.startswith("pts-w")]),
        ("iogauge review --for w", ["wal"]),
        ("iogauge tune --profile ", ["latency", "published-linux"]),
        ("iogauge find model:p4800x-3", ["p4800x-375g"]),
        ("iogauge report sav", []),
        ("iogauge no-such-command --x", []),
    ],
)
def test_commands_options_and_values_are_offered(
    line: str, offered: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert completed(line, capfd, monkeypatch) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_takes_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_IOGAUGE_COMPLETE=complete_" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_a_model_behind_its_colon(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    line = "iogauge review model:p4800x-3"
    script = capsys.readouterr().out + (
        f"COMP_LINE='{line}' COMP_POINT={len(line)}\n_iogauge_completion iogauge\necho \"${{COMPREPLY[@]}}\"\n"
    )
    environment = {**os.environ, "PATH": f"{COMMAND}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash"], input=script, text=True, check=True, capture_output=True, env=environment)
    assert ran.stdout == "p4800x-375g\n"


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err
