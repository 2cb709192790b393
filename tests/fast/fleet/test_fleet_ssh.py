"""What is run on a host that ssh reaches."""

from __future__ import annotations

import subprocess
from pathlib import Path

from iogauge.fleet.dask.ssh import remote_command


def test_a_worker_leaves_its_last_words_and_nothing_else(tmp_path: Path) -> None:
    """Temporary directories may have blanks in their names."""
    neighbour = tmp_path / "my"
    neighbour.mkdir()
    directory = tmp_path / "my tmp" / "it's"
    directory.mkdir(parents=True)
    (directory / "host-key.pem").touch()
    command = remote_command(str(directory), ["sh", "-c", "echo no space left >&2; exit 3"])
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "no space left\n")
    assert neighbour.is_dir()
    assert list((tmp_path / "my tmp").iterdir()) == []
