"""10,000 saved reviews: how long the pages of ``iogauge web`` take, and its index; TensorBoard beside it.

TensorBoard answers other questions: its list is that of its runs, its filter that of the tags of all runs, and its
comparison the scalars of 50 runs, one request for each of six tags. It is left out if no environment has it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench import peers
from bench.cases.web import beside, served
from bench.cases.web.many_reviews import make
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note
from iogauge.index import Index, Progress

REVIEWS = 10_000
GOALS_MS = {
    "cold": 1000,
    "list": 300,
    "page": 300,
    "search": 100,
    "filter": 100,
    "choices": 300,
    "compare": 500,
}
GOAL_BYTES = 500_000_000
SERVED = {
    "cold": "from the start of the server to the first page",
    "list": "page of the list",
    "filter": "rows by drive and suite",
    "search": "rows with two words",
    "compare": "page that compares 50 reviews",
}
"""What is asked of the server, by HTTP."""
NAMES = {
    "cold": "index: process, first rows",
    "list": "index: list",
    "page": "index: list, from its middle on",
    "search": "index: search for two words",
    "filter": "index: filter by drive and suite",
    "choices": "index: values of all filters",
    "compare": "index: compare 50 reviews",
    "refresh": "index: refresh, nothing changed",
    "sql": "index: SQL over all figures",
}
"""What is asked of the index, in a process of its own."""


def answers(settings: Settings) -> Finding:
    """Measure the first making of the index, then its answers in new processes."""
    number = round(REVIEWS * settings.scale)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "reviews")
        for made, _ in enumerate(make(directory, number, originals=Path(folder, "originals")), 1):
            if made % 1000 == 0:
                note(f"web-index: {made:,} of {number:,} reviews made")
        listed_s, built_s = built(directory)
        pages = [_served(directory) for _ in range(settings.pairs)]
        costs = [_probed(directory) for _ in range(settings.pairs)]
        peer = _beside(directory, Path(folder))
    served_costs = {name: [one[name] for one in pages] for name in (*SERVED, "bytes")}
    samples = {name: [one[name] for one in costs] for name in NAMES}
    about = f"{number:,} reviews: "
    rows = [
        Row(f"{about}first making, list complete", "s", listed_s),
        Row(f"{about}first making, all figures", "s", built_s),
        *(_row(f"{about}{SERVED[name]}", name, served_costs[name], peer) for name in SERVED),
        *(_row(f"{about}{NAMES[name]}", name, samples[name], {}) for name in NAMES),
    ]
    peak = max(served_costs["bytes"])
    rows.append(
        Row(
            f"{about}largest resident memory of the server",
            "MB",
            peak / 1e6,
            peer["bytes"] / 1e6 if peer else None,
            goal=f"< {GOAL_BYTES / 1e6:g}",
            met=peak < GOAL_BYTES,
        )
    )
    peers_samples = {f"tensorboard_{name}": [value] for name, value in peer.items()}
    served_samples = {f"served_{name}": values for name, values in served_costs.items()}
    return Finding(
        rows, {**served_samples, **samples, **peers_samples, "listed_s": [listed_s], "built_s": [built_s]}
    )


def built(directory: Path) -> tuple[float, float]:
    """Make the index; return the seconds until every review was listed, and until every figure was read."""
    listed_s = 0.0
    began = time.monotonic()

    def on_progress(progress: Progress) -> None:
        nonlocal listed_s
        if progress.reading == "manifests":
            listed_s = time.monotonic() - began

    with Index.open(directory) as index:
        index.refresh(on_progress=on_progress)
    built_s = time.monotonic() - began
    note(f"web-index: all reviews listed after {listed_s:.1f} s, all figures read after {built_s:.1f} s")
    return listed_s, built_s


def _row(text: str, name: str, values_ms: list[float], peer: Mapping[str, float]) -> Row:
    median, goal_ms = Estimate.of(values_ms).median, GOALS_MS.get(name)
    return Row(
        text,
        "ms",
        median,
        peer.get(name),
        goal=f"< {goal_ms}" if goal_ms else "",
        met=median < goal_ms if goal_ms else None,
    )


def _served(directory: Path) -> dict[str, float]:
    costs = served.measured(directory)
    note(f"web-index: pages: {', '.join(f'{name} {costs[name]:.0f}' for name in SERVED)} ms")
    return costs


def _probed(directory: Path) -> dict[str, float]:
    probe = Path(__file__).with_name("probe.py")
    command = [sys.executable, str(probe), str(directory), str(time.monotonic())]
    ran = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise peers.PeerError(f"{' '.join(command)}: {ran.stderr[-2000:]}")
    costs: dict[str, float] = json.loads(ran.stdout)
    note(f"web-index: {', '.join(f'{name} {costs[name]:.0f}' for name in NAMES)} ms")
    return costs


def _beside(directory: Path, folder: Path) -> dict[str, float]:
    """Return the costs of TensorBoard; nothing if no environment has it."""
    if beside.python() is None:
        note(f"web-index: without TensorBoard: ${beside.PYTHON} names no Python that has it")
        return {}
    with Index.open(directory) as index:
        costs = beside.measured(index, folder)
    note(f"web-index: TensorBoard: {', '.join(f'{name} {value:.0f}' for name, value in costs.items())}")
    return costs
