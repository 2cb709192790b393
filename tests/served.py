"""A drive model served by the command line, for as long as a test lasts."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SERVE = (sys.executable, "-m", "iogauge", "model", "serve")


@dataclass
class Served:
    """What it said: at the beginning, and once it has ended."""

    process: subprocess.Popen[str]
    opening: dict[str, str]
    closing: dict[str, str] = field(default_factory=dict)
    status: int | None = None

    @property
    def uri(self) -> str:
        """Where it is."""
        return self.opening["at"]


@contextlib.contextmanager
def served(*arguments: str | Path, end: signal.Signals = signal.SIGTERM) -> Iterator[Served]:
    """Serve until the block is left, then end it by a signal."""
    with subprocess.Popen([*SERVE, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as process:
        served = Served(process, _rows(process, until="end"))
        try:
            assert "end" in served.opening, f"it did not begin: status {process.wait()}"
            yield served
        finally:
            process.send_signal(end)
            served.closing = _rows(process)
            served.status = process.wait(timeout=600)


def _rows(process: subprocess.Popen[str], until: str = "") -> dict[str, str]:
    """Read lines as label and text, to the one labelled ``until`` or the last."""
    assert process.stdout is not None
    rows = {}
    for line in process.stdout:
        label, _, text = line.strip().partition(" ")
        rows[label] = text.strip()
        if label == until:
            break
    return rows
