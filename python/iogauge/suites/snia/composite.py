"""SNIA's composite block workload: a mix of sizes and hot places, at every number of threads and every depth.

Four reads to six writes; sizes from 512 B to 64 KiB, two thirds of them 4 KiB; half of all requests go to the first
twentieth of the range, three tenths to the next 15 %, and the rest to the other four fifths. A round is five minutes of
it by 32 threads at depth 32, and then a minute of each of 49 cells: 1 to 32 threads, each at depth 1 to 32. Tracked is
that of 32 threads at depth 32.

Once that is steady, latencies are looked at in three places: MAX, the cell with the highest rate among those whose mean
latency is below 5 ms; MIN, one thread at depth 1; and MID, the cell whose rate is nearest to the middle of these two.
Each gets an hour of 32 threads at depth 32 and then ten minutes of its own.

Caveats. Requests begin at multiples of 4 KiB whatever their size, which is ours. Sizes that are no multiple of the
target's logical blocks are left out, and 4 KiB has their share. 32 threads want CPUs: mind the warnings.

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
from iogauge.suites.snia.common import TRACKED, Jobs, Procedure, cell, mean
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
PLACES = "zoned:50/5:30/15:20/80"
COUNTS: dict[Pace, tuple[int, ...]] = {
    "quick": (32, 8, 1),
    "standard": (32, 16, 8, 6, 4, 2, 1),
    "full": (32, 16, 8, 6, 4, 2, 1),
}
"""Of threads, and of requests in flight for each."""
PREWRITE = "prewrite"
PREWRITES, LONG_PREWRITES, LATENCY_CELLS = 5, 60, 10
"""How many times as long as a cell: before a round, before a latency, and a latency."""
MOST_NS = 5_000_000
"""Mean latency of a cell that may be MAX or MID."""


class Place(NamedTuple):
    """A cell, by how much is asked of it."""

    threads: int
    depth: int

    @property
    def name(self) -> str:
        """Of its job."""
        return f"t{self.threads}-q{self.depth}"

    @property
    def text(self) -> str:
        """In words."""
        return f"{numbers.counted(self.threads, 'thread')} at depth {self.depth}"


class PtsComposite(Procedure):
    """See the module's text."""

    NAME = "pts-composite"
    TITLE = "SNIA PTS: composite block workload"
    FOLLOWED = "32 threads at depth 32"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """What is written before, and every number of threads with every depth."""
        cell_ns = self.runtime_ns(request)
        load = _load(request)
        first, *_ = places = _places(request.pace)
        jobs = {PREWRITE: {**load, **_asks(first), "runtime": time_text(PREWRITES * cell_ns)}}
        for place in places:
            name = TRACKED if place == first else place.name
            jobs[name] = {"stonewall": 1, **load, **_asks(place)}
        return jobs

    def shown(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[Matrix, ...]:
        """IOPS and mean latency by threads and depth."""
        measured = [(place, _figures(rounds, place)) for place in _measured(rounds)]
        return tuple(
            Matrix(
                title=f"{name}, mean of {title}",
                unit=unit,
                columns="depth",
                rows="threads",
                cells=tuple(
                    (str(place.depth), str(place.threads), figures[index]) for place, figures in measured
                ),
            )
            for index, (name, unit) in enumerate((("IOPS", "IOPS"), ("mean latency in ms", "ms")))
        )

    def after(
        self, plan: SuitePlan, window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """The latencies in three places."""
        rates = {place: _figures(window, place) for place in _measured(window)}
        if not rates:
            return ()
        return self._latencies(plan, request, chosen(rates))

    def afterwards(self, plan: SuitePlan, request: SuiteRequest) -> tuple[StepPlan, ...]:
        """The same, all three in the first cell."""
        first, *_ = _places(request.pace)
        return self._latencies(plan, request, dict.fromkeys(("MAX", "MID", "MIN"), first))

    def _latencies(
        self, plan: SuitePlan, request: SuiteRequest, places: dict[str, Place]
    ) -> tuple[StepPlan, ...]:
        load, common, cell_ns = _load(request), StepTemplate.of(plan), self.runtime_ns(request)
        first, *_ = _places(request.pace)
        latency_ns = max(LATENCY_CELLS * cell_ns, QUICK_RUNTIME_NS)
        return tuple(
            common.step(
                f"latency-{name.lower()}",
                0,
                {
                    PREWRITE: {**load, **_asks(first), "runtime": time_text(LONG_PREWRITES * cell_ns)},
                    TRACKED: {"stonewall": 1, **load, **_asks(place), "runtime": time_text(latency_ns)},
                },
                series="latency",
                label=f"{name}: {place.text}",
                state_group="test",
                percentile_list=(QUICK_PERCENTILES if latency_ns <= QUICK_RUNTIME_NS else FULL_PERCENTILES),
            )
            for name, place in places.items()
        )

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield what is not as the specification has it."""
        yield from super().notes(request)
        if request.pace == "quick":
            yield f"Shortened: {len(COUNTS['quick']) ** 2} cells of the specification's 49."
        yield from block_notes(tuple(SHARES), request)


def chosen(rates: dict[Place, tuple[float, float]]) -> dict[str, Place]:
    """Return where latencies are looked at. ``rates`` are IOPS and mean latency in ms of every cell.

    Where no cell is below 5 ms, the one with the lowest mean latency is MAX.

    >>> cells = {Place(1, 1): (10.0, 0.1), Place(8, 8): (60.0, 1.0), Place(32, 8): (100.0, 3.0)}
    >>> {name: place.name for name, place in chosen(cells | {Place(32, 32): (110.0, 9.0)}).items()}
    {'MAX': 't32-q8', 'MID': 't8-q8', 'MIN': 't1-q1'}
    """
    least = min(rates)
    able = [place for place in rates if rates[place][1] * 1e6 < MOST_NS] or [
        min(rates, key=lambda place: rates[place][1])
    ]
    most = max(able, key=lambda place: rates[place][0])
    middle = (rates[most][0] + rates[least][0]) / 2
    mid = min(able, key=lambda place: abs(rates[place][0] - middle))
    return {"MAX": most, "MID": mid, "MIN": least}


def _places(pace: Pace) -> list[Place]:
    return [Place(threads, depth) for threads, depth in product(COUNTS[pace], COUNTS[pace])]


def _asks(place: Place) -> dict[str, object]:
    return {"numjobs": place.threads, "iodepth": place.depth}


def _load(request: SuiteRequest) -> dict[str, object]:
    sizes = allowed(tuple(SHARES), request)
    shares = {size: SHARES[size] for size in sizes}
    shares[4 * KIB] += 100 - sum(shares.values())
    return {
        "rw": "randrw",
        "rwmixread": READS,
        "bssplit": ":".join(f"{size_text(size)}/{share}" for size, share in shares.items()),
        "ba": "4k",
        "random_distribution": PLACES,
    }


def _measured(rounds: Sequence[RunRecord]) -> list[Place]:
    """Return the cells that completed something in every round."""
    jobs = [job for job in rounds[0].jobs.jobs if job.name != PREWRITE]
    places = {job.name: Place(job.numjobs, job.iodepth) for job in jobs}
    return [place for name, place in places.items() if all(cell(record, name).ios for record in rounds)]


def _figures(rounds: Sequence[RunRecord], place: Place) -> tuple[float, float]:
    """Return the mean over rounds of a cell's IOPS and of its mean latency in ms."""
    names = {(job.numjobs, job.iodepth): job.name for job in rounds[0].jobs.jobs if job.name != PREWRITE}
    cells = [cell(record, names[place]) for record in rounds]
    return mean([figures.iops for figures in cells]), mean([_mean_ms(figures) for figures in cells])


def _mean_ms(figures: StepFigures) -> float:
    return figures.mean.value / 1e6 if figures.mean else 0.0
