"""What verify=crc32c and verify=stamp cost on a file, beside the same job without them; of crc32c also beside fio's.

Each I/O goes past the page cache to one file for all, which iogauge first fills with verified blocks. The job without
verify refills its buffers, as verify does: the difference is the checksum and the header. Stamps need no new data, so
theirs is compared with the default job, in another run: one run refuses writes without stamps to a stamped file.
The goal is at most 3 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import peers, stages
from bench.peers import Job, Outcome
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings, note

FILE = peers.ROOT / "bench" / "out" / "verified.bin"
FILE_BYTES = 256 << 20
STAMP_LOG = Path("/dev/shm/iogauge-bench-stamps.log")
"""On another disk than the target: in memory."""
VERIFIED: Job = {"verify": "crc32c", "do_verify": 0, "verify_state_save": 0}
COMMON: Job = {
    "bs": "4k",
    "direct": 1,
    "thread": 1,
    "norandommap": 1,
    "ioengine": "io_uring",
    "iodepth": 32,
    "filename": str(FILE),
}
PAIRS = 600
"""As many because the disk's rate differs by a sixth from one stage to the next."""
Pair = tuple[list[Outcome], list[Outcome]]
"""The runs with verification, and those to compare them with."""
PROGRAMS = {
    # fio writes to the file, too, so iogauge writes to it only if told that its content may be lost.
    "iogauge": [str(peers.IOGAUGE), "run", "--no-ceiling", "--destroy", str(FILE)],
    "fio": ["fio"],
}


def cost(settings: Settings) -> Finding:
    """IOPS of writes and of reads with verification, over those without it, and over fio's."""
    _write_blocks()
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    job: dict[str, str | int]
    for rw in ("randread", "randwrite"):
        job = {**COMMON, "rw": rw, "refill_buffers": 1}
        for program, command in PROGRAMS.items():
            pair = _compared(f"{program}, verify {rw}", command, job, VERIFIED, settings)
            goal = 0.97 if program == "iogauge" else None
            rows.append(_row(f"{program}: verify / none, {rw} QD32", pair, goal))
            samples |= _samples(f"{program}_verify_{rw}", pair)
        job |= {"time_based": 1, "runtime": settings.seconds(5)}
        pair = settings.compare(f"verify {rw} beside fio", _verified, _verified_by_fio, job)
        rows.append(_row(f"iogauge / fio, verify {rw} QD32", pair, 0.97))
        for program, runs in zip(PROGRAMS, pair, strict=True):
            samples[f"{program}_beside_{rw}_iops"] = [run.iops for run in runs]
    # Last, because stamps replace the blocks that are verified.
    job = {**COMMON, "rw": "randwrite", "time_based": 1, "runtime": settings.seconds(5)}
    pair = settings.compare("stamps, randwrite", _stamped, _plain, job)
    STAMP_LOG.unlink()
    rows.append(_row("iogauge: stamps / none, randwrite QD32", pair, 0.97))
    samples |= _samples("stamps", pair)
    return Finding(rows, samples)


def _plain(job: Job) -> Outcome:
    return peers.iogauge(job, options=["--destroy", str(FILE)])


def _verified(job: Job) -> Outcome:
    return _plain({**job, **VERIFIED})


def _verified_by_fio(job: Job) -> Outcome:
    return peers.fio({**job, **VERIFIED})


def _stamped(job: Job) -> Outcome:
    STAMP_LOG.unlink(missing_ok=True)
    return _plain({**job, "verify": "stamp", "stamp_log": str(STAMP_LOG)})


def _compared(name: str, command: Sequence[str], job: Job, verified: Job, settings: Settings) -> Pair:
    pairs = round(PAIRS * settings.scale)
    note(f"{name}: {pairs} pairs of {stages.MILLISECONDS} ms")
    without, with_verify = stages.compare(command, job, ({}, verified), pairs=pairs)
    return with_verify, without


def _row(measure: str, pair: Pair, goal: float | None) -> Row:
    with_verify, without = ([run.iops for run in runs] for runs in pair)
    return ratio_row(measure, "IOPS", with_verify, without, at_least=goal, bound=goal is not None)


def _samples(name: str, pair: Pair) -> dict[str, list[float]]:
    """Return the IOPS of each run, and the user time of all: the kernel's ticks are too coarse for one."""
    samples: dict[str, list[float]] = {}
    for kind, runs in zip(("with", "without"), pair, strict=True):
        user_ns, ios = (
            sum(run.user_ns_per_io * run.total_ios for run in runs),
            sum(run.total_ios for run in runs),
        )
        samples[f"{name}_{kind}_iops"] = [round(run.iops) for run in runs]
        samples[f"{name}_{kind}_user_ns_per_io"] = [round(user_ns / ios, 1)]
    return samples


def _write_blocks() -> None:
    """Lay the file out anew, with a header in each block."""
    note(f"writing {FILE}")
    FILE.parent.mkdir(exist_ok=True)
    FILE.unlink(missing_ok=True)
    job: Job = {
        **VERIFIED,
        "rw": "write",
        "bs": "4k",
        "ioengine": "psync",
        "filename": str(FILE),
        "size": FILE_BYTES,
    }
    peers.iogauge(job, options=["--no-ceiling"])
