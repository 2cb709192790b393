"""Gives every reader so many inputs, two readers at a time, and says what each came to.

python -m tests.fuzz [--runs N] [--seed N] [TARGET ...]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.progress import MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tests.fuzz.readers import READERS, ROOT, inputs

FOUND = Path(__file__).with_name("found")
NBD = "nbd"
SLOWEST_S = 10
MOST_MIB = 4096
COUNTED = re.compile(r"#(\d+)\t")


@dataclass(frozen=True)
class Came:
    """What one target's inputs came to: nothing, or the end of what its process said."""

    seconds: float
    said: str


def main() -> int:
    """Return 1 where any input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join([*READERS, NBD])}; all by default"
    )
    options = parser.parse_args()
    targets = options.targets or [*READERS, NBD]
    if unknown := [name for name in targets if name not in READERS and name != NBD]:
        parser.error(f"no target is called {unknown[0]}")
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn()
    failed = False
    with Progress(*columns) as progress, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        tasks = {name: progress.add_task(name, total=options.runs, start=False) for name in targets}
        runs = {
            name: pool.submit(
                _nbd if name == NBD else _python, name, options.runs, options.seed, progress, task
            )
            for name, task in tasks.items()
        }
        for name, run in runs.items():
            came = run.result()
            failed |= bool(came.said)
            progress.console.print(f"{name}: {'FAILED' if came.said else 'passed'} in {came.seconds:.0f} s")
            if came.said:
                progress.console.print(came.said, markup=False, highlight=False)
    return int(failed)


def _python(name: str, runs: int, seed: int, progress: Progress, task: TaskID) -> Came:
    FOUND.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"iogauge-fuzz-{name}-") as folder:
        for number, file in enumerate(inputs(name)):
            shutil.copy(file, Path(folder) / f"{number}-{file.name}")
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.reader",
            name,
            "--fuzz",
            f"-runs={runs}",
            f"-seed={seed}",
        ]
        limits = [f"-timeout={SLOWEST_S}", f"-rss_limit_mb={MOST_MIB}", f"-artifact_prefix={FOUND}/{name}-"]
        return _run([*command, *limits, folder], progress, task, counted=COUNTED)


def _nbd(name: str, runs: int, seed: int, progress: Progress, task: TaskID) -> Came:
    command = ["cargo", "test", "--release", "--locked", "--package", "iogauge-nbd", "--lib", "protocol"]
    environment = {"PROPTEST_CASES": str(runs), "PROPTEST_RNG_SEED": str(seed)}
    return _run(command, progress, task, environ=environment)


def _run(
    command: Iterable[str],
    progress: Progress,
    task: TaskID,
    *,
    environ: dict[str, str] | None = None,
    counted: re.Pattern[str] | None = None,
) -> Came:
    progress.start_task(task)
    began = time.monotonic()
    process = subprocess.Popen(
        list(command),
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    kept: list[str] = []
    for line in process.stdout:
        if counted and (at := counted.match(line)):
            progress.update(task, completed=int(at[1]))
        else:
            kept = [*kept[-60:], line]
    ok = process.wait() == 0
    if ok:
        progress.update(task, completed=progress.tasks[task].total)
    return Came(time.monotonic() - began, "" if ok else "".join(kept))


if __name__ == "__main__":
    sys.exit(main())
