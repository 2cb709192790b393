"""fio's own verify on a served drive: it notices faults that show without a power cut, and only where there are any."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.served import served

pytestmark = pytest.mark.alone

JOB = (
    *(
        "--name=x",
        "--ioengine=nbd",
        "--rw=randwrite",
        "--bs=4k",
        "--size=1m",
        "--io_size=2m",
        "--norandommap=1",
    ),
    *("--verify=crc32c", "--do_verify=1", "--verify_fatal=0", "--continue_on_error=verify", "--iodepth=8"),
    *("--serialize_overlap=1", "--fsync=16", "--verify_state_save=0", "--output-format=json"),
)


def errors(uri: str) -> int:
    """The errors that fio counts."""
    done = subprocess.run(
        ["fio", *JOB, f"--uri={uri}"], capture_output=True, text=True, check=False, timeout=600
    )
    (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    return int(job["total_err"])


@pytest.mark.parametrize("fault", ["", "lost-flush", "reordering:p=0.1", "reordering:p=0.1,across-flush"])
def test_fio_misses_what_shows_only_after_a_power_cut(tmp_path: Path, fault: str) -> None:
    faults = [f"--fault={fault}"] if fault else []
    with served("p4800x", "--socket", tmp_path / "socket", "--dilate=1000", "--size=1m", *faults) as drive:
        assert errors(drive.uri) == 0


@pytest.mark.parametrize(
    "kind",
    [
        *("torn-write", "short-write", "dropped-write", "misdirected-write", "bit-rot", "duplicated"),
        *("misdirected-read", "stale-read"),
    ],
)
def test_fio_notices_what_shows_in_a_run(tmp_path: Path, kind: str) -> None:
    arguments = ("--dilate=1000", "--size=1m", f"--fault={kind}:p=0.05", "--fault-log", tmp_path / "log")
    with served("p4800x", "--socket", tmp_path / "socket", *arguments) as drive:
        assert errors(drive.uri) > 0
    noted = [json.loads(line)["kind"] for line in (tmp_path / "log").read_text().splitlines()]
    assert noted
    assert set(noted) == {kind}
