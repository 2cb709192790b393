"""fio's trim_percentage: which calls a job makes that trims some of what it verifies, on a file and on a device.

fio 3.33 trims so only in jobs that trim anyway (rw=trimwrite), and only block devices; others end by an assertion. So
these compare with 3.33 where it can, and with the calls of fio 3.42 where only that runs. The device needs root, and
zram.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, trace

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")

COMMON = ["--name=j", "--size=32k", "--bs=4k", "--ioengine=psync", "--verify=crc32c"]
PROGRAMS = {"fio": ["fio"], "iogauge": IOGAUGE}


def calls(program: str, target: str, *options: str, cwd: Path) -> str:
    """Return the calls of a job in their order: W for a write, R for a read and T for a trim, each with its block."""
    traced = trace(
        PROGRAMS[program],
        "pread64,pwrite64,ioctl,fallocate",
        *COMMON,
        f"--filename={target}",
        *options,
        cwd=cwd,
    )
    made = re.findall(
        r"(?m)^(\d+) (pread|pwrite|ioctl|fallocate).*?(?:4096, (\d+)|BLKDISCARD, \[(\d+), 4096\]|"
        r"PUNCH_HOLE, (\d+), 4096)\) += (?:4096|0)$",
        traced,
    )
    worker = next(thread for thread, call, *_ in made if call == "pwrite")
    letters = {"pread": "R", "pwrite": "W", "ioctl": "T", "fallocate": "T"}
    return " ".join(
        f"{letters[call]}{int(''.join(offset)) // 4096}" for thread, call, *offset in made if thread == worker
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "W0 W1 W2 W3 T0 T1 T2 T3 W4 W5 W6 W7 T4 T5 T6 T7 R0 R1 R2 R3 R4 R5 R6 R7"),
        (["--trim_verify_zero=0"], "W0 W1 W2 W3 T0 T1 T2 T3 W4 W5 W6 W7 T4 T5 T6 T7"),
    ],
    ids=["zeroes", "unread"],
)
def test_a_file_is_trimmed_in_batches_and_read_back_as_fio_342_does(
    options: list[str], expected: str, tmp_path: Path
) -> None:
    target = tmp_path / "data"
    trims = ("--rw=write", "--trim_percentage=100", "--trim_backlog=4", *options)
    assert calls("iogauge", str(target), *trims, cwd=tmp_path / "work") == expected
    assert target.read_bytes() == bytes(32768)


@pytest.mark.parametrize("direct", ["0", "1"])
@pytest.mark.parametrize("zeroes", ["0", "1"])
@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
def test_a_device_is_trimmed_by_the_calls_that_fio_makes(
    zeroes: str, direct: str, zram: str, tmp_path: Path
) -> None:
    """Writes that the page cache still holds are trimmed too."""
    trims = ("--rw=trimwrite", "--trim_percentage=100", "--trim_backlog=1", f"--trim_verify_zero={zeroes}")
    theirs = calls("fio", zram, *trims, f"--direct={direct}", cwd=tmp_path / "fio")
    ours = calls("iogauge", zram, *trims, f"--direct={direct}", f"--destroy={zram}", cwd=tmp_path / "iogauge")
    assert ours.startswith("T0 W0 T0 T1 W1 T1 T2")
    assert ours == theirs
