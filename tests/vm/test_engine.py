"""The engine of NVMe commands by itself: the Rust tests that need a namespace, run in the guest."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.vm.guest import Drive, Guest
from tests.vm.test_nvme import drive

ROOT = Path(__file__).parents[2]
TESTS = {"device": "writes_and_trims_of_a_namespace", "no_allocation": "on_a_namespace"}
_SECTOR = 512


def programs() -> dict[str, Path]:
    """Build the tests and return their programs."""
    command = [
        "cargo",
        "test",
        "--quiet",
        "--locked",
        "--no-run",
        "--message-format=json",
        "-p",
        "iogauge-engine",
    ]
    command += [word for name in TESTS for word in ("--test", name)]
    out = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    built = [message for line in out.splitlines() if (message := json.loads(line)).get("executable")]
    return {message["target"]["name"]: Path(message["executable"]) for message in built}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_engine_on_a_namespace(tmp_path: Path) -> None:
    built = programs()
    for name in TESTS:
        data = built[name].read_bytes()
        (tmp_path / f"{name}.img").write_bytes(data + bytes(-len(data) % _SECTOR))
    drives = [*map(Drive, TESTS), Drive("N1", file="driver=file,discard=unmap")]
    with Guest(tmp_path, drives) as guest:
        block = drive(guest, "N1")
        # Where the tests were built to make their files.
        guest.sh(f"mkdir -p {built['device'].parents[2] / 'tmp'}")
        for name, test in TESTS.items():
            guest.sh(f"cat {drive(guest, name)} >/run/{name} && chmod +x /run/{name}")
            ran = guest.sh(
                f"IOGAUGE_TEST_DEVICE={block} IOGAUGE_TEST_NAMESPACE={block.replace('/dev/nvme', '/dev/ng')} "
                f"/run/{name} --ignored --exact {test}"
            )
            assert "1 passed" in ran
