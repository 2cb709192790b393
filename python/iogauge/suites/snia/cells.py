"""Cells and matrices of SNIA's tests that vary the share of reads and the size of requests.

Each cell is a job of one round, named after its mix and size; the tracked cell is 4 KiB writes. Sizes that are not
multiples of the target's logical block cannot be issued, and are left out.

Source: SNIA PTS 2.0.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from iogauge.results.conclusions import Matrix
from iogauge.schema import RunRecord
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.common import TRACKED, Jobs, cell_figures, mean
from iogauge.suites.suite import SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, size_text


def allowed(sizes: Sequence[int], request: SuiteRequest) -> tuple[int, ...]:
    """Return the sizes that the target's logical blocks allow."""
    block = request.target.logical_block_bytes or 512
    return tuple(size for size in sizes if size % block == 0)


def block_notes(sizes: Sequence[int], request: SuiteRequest) -> Iterator[str]:
    """Yield a note that names the sizes left out, if any."""
    if out := sorted(set(sizes) - set(allowed(sizes, request))):
        block = numbers.block(request.target.logical_block_bytes or 512)
        yield f"The target's logical blocks are {block}: {', '.join(map(numbers.block, out))} are left out."


def mix_cells(shares: Sequence[int], sizes: Sequence[int], *, threads: int, depth: int) -> Jobs:
    """Return a stage for each size of each mix."""
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
    """Return a figure of every cell, ``over`` the rounds, without cells that completed nothing in a round."""
    cells = []
    for job in rounds[0].jobs.jobs:
        values = [
            figure for record in rounds if (figure := value(cell_figures(record, job.name))) is not None
        ]
        if len(values) == len(rounds):
            share, size = job.rwmix_read_percent, job.bs.read.minimum_bytes
            cells.append((f"{share:g}/{100 - share:g}", numbers.block(size), over(values)))
    return Matrix(title=title, unit=unit, columns="reads/writes", rows="size", cells=tuple(cells))


def _name(share: int, size: int) -> str:
    return TRACKED if (share, size) == (0, 4 * KIB) else f"r{share}-{size_text(size)}"
