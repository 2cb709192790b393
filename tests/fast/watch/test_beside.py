"""The screen beside a measurement must never keep it from its end."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from iogauge.cli.terminal.progress import Progress
from iogauge.cli.watch import beside
from iogauge.cli.watch.beside import Beside
from iogauge.cli.watch.measuring import Measuring


@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "signal.SIG_IGN"])
def test_a_stopped_screen_is_ended(monkeypatch: pytest.MonkeyPatch, handler: str) -> None:
    text = (
        f"import os, signal; signal.signal(signal.SIGTERM, {handler}); os.kill(os.getpid(), signal.SIGSTOP)"
    )
    monkeypatch.setattr(beside, "_ENDING_S", 0.2)
    with Beside() as shown:
        process = shown._process = subprocess.Popen([sys.executable, "-c", f"{text}; signal.pause()"])
        assert shown.is_shown
    assert process.returncode is not None
    assert not shown.is_shown


def test_without_a_feed_there_is_progress_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(30, "Read-only file system")

    options: dict[str, Any] = {}

    def progress(**chosen: Any) -> Progress:
        options.update(chosen)
        return Progress(title="a", plain=True, **chosen)

    monkeypatch.setattr(Beside, "possible", lambda: True)
    monkeypatch.setattr("iogauge.live.segments.make_directory", fail)
    with Measuring(progress, title="a", targets=[], screen=True):
        pass
    assert options == {}
    assert capsys.readouterr().err.count("Read-only file system") == 1
