"""An instance of tracefs that another process takes for one that was left, and those that were left indeed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli.terminal import leftover
from iogauge.machine.trace import tracefs
from iogauge.machine.trace.tracefs import Instance


def test_an_instance_that_another_process_removed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open
    removals = [errno.ENODEV, errno.ENOENT]

    def fake_open(path: Path, flags: int, *rest: Any) -> int:
        if path.name == "free_buffer" and removals:
            error = removals.pop()
            if error == errno.ENOENT:
                path.parent.rmdir()
            raise OSError(error, os.strerror(error), path)
        path.parent.mkdir(exist_ok=True)  # tracefs has its files as soon as the instance is made
        return opened(path, flags | os.O_CREAT, 0o600)

    (tmp_path / "instances").mkdir()
    monkeypatch.setattr(tracefs.os, "open", fake_open)
    with Instance(tmp_path) as instance:
        assert instance.read("tracing_on") == "0"


@pytest.mark.parametrize("root", [True, False])
def test_the_next_command_of_root_removes_what_a_killed_one_traced_with(
    root: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftover, "STATE_DIRECTORY", tmp_path / "state")
    monkeypatch.setattr(leftover, "TRACING", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    left, others = tmp_path / "instances" / "iogauge-1", tmp_path / "instances" / "mine"
    left.mkdir(parents=True)
    others.mkdir()
    leftover.undo()
    assert left.exists() is not root
    assert others.exists()
