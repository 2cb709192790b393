"""sync_file_range makes the calls that fio makes, on each engine, and counts as a sync.

Needs fio and strace, and neither root nor a device.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, call, calls_of_both

pytestmark = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("strace")), reason="needs fio, strace"
)

WRITES = ["--name=j", "--filename=a", "--thread", "--size=64k", "--bs=4k", "--rw=write", "--invalidate=0"]
SYNCS = "sync_file_range,fsync,fdatasync"

CALLS = [
    ["--sync_file_range=wait_before,write:4"],
    ["--sync_file_range=wait_before,write,wait_after:8", "--ioengine=pvsync2"],
    ["--sync_file_range=wait_after,write:3", "--fsync=8", "--fdatasync=5", "--ioengine=sync"],
    ["--sync_file_range=write", "--ioengine=libaio"],
    ["--sync_file_range=write:5", "--filename=a:b:c"],
    ["--sync_file_range=write:4", "--end_fsync=1"],
]


@pytest.mark.parametrize("options", CALLS, ids=" ".join)
def test_ranges_are_synced_as_by_fio(options: list[str], tmp_path: Path) -> None:
    ours, theirs = (
        [re.sub(r"\d+<[^>]*/(\w+)>", r"\1", line) for line in calls]
        for calls in calls_of_both(SYNCS, *WRITES, *options, cwd=tmp_path)
    )
    assert ours == theirs
    assert any(line.startswith("sync_file_range(a") for line in ours)


ENGINES = ["psync", "libaio", "io_uring", "mmap", "posixaio", "null"]


def test_a_synced_range_counts_as_a_sync_on_each_engine(tmp_path: Path) -> None:
    """The ring makes its calls in the kernel, where strace does not see them."""
    common = "filename=a\nsize=64k\nrw=write\nthread\nsync_file_range=wait_before,write,wait_after:3\n"
    sections = "".join(f"[{engine}]\nioengine={engine}\nstonewall\n" for engine in ENGINES)
    (tmp_path / "j.fio").write_text(f"[global]\n{common}{sections}")
    counts = [
        [job["sync"]["lat_ns"]["N"] for job in json.loads(text)["jobs"]]
        for text in (
            call(program, "j.fio", "--output-format=json", cwd=tmp_path) for program in (IOGAUGE, ["fio"])
        )
    ]
    assert counts == [[5] * len(ENGINES)] * 2
