"""Jobs as the stages of one run, in turn: the halves of a pair are moments apart, and a program starts once for all.

On a target whose rate changes from second to second, hundreds of short pairs tell more than a few long ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import peers
from bench.pairs import interleave
from bench.peers import Job, Outcome

MILLISECONDS = 250


def job_file(common: Job, jobs: tuple[Job, Job], *, pairs: int) -> str:
    """Return a job file whose stages are the two jobs, in pairs of alternating order; ``common`` is of both.

    >>> print(job_file({"rw": "read"}, ({}, {"verify": "crc32c"}), pairs=2))
    [global]
    stonewall
    time_based
    runtime=250ms
    rw=read
    [0]
    [1]
    verify=crc32c
    [1]
    verify=crc32c
    [0]
    """
    sections: list[str] = []

    def add(number: int) -> None:
        sections.extend([f"[{number}]", *_lines(jobs[number])])

    for _ in interleave(lambda: add(0), lambda: add(1), pairs=pairs):
        pass
    shared = ["stonewall", "time_based", f"runtime={MILLISECONDS}ms"]
    return "\n".join(["[global]", *shared, *_lines(common), *sections])


def compare(
    command: Sequence[str], common: Job, jobs: tuple[Job, Job], *, pairs: int
) -> tuple[list[Outcome], list[Outcome]]:
    """Run the pairs with a program that takes fio's job files; return the stages of either job, pair by pair.

    Raises PeerError if it fails, or a stage completes nothing or has an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.fio"
        path.write_text(job_file(common, jobs, pairs=pairs))
        stdout = peers.printed([*command, "--output-format=json", str(path)], cwd=path.parent)
    stages: tuple[list[Outcome], list[Outcome]] = ([], [])
    for job in peers.jobs_of(stdout):
        stages[int(job["jobname"])].append(peers.outcome(job, command))
    return stages


def _lines(job: Job) -> list[str]:
    return [f"{name}={value}" for name, value in job.items()]
