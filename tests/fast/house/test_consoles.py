"""Sessions that a document shows: what the command prints begins as the document says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from iogauge.cli import main

ROOT = Path(__file__).resolve().parents[3]
SHOWN = {"docs/suites.md": "$ iogauge find "}
"""The sessions that are held, by their first words: those that take seconds and have a seed."""


@pytest.mark.slow
@pytest.mark.parametrize(("document", "begins"), SHOWN.items())
def test_a_session_prints_what_its_document_shows(
    document: str,
    begins: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sessions = re.findall(r"^```console\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    (session,) = (session for session in sessions if session.startswith(begins))
    command, *lines = session.splitlines()
    if lines[-1] == "...":
        lines.pop()
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command.removeprefix("$ iogauge "))) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[: len(lines)] == lines
    # The lines of the answer are shown whole, up to the table.
    assert printed[len(lines)] == ""
