"""Jobs whose effect no result shows make the system calls that fio makes: syncs, priorities, pauses.

Needs fio and strace, and neither root nor a device.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, call, calls_of_both, trace

pytestmark = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("strace")), reason="needs fio, strace"
)

SYNCS = [
    ["--end_fsync=1"], ["--fsync_on_close=1"], ["--end_fsync=0", "--fsync_on_close=0"], ["--end_fsync=1", "--fsync=10"],
    ["--end_fsync=1", "--fsync=16"], ["--end_fsync=1", "--fdatasync=16"], ["--end_fsync=1", "--filename=a:b:c"],
    ["--end_fsync=1", "--numjobs=2"], ["--end_fsync=1", "--rw=randread"], ["--end_fsync=1", "--rw=rw"],
    ["--end_fsync=1", "--loops=3"], ["--end_fsync=1", "--loops=3", "--fsync=64"],
    ["--end_fsync=1", "--loops=2", "--rw=randrw"], ["--end_fsync=1", "--loops=3", "--filename=a:b"],
    ["--end_fsync=1", "--io_size=640k", "--rw=write"],
    ["--end_fsync=1", "--loops=3", "--number_ios=100"], ["--end_fsync=1", "--io_size=768k"],
    ["--end_fsync=1", "--time_based", "--runtime=200ms"],
]  # fmt: skip


WRITES = ["--name=j", "--filename=a", "--thread", "--size=256k", "--rw=randwrite", "--invalidate=0"]


@pytest.mark.parametrize("options", SYNCS, ids=" ".join)
def test_a_job_syncs_its_files_as_often_as_fio(options: list[str], tmp_path: Path) -> None:
    """fio does not count the syncs at the end of a job, so both are counted by their system calls."""
    ours, theirs = calls_of_both("fsync,fdatasync", *WRITES, *options, cwd=tmp_path)
    assert [line.partition("(")[0] for line in ours] == [line.partition("(")[0] for line in theirs]


@pytest.mark.parametrize(
    "options",
    [
        ["--nice=3"],
        ["--prio=6"],
        ["--prioclass=3"],
        ["--prioclass=2", "--prio=0", "--numjobs=2"],
        ["--nice=0"],
    ],
    ids=" ".join,
)
def test_a_thread_has_fios_priority(options: list[str], tmp_path: Path) -> None:
    ours, theirs = calls_of_both("setpriority,ioprio_set", *WRITES, *options, cwd=tmp_path)
    # fio also sets the nice value that the thread has already.
    unchanged = f"setpriority(PRIO_PROCESS, 0, {os.nice(0)}"
    assert set(ours) == set(theirs) - {unchanged}
    assert bool(ours) == (options != ["--nice=0"])


ADVICE = [
    "--size=64k", "--thread", "--invalidate=0",
    "--name=random", "--rw=randread", "--name=other", "--rw=write", "--fadvise_hint=random",
    "--name=silent", "--fadvise_hint=0", "--name=part", "--offset=16k", "--name=files", "--rw=randread", "--nrfiles=2",
]  # fmt: skip


def test_the_kernel_is_told_the_order_that_fio_tells_it(tmp_path: Path) -> None:
    both = calls_of_both("fadvise64", *ADVICE, cwd=tmp_path)
    # iogauge advises whole files as well, before the jobs begin; fio drops the pages of files that it laid out.
    advice = r"/([^/>]*)>, (\d+, [1-9]\d*, POSIX_FADV_(?:RANDOM|SEQUENTIAL))"
    ours, theirs = (sorted(re.findall(advice, "\n".join(calls))) for calls in both)
    assert ours
    assert ours == theirs


@pytest.mark.parametrize(
    "options",
    [
        ["--cmdprio_percentage=100,0", "--cmdprio_class=2", "--cmdprio=3"],
        ["--cmdprio_percentage=0,100", "--cmdprio_class=3"],
        ["--cmdprio_bssplit=4k/100/0/6:8k/100,8k/0", "--cmdprio_class=2", "--cmdprio=1", "--bs=4k,8k"],
        ["--cmdprio_bssplit=4k/100/2/6:8k/100,8k/0", "--cmdprio_class=2", "--cmdprio=1", "--bs=4k,8k"],
    ],
    ids=" ".join,
)
def test_requests_have_fios_priorities(options: list[str], tmp_path: Path) -> None:
    """Which requests have a priority is drawn, so the shares are all or nothing. Directions are drawn as well."""
    job = ["--name=j", "--thread", "--ioengine=libaio", "--size=256k", "--rw=rw", *options]
    submitted = r"opcode=(\w+)(?:, aio_reqprio=([\w(), ]+\)))?, aio_fildes=.*?aio_nbytes=(\d+).*?(?:aio_flags=(\w+))?\}"
    ours, theirs = (
        set(re.findall(submitted, trace(program, "io_submit", *job, cwd=tmp_path / folder)))
        for program, folder in ((IOGAUGE, "ours"), (["fio"], "fios"))
    )
    assert len(ours) == 2
    assert ours == theirs


PATTERNS = [
    ["--buffer_pattern=0xdeadbeef"], ['--buffer_pattern="text"-12'], ["--buffer_pattern=0xabc", "--bs=12k"],
    ["--zero_buffers=1", "--buffer_pattern=66"], ["--buffer_pattern=66", "--zero_buffers=1"],
    ["--buffer_pattern=66", "--buffer_compress_percentage=100"],
    ["--rw=rw", "--rwmixwrite=100", "--buffer_pattern=0x010203"],
]  # fmt: skip


@pytest.mark.parametrize("options", PATTERNS, ids=" ".join)
def test_a_pattern_is_written_as_by_fio(options: list[str], tmp_path: Path) -> None:
    job = ["--name=j", "--filename=a", "--size=240k", "--bs=4k", "--rw=write"]
    for program, folder in ((IOGAUGE, "ours"), (["fio"], "fios")):
        (tmp_path / folder).mkdir()
        call(program, *job, *options, cwd=tmp_path / folder)
    assert (tmp_path / "ours/a").read_bytes() == (tmp_path / "fios/a").read_bytes()


def of_one_thread(trace: str) -> list[str]:
    """Return the lines of the thread that submits requests."""
    thread = next(line.split()[0] for line in trace.splitlines() if " io_submit(" in line)
    return [line for line in trace.splitlines() if line.startswith(f"{thread} ")]


def bursts_between_sleeps(trace: str) -> list[int]:
    """Return how many requests were submitted between two sleeps."""
    calls = [line for line in of_one_thread(trace) if " io_submit(" in line or "sleep(" in line]
    runs = [
        (is_sleep, len([*run])) for is_sleep, run in itertools.groupby(calls, lambda call: "sleep(" in call)
    ]
    return [length for is_sleep, length in runs if not is_sleep]


def bursts_between_empty_queues(trace: str) -> list[int]:
    """Return how many requests were submitted until nothing was in flight. fio does not always sleep in a pause."""
    bursts, in_flight = [0], 0
    for line in of_one_thread(trace):
        returned = re.search(r"io_getevents.*\) = (\d+)", line)
        if " io_submit(" in line:
            bursts[-1] += 1
            in_flight += 1
        elif returned:
            in_flight -= int(returned[1])
            bursts += [0] if not in_flight else []
    return [length for length in bursts if length]


@pytest.mark.parametrize("blocks_type", ["complete", "issue"])
@pytest.mark.parametrize(("depth", "blocks"), [(4, 8), (4, 1), (8, 32)])
def test_as_many_requests_between_pauses_as_fio(
    depth: int, blocks: int, blocks_type: str, tmp_path: Path
) -> None:
    options = [
        *("--name=j", "--filename=a", "--thread", "--size=256k", "--rw=randread", "--ioengine=libaio"),
        *("--direct=1", "--thinktime=3000", f"--iodepth={depth}", f"--thinktime_blocks={blocks}"),
        f"--thinktime_blocks_type={blocks_type}",
    ]
    names = "io_submit,io_getevents,nanosleep,clock_nanosleep"
    ours = bursts_between_sleeps(trace(IOGAUGE, names, *options, cwd=tmp_path / "ours"))
    theirs = bursts_between_empty_queues(trace(["fio"], names, *options, cwd=tmp_path / "fios"))
    assert sum(ours) == 64
    assert ours == theirs
