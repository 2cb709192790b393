"""``python -m bench.before CHECKOUT [CASE...]``: is iogauge slower than it was in another checkout?

``CHECKOUT`` is a clone of this repository at an earlier revision, after ``make setup``. Both run the same jobs, or
commands on the same saved reviews, in interleaved pairs. Every figure is a speed, more is better: the lower end of the
interval of now / before must be at least 0.97.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import peers, results, zram
from bench.cases import block, commands, null
from bench.pairs import interleave
from bench.peers import Job, Outcome
from bench.settings import Settings, note

AT_LEAST = 0.97

Speed = Callable[[Outcome], float]

SPEEDS: Mapping[str, Speed] = {
    "IOPS": lambda run: run.iops,
    "1 / mean lat": lambda run: 1e9 / run.lat_mean_ns,
    "I/Os per s of worker's user time": lambda run: 1e9 / run.user_ns_per_io,
    "I/Os per s of process's user time": lambda run: run.total_ios / run.process_user_s,
}


@dataclass(frozen=True)
class Case:
    """A job, without its target; how long it runs; and the speeds that are compared."""

    job: Job
    speeds: Sequence[str]
    seconds: float = 3
    target: Callable[[], AbstractContextManager[Path | None]] = nullcontext
    """Makes the context of the target: its path, or None if the job needs no file."""
    pinned: bool = False


@contextmanager
def _zram() -> Iterator[Path]:
    with zram.device(size_bytes=block.DEVICE_BYTES) as device:
        yield device


def _file() -> nullcontext[Path]:
    return nullcontext(block.written_file(block.FILE))


def _modelled(drive: str, rw: str, ios: int) -> Case:
    job: Job = {"rw": rw, "bs": "4k", "iodepth": 4, "numjobs": 4, "ioengine": "libaio", "number_ios": ios}
    job = {**job, "filename": f"model:{drive}@ideal", "norandommap": 1, "group_reporting": 1}
    return Case(job, ("I/Os per s of process's user time",))


_SYNC: Job = {**block.RANDREAD, "ioengine": "pvsync2"}
_CPU = ("I/Os per s of worker's user time", "IOPS")
CASES: Mapping[str, Case] = {
    "null": Case(null.JOB, ("IOPS",), pinned=True),
    "null-depth-1": Case({**null.JOB, "iodepth": 1}, ("IOPS",), pinned=True),
    "zram-unbatched": Case({**block.URING, **block.UNBATCHED, **block.on_one_core()}, _CPU, 10, _zram),
    "zram-batched": Case({**block.URING, **block.BATCHED, **block.on_one_core()}, _CPU, 10, _zram),
    "zram-sync": Case({**_SYNC, **block.on_one_core()}, ("1 / mean lat",), 5, _zram),
    "zram-libaio": Case({**block.RANDREAD, "ioengine": "libaio", "iodepth": 16}, ("IOPS",), 3, _zram),
    "file": Case(block.URING, ("IOPS",), 3, _file),
    "model-reads": _modelled("p4800x", "randread", 8_000_000),
    "model-writes": _modelled("p3700-800g", "randwrite", 2_000_000),
}


def compare(name: str, checkout: Path, settings: Settings) -> list[results.Row]:
    """Return the rows of a case: the speed now, before, and their ratio."""
    case = CASES[name]
    if case.target is _zram and (reason := zram.unavailable()):
        note(f"{name}: skipped: {reason}")
        return []
    runner = partial(peers.iogauge, pin=max(os.sched_getaffinity(0)) if case.pinned else None)
    with case.target() as target:
        job = dict(case.job)
        if target is not None:
            job["filename"] = str(target)
        if "number_ios" not in job:
            job["runtime"] = settings.seconds(case.seconds)
        now, before = settings.compare(name, runner, partial(runner, checkout=checkout), job)
    return [
        results.ratio_row(
            name, speed, *([SPEEDS[speed](run) for run in runs] for runs in (now, before)),
            at_least=AT_LEAST, bound=True,
        )
        for speed in case.speeds
    ]  # fmt: skip


def compare_commands(names: Sequence[str], checkout: Path, settings: Settings) -> Iterator[results.Row]:
    """Yield the rows of commands: by their CPU time, on the same reviews, which the other checkout made."""
    with commands.reviews(checkout) as folder, TemporaryDirectory() as other:
        copy = commands.copied(folder, Path(other) / "reviews")
        for name, first in ((one, first) for one in names for first in commands.turns(one)):
            now = partial(commands.one_run, name, folder, first=first)
            before = partial(commands.one_run, name, copy, first=first, checkout=checkout)
            # So that both have compiled their modules and, unless ``first``, computed the figures.
            now(), before()
            pairs = list(interleave(now, before, pairs=settings.pairs))
            ours, theirs = ([1 / took.cpu_s for took in side] for side in zip(*pairs, strict=True))
            label = f"{name}, first" if first else name
            note(f"{label}: {', '.join(f'{1 / speed:.2f}' for speed in ours)} s of CPU now")
            yield results.ratio_row(label, "1 / s of CPU", ours, theirs, at_least=AT_LEAST, bound=True)


def main(argv: Sequence[str]) -> int:
    """Compare the cases that ``argv`` names, or all; return 1 if one is slower."""
    names = [*CASES, *commands.COMMANDS]
    parser = argparse.ArgumentParser(prog="bench.before", description="iogauge now and in another checkout")
    parser.add_argument("checkout", type=Path, help="an earlier revision, after make setup")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one or more of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="few pairs and short runs")
    arguments = parser.parse_intermixed_args(argv)
    for name in arguments.cases:
        if name not in names:
            parser.error(f"no case named {name}")
    if not peers.command_of(arguments.checkout).exists():
        parser.error(f"{arguments.checkout} has no iogauge; run make setup there")
    settings = Settings.quick() if arguments.quick else Settings()
    checkout, wanted = arguments.checkout.resolve(), arguments.cases or names
    rows = [row for name in wanted if name in CASES for row in compare(name, checkout, settings)]
    if of_commands := [name for name in wanted if name in commands.COMMANDS]:
        rows += compare_commands(of_commands, checkout, settings)
    print(results.table(rows, peer="before"))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
