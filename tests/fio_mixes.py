"""Sizes of requests as a random map fills: what fio issues by tenths of coverage, for the tests of our generator.

``python -m tests.fio_mixes`` writes fio's figures anew into ``crates/core/src/generate/tests/fio_mixes.csv``. It needs
fio; the figures that are there are fio 3.33's.
"""

from __future__ import annotations

import csv
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

TENTHS = 10
ENOUGH = 2000
"""Requests in a tenth: the shares of fewer are not known to two points."""

FIGURES = Path(__file__).parents[1] / "crates/core/src/generate/tests/fio_mixes.csv"
_LEFT_OUT_PERCENT = 0.5
"""Sizes that have less than this share in every tenth are not written."""

FILE_SERVER = "512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10"
"""Intel's IOMeter file server, as in fio's examples/iometer-file-access-server.fio."""

MIB = 1 << 20
_APART = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Case:
    """A job whose sizes are looked at."""

    options: tuple[str, ...]
    bytes: int
    """All that it issues, or as much as its region has; tenths are of this."""
    seeds: int = 1
    """How often it is run."""


CASES = {
    "split": Case(("rw=randread", "bssplit=4k/50:64k/50", "size=4g"), 4096 * MIB),
    "range": Case(("rw=randread", "bsrange=4k-16k", "size=2g"), 2048 * MIB),
    "file-server": Case(("rw=randrw", "rwmixread=80", f"bssplit={FILE_SERVER}", "size=1g"), 1024 * MIB),
    "uneven": Case(("rw=randwrite", "bsrange=3k-13k", "offset=12345k", "size=2000000001"), 2_000_000_001),
    "aligned-to-less": Case(("rw=randread", "bsrange=4k-16k", "blockalign=512", "size=2g"), 2048 * MIB),
    "read-and-write-splits": Case(("rw=randrw", "bssplit=4k/80:64k/20,4k/20:128k/80", "size=8g"), 8192 * MIB),
    "other-smallest": Case(("rw=randrw", "bsrange=4k-16k,8k-32k", "size=64m"), 64 * MIB, seeds=32),
    "passes": Case(("rw=randread", "bssplit=4k/50:64k/50", "size=512m", "io_size=1280m"), 1280 * MIB),
}

Request = tuple[str, int]
"""Direction and bytes."""
Shares = dict[Request, list[float | None]]
"""Percent of the requests of each tenth; None in a tenth that has too few."""


def fio_requests(options: Sequence[str], seed: int) -> list[Request]:
    """What fio issues in a job with these options on its null engine, in order."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = ["fio", "--name=mix", "--ioengine=null", f"--write_iolog={log}", "--output=/dev/null"]
        arguments = [f"--{option}" for option in options]
        subprocess.run([*command, f"--randseed={seed}", *arguments], check=True, cwd=folder)
        lines = [line.split() for line in log.read_text().splitlines()]
    return [(line[2], int(line[4])) for line in lines if line[2:3] and line[2] in ("read", "write")]


def shares(case: Case, requests_of: Callable[[Sequence[str], int], Iterable[Request]]) -> Shares:
    """The share of each direction and size by tenths of coverage."""
    tenths: list[Counter[Request]] = [Counter() for _ in range(TENTHS)]
    for seed in range(1, case.seeds + 1):
        covered = 0
        # fio's streams of neighbouring seeds resemble each other.
        for request in requests_of(case.options, seed * _APART % 2**63):
            tenths[min(covered * TENTHS // case.bytes, TENTHS - 1)][request] += 1
            covered += request[1]
    seen = sorted({request for tenth in tenths for request in tenth})
    return {request: [_percent(tenth, request) for tenth in tenths] for request in seen}


def _percent(tenth: Counter[Request], request: Request) -> float | None:
    return 100 * tenth[request] / tenth.total() if tenth.total() >= ENOUGH else None


def difference(one: Shares, other: Shares) -> float:
    """The largest difference of any share in any tenth, in points."""
    none = [0.0] * TENTHS
    return max(
        abs(mine - theirs)
        for request in one.keys() | other.keys()
        for mine, theirs in zip(one.get(request, none), other.get(request, none), strict=True)
        if mine is not None and theirs is not None
    )


def main() -> None:
    """Write fio's figures."""
    with FIGURES.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "direction", "bytes", *(f"percent_{tenth}" for tenth in range(TENTHS))])
        for name, case in CASES.items():
            for (direction, length), percents in shares(case, fio_requests).items():
                if max(percent or 0 for percent in percents) >= _LEFT_OUT_PERCENT:
                    texts = ["" if percent is None else f"{percent:.2f}" for percent in percents]
                    writer.writerow([name, direction, length, *texts])


if __name__ == "__main__":
    main()
