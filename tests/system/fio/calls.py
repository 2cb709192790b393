"""Runs the same job with iogauge and with fio, and returns the system calls that each of them made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

IOGAUGE = [str(Path(sys.executable).with_name("iogauge")), "run", "--no-ceiling"]

STRACE = [
    "strace",
    "--seccomp-bpf",
    "--follow-forks",
    "--output-separately",
    "--decode-fds=path",
    "--output=calls",
]
"""Writes a file for each thread. A program stops only at the calls that are traced, so that it starts sooner."""


def call(program: list[str], *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [*program, *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def trace(program: list[str], names: str, *job: str, cwd: Path) -> str:
    """Return the calls of these names in a job on files that exist: a line each, thread by thread, with its number."""
    cwd.mkdir()
    call(program, *job, cwd=cwd)  # lays the files out, which may need the same calls
    call([*STRACE, f"--trace={names}", *program], *job, cwd=cwd)
    threads = sorted((int(path.suffix[1:]), path) for path in cwd.glob("calls.*"))
    return "".join(f"{thread} {line}\n" for thread, path in threads for line in path.read_text().splitlines())


def calls_of_both(names: str, *job: str, cwd: Path) -> tuple[list[str], list[str]]:
    """Return the system calls of these names that iogauge and fio make in a job on files that exist."""
    begun = rf"(?m)^\d+ +((?:{names.replace(',', '|')})\(.*?)\)* +="
    ours, theirs = (
        re.findall(begun, trace(program, names, *job, cwd=cwd / folder))
        for program, folder in ((IOGAUGE, "ours"), (["fio"], "fios"))
    )
    return ours, theirs
