"""SNIA's composite block workload: a mix of sizes and hot regions, at every number of threads and every depth.

40 % are reads. Sizes range from 512 B to 64 KiB, two thirds of them 4 KiB. Half of all requests go to the first 5 % of
the range, 30 % to the next 15 %, and the rest to the remaining 80 %. A round is five minutes of 32 threads at depth 32,
and then a minute of each of 49 cells: 1 to 32 threads, each at depth 1 to 32. The tracked cell is 32 threads at depth
32.

Once that cell is steady, the suite measures latencies at three cells:

- MAX: the highest rate among cells with a mean latency below 5 ms;
- MIN: one thread at depth 1;
- MID: the rate nearest to the middle between these two.

Each measurement is an hour of 32 threads at depth 32, and then ten minutes of the cell.

Caveats. Requests start at multiples of 4 KiB whatever their size; this is our choice. Sizes that are not multiples of
the target's logical block are left out, and 4 KiB gets their share. 32 threads need CPUs: see the warnings.

Source: SNIA PTS 2.0.2, the composite block workload; formerly the enterprise composite workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from iogauge.results.conclusions import Matrix
from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.cells import allowed, block_notes
from iogauge.suites.snia.common import TRACKED, Jobs, Procedure, cell_figures, mean
from iogauge.suites.suite import (
    FULL_PERCENTILES,
    QUICK_PERCENTILES,
    QUICK_RUNTIME_NS,
    Pace,
    StepTemplate,
    SuiteRequest,
    time_text,
)
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, size_text

READS = 40
"""Percent."""
SHARES = {
    512: 4,
    1024: 1,
    1536: 1,
    2048: 1,
    2560: 1,
    3072: 1,
    3584: 1,
    4 * KIB: 67,
    8 * KIB: 10,
    16 * KIB: 7,
    32 * KIB: 3,
    64 * KIB: 3,
}
"""Percent of requests by their size in bytes."""
ZONES = "zoned:50/5:30/15:20/80"
COUNTS: dict[Pace, tuple[int, ...]] = {
    "quick": (32, 8, 1),
    "standard": (32, 16, 8, 6, 4, 2, 1),
    "full": (32, 16, 8, 6, 4, 2, 1),
}
"""Numbers of threads, and depths of each thread."""
PREWRITE = "prewrite"
PREWRITES, LONG_PREWRITES, LATENCY_CELLS = 5, 60, 10
"""Lengths in cells: of the writes before a round, of those before a latency measurement, and of that measurement."""
MOST_NS = 5_000_000
"""Highest mean latency of a cell that may be MAX or MID."""


class Cell(NamedTuple):
    """A cell's number of threads and depth."""

    threads: int
    depth: int

    @property
    def name(self) -> str:
        """The name of its job."""
        return f"t{self.threads}-q{self.depth}"

    @property
    def text(self) -> str:
        """The cell in words."""
        return f"{numbers.counted(self.threads, 'thread')} at depth {self.depth}"


