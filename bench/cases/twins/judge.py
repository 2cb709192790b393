"""How near twins of drawn drives come, by kind of figure: the case ``twins``.

A drive's result is a file in ``bench/out/twins``, written as soon as it is there, so a study that is stopped goes on
where it was. The two tables are written as Markdown to ``bench/out/twins.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench import peers
from bench.cases.twins.drives import SORTS
from bench.cases.twins.study import studied, write
from bench.results import Finding, Row
from bench.settings import Settings, note

DRIVES = 20
"""Of each sort."""
PROCESSES = 2
PLACE = peers.ROOT / "bench" / "out" / "twins"
TABLE = peers.ROOT / "bench" / "out" / "twins.md"

GOALS = {"iops": 0.05, "mean": 0.05, "p50": 0.08, "p99": 0.15}
"""The largest median error, by kind of figure."""
KINDS = {
    "iops": "rate",
    "mean": "mean",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p99.9": "p99.9",
    "p99.99": "p99.99",
}
MISSED = 10.0
"""The error where a drive completes nothing."""


def recovery(settings: Settings) -> Finding:
    """Measure the errors of twins on the suites that they were not fitted to."""
    PLACE.mkdir(parents=True, exist_ok=True)
    count = max(2, round(DRIVES * settings.scale))
    names = [(sort, index) for index in range(count) for sort in SORTS]
    missing = [(sort, index) for sort, index in names if not _place(sort, index).exists()]
    # A process that is forked would inherit the threads of numerical libraries.
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(studied, *name): name for name in missing}
        for future in as_completed(running):
            if future.exception() is not None:
                pool.shutdown(cancel_futures=True)
            result = future.result()
            write(result, _place(*running[future]))
            note(
                f"{result['drive']}: rms {result['rms']}, {result['trials']} trials, {result['cpu_s']:.0f} s of CPU"
            )
    rows: list[Row] = []
    sections: list[str] = []
    for sort in SORTS:
        results = [json.loads(_place(*name).read_text()) for name in names if name[0] == sort]
        rows += _rows(sort, results)
        sections.append(markdown(sort, results))
    TABLE.write_text("\n".join(sections))
    note(f"twins: the tables are in {os.path.relpath(TABLE, peers.ROOT)}")
    return Finding(rows=rows)


def errors(results: Sequence[dict[str, Any]], what: str, column: int = 5) -> list[float]:
    """Return the relative errors of one kind of figure in all results; ``column``: 5 twin, 6 shipped, 7 constant."""
    return [
        MISSED if row[column] is None else abs(row[column] / row[4] - 1)
        for result in results
        for row in result["figures"]
        if row[3] == what
    ]


def held(results: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Return how many identified numbers there are, and how many of them have the true value in their interval."""
    identified = [
        number
        for result in results
        for number in result["numbers"].values()
        if number[3] and number[2] is not None
    ]
    return len(identified), sum(low <= truth <= high for _, _, truth, _, low, high in identified)


def markdown(title: str, results: Sequence[dict[str, Any]]) -> str:
    """Return the table of one sort of drives."""
    lines = [
        f"| {title}, {len(results)} drives | figures | twin: median | 90 % | worst | shipped model: median | 90 % "
        "| constant latency: median |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for what, name in KINDS.items():
        twin, shipped, constant = (errors(results, what, column) for column in (5, 6, 7))
        if twin:
            cells = [*_three(twin), *_three(shipped)[:2], _three(constant)[0]]
            lines.append(f"| {name} | {len(twin):,} | {' | '.join(cells)} |")
    identified, within = held(results)
    if identified:
        lines.append(
            f"\nOf {identified} numbers that a fit identifies, {within} have the true value in their interval."
        )
    return "\n".join(lines) + "\n"


def _three(values: Sequence[float]) -> list[str]:
    return [
        f"{100 * value:.2g} %" if value < 1 else f"{100 * value:.0f} %"
        for value in np.quantile(values, (0.5, 0.9, 1))
    ]


def _rows(sort: str, results: Sequence[dict[str, Any]]) -> Iterator[Row]:
    for what, name in KINDS.items():
        twin = errors(results, what)
        if not twin:
            continue
        median = float(np.median(twin))
        goal = GOALS.get(what)
        yield Row(
            f"twins of {sort} drives, {name}, median error (90th percentile)",
            "",
            " (".join(_three(twin)[:2]) + ")",
            "shipped " + _three(errors(results, what, 6))[0],
            goal="" if goal is None else f"<= {goal:.0%}",
            met=None if goal is None else median <= goal,
        )
    identified, within = held(results)
    yield Row(
        f"twins of {sort} drives, 95 % intervals that hold the true number",
        "",
        f"{within} of {identified}",
        goal=">= 90 %",
        met=within >= 0.9 * identified,
    )
    cpu_s = [result["cpu_s"] for result in results]
    yield Row(
        f"twins of {sort} drives, CPU time of a fit",
        "s",
        float(np.median(cpu_s)),
        goal="<= 120",
        met=float(np.median(cpu_s)) <= 120,
    )


def _place(sort: str, index: int) -> Path:
    return PLACE / f"{sort}-{index:02}.json"
