"""What verify=crc32c and verify=stamp cost, beside the same job without them; of crc32c also beside fio's.

Each I/O goes past the page cache to one file for all, which iogauge first fills with verified blocks: where a file lies
on a disk changes its rate by a fifth. The job without verify refills its buffers, as verify does; so the difference is
the checksum and the header. This job is the baseline of the goal of 3 %; stamps need no new data, so theirs is the
default job.
A row without a goal compares with the default job, which does not refill its buffers: there, making the data counts.
"""

from __future__ import annotations

from pathlib import Path

from bench import peers
from bench.cases.block import samples_of
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
    "ioengine": "io_uring",
    "iodepth": 32,
    "time_based": 1,
    "refill_buffers": 1,
}


def cost(settings: Settings) -> Finding:
    """IOPS of writes and of reads with verification, over those without it, and over fio's."""
    _write_blocks()
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    for rw in ("randread", "randwrite"):
        job: Job = {**COMMON, "rw": rw, "filename": str(FILE), "runtime": settings.seconds(5)}
        with_verify, without = settings.compare(f"verify {rw}", _verified, _unverified, job)
        ours, fio = settings.compare(f"verify {rw} beside fio", _verified, _verified_by_fio, job)
        for name, pair, least in (
            ("verify / none", (with_verify, without), 0.97),
            ("iogauge / fio", (ours, fio), 0.97),
        ):
            iops = tuple([run.iops for run in runs] for runs in pair)
            rows.append(ratio_row(f"{name}, {rw} QD32", "IOPS", iops[0], iops[1], at_least=least, bound=True))
        again, default = settings.compare(f"verify {rw} beside the default", _verified, _default, job)
        iops = tuple([run.iops for run in runs] for runs in (again, default))
        rows.append(ratio_row(f"verify / default job, {rw} QD32", "IOPS", iops[0], iops[1]))
        figures = {
            f"{rw}_iops": ([run.iops for run in ours], [run.iops for run in fio]),
            f"{rw}_user_ns_per_io": (
                [run.user_ns_per_io for run in ours],
                [run.user_ns_per_io for run in fio],
            ),
        }
        samples |= samples_of(figures)
        samples[f"without_{rw}_iops"] = [run.iops for run in without]
        samples[f"without_{rw}_user_ns_per_io"] = [run.user_ns_per_io for run in without]
    # Last, because stamps replace the blocks that are verified.
    stamped, without = settings.compare("stamps, randwrite", _stamped, _default, job)
    STAMP_LOG.unlink()
    iops = tuple([run.iops for run in runs] for runs in (stamped, without))
    rows.append(ratio_row("stamps / none, randwrite QD32", "IOPS", *iops, at_least=0.97, bound=True))
    samples["stamped_randwrite_user_ns_per_io"] = [run.user_ns_per_io for run in stamped]
    return Finding(rows, samples)


def _unverified(job: Job) -> Outcome:
    # fio writes to the file, too, so iogauge writes to it only if told that its content may be lost.
    return peers.iogauge(job, options=["--destroy", str(FILE)])


def _verified(job: Job) -> Outcome:
    return _unverified({**job, **VERIFIED})


def _stamped(job: Job) -> Outcome:
    STAMP_LOG.unlink(missing_ok=True)
    return _default({**job, "verify": "stamp", "stamp_log": str(STAMP_LOG)})


def _default(job: Job) -> Outcome:
    return _unverified({name: value for name, value in job.items() if name != "refill_buffers"})


def _verified_by_fio(job: Job) -> Outcome:
    return peers.fio({**job, **VERIFIED})


def _write_blocks() -> None:
    """Lay the file out anew, with a header in each block."""
    note(f"writing {FILE}")
    FILE.parent.mkdir(exist_ok=True)
    FILE.unlink(missing_ok=True)
    peers.iogauge(
        {
            **VERIFIED,
            "rw": "write",
            "bs": "4k",
            "ioengine": "psync",
            "filename": str(FILE),
            "size": FILE_BYTES,
        },
        options=["--no-ceiling"],
    )