class PtsComposite(Procedure):
    """See the module's text."""

    NAME = "pts-composite"
    TITLE = "SNIA PTS: composite block workload"
    TRACKS = "32 threads at depth 32"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """Return a stage at the highest load, and one for each number of threads and each depth."""
        cell_ns = self.runtime_ns(request)
        load = _load(request)
        first, *_ = cells = _cells(request.pace)
        jobs = {PREWRITE: {**load, **_options(first), "runtime": time_text(PREWRITES * cell_ns)}}
        for cell in cells:
            name = TRACKED if cell == first else cell.name
            jobs[name] = {"stonewall": 1, **load, **_options(cell)}
        return jobs

    def tables(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[Matrix, ...]:
        """Return IOPS and mean latency by threads and depth."""
        measured = [(cell, _figures(rounds, cell)) for cell in _measured(rounds)]
        return tuple(
            Matrix(
                title=f"{name}, mean of {title}",
                unit=unit,
                columns="depth",
                rows="threads",
                cells=tuple(
                    (str(cell.depth), str(cell.threads), figures[index]) for cell, figures in measured
                ),
            )
            for index, (name, unit) in enumerate((("IOPS", "IOPS"), ("mean latency in ms", "ms")))
        )

    def final_steps(
        self, plan: SuitePlan, window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """Return the latency steps at MAX, MID and MIN."""
        rates = {cell: _figures(window, cell) for cell in _measured(window)}
        if not rates:
            return ()
        return self._latencies(plan, request, chosen(rates))

    def heaviest_final_steps(self, plan: SuitePlan, request: SuiteRequest) -> tuple[StepPlan, ...]:
        """Estimate the latency steps, all three at the heaviest cell."""
        first, *_ = _cells(request.pace)
        return self._latencies(plan, request, dict.fromkeys(("MAX", "MID", "MIN"), first))

    def _latencies(
        self, plan: SuitePlan, request: SuiteRequest, cells: dict[str, Cell]
    ) -> tuple[StepPlan, ...]:
        load, common, cell_ns = _load(request), StepTemplate.of(plan), self.runtime_ns(request)
        first, *_ = _cells(request.pace)
        latency_ns = max(LATENCY_CELLS * cell_ns, QUICK_RUNTIME_NS)
        return tuple(
            common.step(
                f"latency-{name.lower()}",
                0,
                {
                    PREWRITE: {**load, **_options(first), "runtime": time_text(LONG_PREWRITES * cell_ns)},
                    TRACKED: {"stonewall": 1, **load, **_options(cell), "runtime": time_text(latency_ns)},
                },
                series="latency",
                label=f"{name}: {cell.text}",
                state_group="test",
                percentile_list=(QUICK_PERCENTILES if latency_ns <= QUICK_RUNTIME_NS else FULL_PERCENTILES),
            )
            for name, cell in cells.items()
        )

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the test differs from the specification."""
        yield from super().notes(request)
        if request.pace == "quick":
            yield f"Shortened: {len(COUNTS['quick']) ** 2} cells of the specification's 49."
        yield from block_notes(tuple(SHARES), request)


def chosen(rates: dict[Cell, tuple[float, float]]) -> dict[str, Cell]:
    """Return the cells MAX, MID and MIN. ``rates`` are IOPS and mean latency in ms of every cell.

    If no cell is below 5 ms, MAX is the one with the lowest mean latency.

    >>> cells = {Cell(1, 1): (10.0, 0.1), Cell(8, 8): (60.0, 1.0), Cell(32, 8): (100.0, 3.0)}
    >>> {name: cell.name for name, cell in chosen(cells | {Cell(32, 32): (110.0, 9.0)}).items()}
    {'MAX': 't32-q8', 'MID': 't8-q8', 'MIN': 't1-q1'}
    """
    least = min(rates)
    eligible = [cell for cell in rates if rates[cell][1] * 1e6 < MOST_NS] or [
        min(rates, key=lambda cell: rates[cell][1])
    ]
    most = max(eligible, key=lambda cell: rates[cell][0])
    middle = (rates[most][0] + rates[least][0]) / 2
    mid = min(eligible, key=lambda cell: abs(rates[cell][0] - middle))
    return {"MAX": most, "MID": mid, "MIN": least}


def _cells(pace: Pace) -> list[Cell]:
    return [Cell(threads, depth) for threads, depth in product(COUNTS[pace], COUNTS[pace])]


def _options(cell: Cell) -> dict[str, object]:
    return {"numjobs": cell.threads, "iodepth": cell.depth}


def _load(request: SuiteRequest) -> dict[str, object]:
    sizes = allowed(tuple(SHARES), request)
    shares = {size: SHARES[size] for size in sizes}
    shares[4 * KIB] += 100 - sum(shares.values())
    return {
        "rw": "randrw",
        "rwmixread": READS,
        "bssplit": ":".join(f"{size_text(size)}/{share}" for size, share in shares.items()),
        "ba": "4k",
        "random_distribution": ZONES,
    }


def _measured(rounds: Sequence[RunRecord]) -> list[Cell]:
    """Return the cells that completed something in every round."""
    jobs = [job for job in rounds[0].jobs.jobs if job.name != PREWRITE]
    cells = {job.name: Cell(job.numjobs, job.iodepth) for job in jobs}
    return [cell for name, cell in cells.items() if all(cell_figures(record, name).ios for record in rounds)]


def _figures(rounds: Sequence[RunRecord], cell: Cell) -> tuple[float, float]:
    """Return the mean over rounds of a cell's IOPS and of its mean latency in ms."""
    names = {(job.numjobs, job.iodepth): job.name for job in rounds[0].jobs.jobs if job.name != PREWRITE}
    by_round = [cell_figures(record, names[cell]) for record in rounds]
    return mean([figures.iops for figures in by_round]), mean([_mean_ms(figures) for figures in by_round])


def _mean_ms(figures: StepFigures) -> float:
    return figures.mean.value / 1e6 if figures.mean else 0.0
