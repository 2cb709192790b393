"""A trace is replayed with the requests that fio makes of it: the same calls, in the same order.

Needs fio and strace, and neither root nor a device.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import Request
from tests.system.fio.calls import IOGAUGE, call

pytestmark = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("strace")), reason="needs fio, strace"
)

ACTIONS = ("read", "write", "write", "sync", "read", "datasync")


def version_3(files: tuple[str, ...] = ("a",)) -> str:
    lines = ["fio version 3 iolog", *(f"{number} {name} add" for number, name in enumerate(files, 1))]
    lines += [f"{10 + number} {name} open" for number, name in enumerate(files)]
    for number in range(120):
        action, name = ACTIONS[number % len(ACTIONS)], files[number % len(files)]
        place = (0, 0) if "sync" in action else (4096 * (number * 37 % 128), 512 * (1 + number % 16))
        # Now and then time runs backwards.
        lines.append(f"{100 + 50 * number - 120 * (number % 7 == 3)} {name} {action} {place[0]} {place[1]}")
    return "\n".join([*lines, *(f"9999 {name} close" for name in files), ""])


def version_2() -> str:
    lines = ["fio version 2 iolog", "a add", "a open"]
    for number in range(40):
        lines += [f"a {('read', 'write')[number % 2]} {4096 * (number * 7 % 32)} 4096"]
        lines += [f"a wait {5 * number} 0"] if number % 10 == 5 else []
    return "\n".join([*lines, "a close", ""])


def blktrace() -> bytes:
    made = [
        Request(
            50 * number,
            ("read", "write")[number % 2],
            512 * (number * 91 % 512),
            512 * (1 + number % 5),
            20,
            8,
        )
        for number in range(60)
    ]
    return samples.blktrace(made)[0]


TRACES = {
    "iolog": version_3().encode(),
    "iolog of two files": version_3(("a", "b")).encode(),
    "iolog of version 2": version_2().encode(),
    "blktrace": blktrace(),
}
OPTIONS = [
    [],
    ["--replay_no_stall=1"],
    ["--replay_scale=4"],
    ["--replay_align=2048"],
    ["--replay_scale=3", "--replay_align=512"],
    ["--replay_skip=write"],
    ["--replay_skip=read,sync"],
    ["--replay_time_scale=300"],
    ["--read_iolog_chunked=1"],
]


def made(program: list[str], *job: str, cwd: Path) -> list[tuple[str, ...]]:
    """Return the calls that a job makes on its files: which, on which, how much, where."""
    cwd.mkdir()
    for name in ("a", "b"):
        (cwd / name).write_bytes(bytes(1 << 20))
    strace = [
        "strace",
        "--seccomp-bpf",
        "--follow-forks",
        "--decode-fds=path",
        "--output=calls",
        "--string-limit=0",
    ]
    call([*strace, "--trace=pread64,pwrite64,fsync,fdatasync", *program], *job, cwd=cwd)
    calls = re.findall(
        rf'(?m)^(\d+) +(\w+)\(\d+<{cwd}/([ab])>(?:, ""\.*, (\d+), (\d+))?', (cwd / "calls").read_text()
    )
    # Threads that look at the target before the run call first.
    *_, replays = dict.fromkeys(thread for thread, *_ in calls)
    return [tuple(one) for thread, *one in calls if thread == replays]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("trace", TRACES)
def test_the_calls_are_those_of_fio(trace: str, options: list[str], tmp_path: Path) -> None:
    if "iolog" in trace and any("replay_skip" in option for option in options):
        pytest.skip(
            "fio 3.33 leaves requests out of a blktrace alone; newer fio, and iogauge, out of an iolog too"
        )
    log = tmp_path / "log"
    log.write_bytes(TRACES[trace])
    job = ["--name=j", f"--read_iolog={log}", "--ioengine=psync", "--invalidate=0", *options]
    if trace == "blktrace":
        job += ["--replay_redirect=a"]
    ours = made([*IOGAUGE, "--destroy=a", "--destroy=b"], *job, cwd=tmp_path / "ours")
    fios = made(["fio"], *job, cwd=tmp_path / "fios")
    assert ours == fios
    assert len(ours) >= 30


def test_redirected_files_are_merged_as_by_fio(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(version_3(("a", "b")))
    job = ["--name=j", f"--read_iolog={log}", "--ioengine=psync", "--invalidate=0", "--replay_redirect=b"]
    ours = made([*IOGAUGE, "--destroy=b"], *job, cwd=tmp_path / "ours")
    assert ours == made(["fio"], *job, cwd=tmp_path / "fios")
    assert {name for _, name, *_ in ours} == {"b"}


def test_a_written_log_is_that_of_fio_and_fio_replays_it(tmp_path: Path) -> None:
    job = ["--name=j", "--filename=a:b", "--rw=write:8k", "--bs=8k", "--size=256k", "--fsync=5", "--thread"]
    job += ["--ioengine=psync", "--invalidate=0", "--write_iolog=log"]
    destroy = ["--destroy=a", "--destroy=b"]
    calls = made([*IOGAUGE, *destroy], *job, cwd=tmp_path / "ours")
    made(["fio"], *job, cwd=tmp_path / "fios")
    ours, fios = (
        # fio gives a sync the offset of the I/O before it, and opens files when it needs them.
        re.findall(r"(?m)^\d+ ([ab]) (?:(write) (\d+) (\d+)|(sync))", (tmp_path / folder / "log").read_text())
        for folder in ("ours", "fios")
    )
    assert len(ours) > len(calls) / 2
    assert ours == fios
    replay = ["--name=j", f"--read_iolog={tmp_path / 'ours/log'}", "--ioengine=psync", "--invalidate=0"]
    assert made(["fio"], *replay, cwd=tmp_path / "replayed") == calls
    assert made([*IOGAUGE, *destroy], *replay, cwd=tmp_path / "replayed by iogauge") == calls
