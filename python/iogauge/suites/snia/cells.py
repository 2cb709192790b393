"""Cells of SNIA's tests that vary mixes of reads and writes and sizes of requests, and their matrices.

Every cell is a job of one round, named after its mix and size; 4 KiB writes are the tracked one. Sizes that are no
multiple of the target's logical blocks cannot be issued, and are left out.

Source: SNIA PTS 2.0.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from iogauge.results.conclusions import Matrix
from iogauge.schema import RunRecord
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.common import TRACKED, Jobs, cell, mean
from iogauge.suites.suite import SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, size_text


def allowed(sizes: Sequence[int], request: SuiteRequest) -> tuple[int, ...]:
    """Return the sizes that the target's logical blocks allow."""
    block = request.target.logical_block_bytes or 512
    return tuple(size for size in sizes if size % block == 0)


def block_notes(sizes: Sequence[int], request: SuiteRequest) -> Iterator[str]:
    """Yield which sizes are left out."""
    if out := sorted(set(sizes) - set(allowed(sizes, request))):
        block = numbers.block(request.target.logical_block_bytes or 512)
        yield f"The target's logical blocks are {block}: {', '.join(map(numbers.block, out))} are left out."


def mix_cells(shares: Sequence[int], sizes: Sequence[int], *, threads: int, depth: int) -> Jobs:
    """Return a stage for each mix and size, mix by mix."""
    return {
        _name(share, size): {
            "stonewall": 1,
            "rw": "randrw",
            "rwmixread": share,
            "bs": size_text(size),
            "numjobs": threads,
            "iodepth": depth,
        }
        for share in shares
        for size in sizes
    }


def mix_matrix(
    rounds: Sequence[RunRecord],
    title: str,
    unit: str,
    value: Callable[[StepFigures], float | None],
    *,
    over: Callable[[Sequence[float]], float] = mean,
) -> Matrix:
    """Return a figure of every cell, ``over`` the rounds. A cell that completed nothing in one of them is left out."""
    shown = []
    for job in rounds[0].jobs.jobs:
        values = [figure for record in rounds if (figure := value(cell(record, job.name))) is not None]
        if len(values) == len(rounds):
            share, size = job.rwmix_read_percent, job.bs.read.minimum_bytes
            shown.append((f"{share:g}/{100 - share:g}", numbers.block(size), over(values)))
    return Matrix(title=title, unit=unit, columns="reads/writes", rows="size", cells=tuple(shown))


def _name(share: int, size: int) -> str:
    return TRACKED if (share, size) == (0, 4 * KIB) else f"r{share}-{size_text(size)}"
