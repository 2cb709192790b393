"""Jobs of several files read the bytes that fio reads, from the files that fio reads, in fio's order.

Needs fio and strace, and neither root nor a device.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, trace

pytestmark = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("strace")), reason="needs fio, strace"
)

SAMPLE_BYTES = 4096
"""iogauge reads blocks of this size, to see what a target holds."""

READS = ["--name=j", "--thread", "--rw=read", "--bs=8k", "--invalidate=0"]
JOBS = [
    ["--size=96k", "--nrfiles=3"],
    ["--size=96k", "--nr_files=3", "--file_service_type=roundrobin:3", "--openfiles=3"],
    ["--size=96k", "--nrfiles=3", "--file_service_type=sequential"],
    ["--size=96k", "--nrfiles=3", "--file_service_type=sequential", "--loops=2"],
    ["--size=100k", "--nrfiles=3"],
    ["--size=64k", "--nrfiles=2", "--filename_format=$jobname-of-$jobnum.part.$filenum", "--numjobs=2"],
    ["--size=64k", "--filename_format=shared.$FILENUM"],
    ["--size=96k", "--filename=a:b:c", "--file_service_type=roundrobin:2"],
    ["--filesize=64k", "--size=32k"],
    ["--filesize=40k", "--nrfiles=2"],
    ["--filesize=64k", "--offset=16k"],
    ["--filesize=64k", "--size=50%", "--nrfiles=2"],
    ["--filesize=64k", "--size=1m", "--nrfiles=2"],
    ["--filesize=64k", "--io_size=96k"],
    ["--size=64k", "--overwrite=1", "--fallocate=none", "--create_serialize=0", "--random_generator=lfsr"],
]


def reads(program: list[str], options: list[str], folder: Path) -> list[tuple[str, ...]]:
    """Return thread, file and offset of every read of a block, thread by thread."""
    call = rf"(?m)^(\d+) +pread64\(\d+<{re.escape(str(folder))}/([^>]*)>, .*, 8192, (\d+)\)"
    calls = re.findall(call, trace(program, "pread64", *READS, *options, cwd=folder))
    threads = sorted({thread for thread, *_ in calls}, key=int)
    return [(str(threads.index(thread)), *rest) for thread, *rest in calls]


@pytest.mark.parametrize("options", JOBS, ids=" ".join)
def test_files_are_read_as_by_fio(options: list[str], tmp_path: Path) -> None:
    ours = reads(IOGAUGE, options, tmp_path / "ours")
    theirs = reads(["fio"], options, tmp_path / "fios")
    assert ours
    assert ours == theirs


def test_regions_are_read_before_the_job_as_by_fio(tmp_path: Path) -> None:
    """The job only writes, so whatever is read of whole blocks is read before it, by calls of any length."""
    options = ["--rw=write", "--size=3m", "--offset=64k", "--nrfiles=2", "--pre_read=1"]

    def bytes_read(program: list[str], folder: Path) -> Counter[str]:
        calls = trace(program, "read,pread64", *READS, *options, cwd=folder)
        total = Counter[str]()
        for name, length, read_bytes in re.findall(
            rf"(?m)^\d+ +p?read\w*\(\d+<{re.escape(str(folder))}/(j[^>]*)>, .*?, (\d+)(?:, \d+)?\) = (\d+)",
            calls,
        ):
            total[name] += int(read_bytes) if int(length) > SAMPLE_BYTES else 0
        return total

    ours = bytes_read(IOGAUGE, tmp_path / "ours")
    assert ours == bytes_read(["fio"], tmp_path / "fios")
    assert ours == {"j.0.0": 3 << 19, "j.0.1": 3 << 19}


@pytest.mark.parametrize("distribution", ["zipf:1.2:0.25", "pareto:0.3:0.5", "normal"])
@pytest.mark.parametrize("rw", ["read", "randread"])
def test_likely_files_get_the_shares_that_they_get_in_fio(distribution: str, rw: str, tmp_path: Path) -> None:
    options = [f"--rw={rw}", "--size=8m", "--bs=4k", "--nrfiles=8", f"--file_service_type={distribution}"]

    def shares(program: list[str]) -> list[float]:
        log = tmp_path / program[-1]
        call = [*program, "--name=j", "--ioengine=null", *options, f"--write_iolog={log}"]
        subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
        files = Counter(re.findall(r"(?m)^(?:\d+ )?(\S+) read ", log.read_text()))
        assert files.total() == 2048, "as many as the files have blocks, whatever their shares"
        return [files[f"j.0.{number}"] / files.total() for number in range(8)]

    ours, theirs = shares(IOGAUGE), shares(["fio"])
    assert ours == pytest.approx(theirs, abs=0.05)
    assert max(ours) > 0.3


def test_files_drawn_at_random_are_all_finished_as_by_fio(tmp_path: Path) -> None:
    options = ["--size=96k", "--nrfiles=3", "--file_service_type=random:2"]
    ours, theirs = (
        sorted(reads(program, options, tmp_path / name))
        for name, program in (("ours", IOGAUGE), ("fios", ["fio"]))
    )
    assert len(ours) == 12
    assert ours == theirs
