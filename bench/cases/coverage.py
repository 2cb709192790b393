"""How often 95 % intervals contain the true value, and how often a test reports a difference that does not exist.

Synthetic runs of known distribution (``bench/streams.py``) are judged by the functions that judge real ones. The goals
are coverage of at least 93 % and false differences in 5 +- 2 %; a missed goal is printed. No peer runs, since fio has
no intervals. The table in docs/statistics.md is written as Markdown to ``bench/out/coverage.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from bench import peers
from bench.cases import steadiness
from bench.results import Finding, Row
from bench.settings import Settings, note
from bench.streams import CORRELATION, MEDIAN_NS, SHIFT, STREAMS, Stream, histograms, lognormal, repeats
from iogauge.stats.dependence import RESAMPLES, block_length, stationary_weights
from iogauge.stats.differences.comparison import ALPHA, compare
from iogauge.stats.histogram import Histogram, all_but_one
from iogauge.stats.quantiles import TAIL, Sample
from iogauge.stats.repeats import repeated

TRIALS = 1000
SECONDS = (20, 60, 600)
"""The lengths of runs in intervals of a second: a quick step, a minute, ten minutes."""
QUANTILES = (0.5, 0.99, 0.999)
RUNS = (3, 5, 10)
RUN_S = 60
BETWEEN = 0.05
"""The standard deviation between runs, of the logarithm."""
BLOCKS = (6, 8, 12)
AA_TRIALS = 10 * TRIALS
COVERAGE_GOAL = 0.93
REJECTED_GOAL = (0.03, 0.07)

TABLE = peers.ROOT / "bench" / "out" / "coverage.md"


@dataclass
class Held:
    """The intervals of one figure over all trials: whether they held the true value, and their relative widths."""

    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def add(self, low: float | None, high: float | None, truth: float) -> None:
        """Count one interval. An open side holds any value, and leaves the interval without a width."""
        self.held.append((low is None or low <= truth) and (high is None or truth <= high))
        if low is not None and high is not None:
            self.widths.append((high - low) / truth)

    @property
    def coverage(self) -> float:
        """The share of intervals that held the true value."""
        return mean(self.held)

    @property
    def text(self) -> str:
        """The coverage, the mean width, and the share of intervals without a width."""
        open_share = 1 - len(self.widths) / len(self.held)
        # Two digits, and no exponent where these are hundreds.
        width = f"{float(f'{100 * mean(self.widths):.2g}'):g} %" if self.widths else "none"
        share = "<1" if open_share < 0.005 else f"{100 * open_share:.0f}"
        unbounded = f"; {share} % open" if open_share else ""
        return f"{100 * self.coverage:.1f} % ({width}{unbounded})"


def one_run(stream: Stream, *, seconds: int, trials: int, seed: int = 1) -> dict[str, Held]:
    """Return the intervals of ``trials`` runs of a stream, by figure."""
    random = np.random.default_rng(seed)
    figures: dict[str, Held] = defaultdict(Held)
    for trial in range(trials):
        sample = Sample(stream.intervals(random, seconds), seed=trial % 8)
        estimates = {"mean": (sample.mean(), stream.mean)}
        estimates |= {f"p{100 * q:g}": (sample.quantile(q), stream.quantile(q)) for q in QUANTILES}
        for name, (estimate, truth) in estimates.items():
            if estimate is None:
                raise AssertionError("the stream has no requests")
            figures[name].add(estimate.low, estimate.high, truth)
    return figures


def several_runs(*, runs: int, trials: int, seed: int = 2) -> dict[str, Held]:
    """Return the intervals of repeats by figure, and those of the hierarchical bootstrap, which is not used."""
    random = np.random.default_rng(seed)
    truth = lognormal("all runs", lambda _random, _seconds: np.empty((0, 0)), SHIFT, BETWEEN)
    figures: dict[str, Held] = defaultdict(Held)
    for trial in range(trials):
        latencies = repeats(random, runs, RUN_S, BETWEEN)
        samples = histograms(np.stack([run.ravel() for run in latencies]))
        merged = Histogram.merge(samples)
        rest = all_but_one(samples)
        pooled = repeated([run.mean for run in samples], merged=merged.mean)
        figures["mean"].add(pooled.low, pooled.high, truth.mean)
        for q in QUANTILES:
            pooled = repeated(
                [run.quantile(q) for run in samples],
                merged=merged.quantile(q),
                others=[histogram.quantile(q) for histogram in rest],
            )
            figures[f"p{100 * q:g}"].add(pooled.low, pooled.high, truth.quantile(q))
        seconds = np.stack([run.mean(axis=1) for run in latencies])
        figures["mean, hierarchical bootstrap"].add(*_hierarchical(seconds, seed=trial), truth.mean)
    return figures


def _hierarchical(seconds: NDArray[np.float64], *, seed: int) -> tuple[float, float]:
    """Return the middle 95 % of means of resampled runs (runs x seconds), each of resampled seconds."""
    random = np.random.default_rng(seed)
    runs, count = seconds.shape
    means = np.stack(
        [
            stationary_weights(count, round(block_length(run)), seed=place) @ run / count
            for place, run in enumerate(seconds)
        ]
    )
    drawn = random.integers(0, runs, size=(runs, RESAMPLES))
    which = random.integers(0, RESAMPLES, size=(runs, RESAMPLES))
    low, high = np.quantile(means[drawn, which].mean(axis=0), [TAIL, 1 - TAIL])
    return float(low), float(high)


def rejected(*, blocks: int, trials: int, seed: int = 3) -> float:
    """Return the share of A/A comparisons, whose sides do not differ, that report a difference."""
    random = np.random.default_rng(seed)
    sides = MEDIAN_NS * np.exp(BETWEEN * random.standard_normal((trials, 2, blocks)))
    return mean(compare(before.tolist(), after.tolist()).p <= ALPHA for before, after in sides)


def intervals(settings: Settings) -> Finding:
    """Measure the coverage of intervals, the false differences of comparisons, and the warnings of courses."""
    trials = round(TRIALS * settings.scale)
    rows: list[Row] = []
    sections: list[str] = []
    for section, table in _measured(trials):
        rows += [replace(row, measure=f"{section}: {row.measure}") for row in table]
        sections.append(_markdown(section, table))
        note(f"coverage: {section}")
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(sections))
    note(f"coverage: the table is in {TABLE.relative_to(peers.ROOT)}")
    return Finding(rows=rows)


def _measured(trials: int) -> Iterator[tuple[str, Sequence[Row]]]:
    for seconds in SECONDS:
        for stream in STREAMS:
            figures = one_run(stream, seconds=seconds, trials=trials)
            yield f"one run of {seconds} s, {stream.name}", _held_rows(figures)
    for runs in RUNS:
        yield (
            f"{runs} runs of {RUN_S} s, correlation {CORRELATION:g}",
            _held_rows(several_runs(runs=runs, trials=trials)),
        )
    low, high = REJECTED_GOAL
    yield (
        "A/A comparisons that report a difference",
        [
            _share_row(f"{blocks} blocks", share, f"{low:.0%} to {high:.0%}", low <= share <= high)
            for blocks in BLOCKS
            for share in (rejected(blocks=blocks, trials=AA_TRIALS * trials // TRIALS),)
        ],
    )
    yield from steadiness.tables(trials)


def _held_rows(figures: dict[str, Held]) -> list[Row]:
    return [
        Row(
            f"{name}, coverage (mean width)",
            "",
            held.text,
            goal=f">= {COVERAGE_GOAL:.0%}",
            met=held.coverage >= COVERAGE_GOAL,
        )
        for name, held in figures.items()
    ]


def _share_row(name: str, share: float, goal: str, met: bool) -> Row:
    return Row(name, "", f"{100 * share:.1f} %", goal=goal, met=met)


def _markdown(section: str, rows: Sequence[Row]) -> str:
    """Return a section's rows as a table."""
    lines = [f"| {section} | | goal |", "|---|---|---|"]
    lines += [
        f"| {row.measure} | {row.iogauge} | {row.goal}{'' if row.met else ': missed'} |" for row in rows
    ]
    return "\n".join(lines) + "\n"
