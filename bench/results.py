"""The results of cases: the table on the terminal and the lines of bench/history.jsonl.

The history has every value as well as the judgement, so that a later reader can judge again.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench import peers
from bench.pairs import Estimate

HISTORY = peers.ROOT / "bench" / "history.jsonl"


@dataclass(frozen=True)
class Row:
    """One line of the table. ``met`` is None if the project has no ``goal`` for it."""

    measure: str
    unit: str
    iogauge: float | str
    peer: float | str | None = None
    """The figure of fio, or of the program that the line names."""
    ratio: Estimate | None = None
    goal: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Finding:
    """The result of one case: rows to read, samples to judge again, or why it did not run."""

    rows: Sequence[Row] = ()
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    skipped: str | None = None


def ratio_row(
    measure: str,
    unit: str,
    ours: Sequence[float],
    peer: Sequence[float],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    bound: bool = False,
) -> Row:
    """Return the row of a ratio iogauge/fio over pairs, judged by its goal.

    With ``bound``, the far end of the interval must meet the goal, not just the median.
    """
    estimate = Estimate.of([mine / theirs for mine, theirs in zip(ours, peer, strict=True)])
    goal, met = "", None
    judged = "bound" if bound else "median"
    if at_least is not None:
        goal, met = f"{judged} >= {at_least:g}", (estimate.lower if bound else estimate.median) >= at_least
    elif at_most is not None:
        goal, met = f"{judged} <= {at_most:g}", (estimate.upper if bound else estimate.median) <= at_most
    return Row(measure, unit, Estimate.of(ours).median, Estimate.of(peer).median, estimate, goal, met)


def table(rows: Sequence[Row], *, peer: str = "peer") -> str:
    """Return the rows as text, columns aligned.

    >>> print(table([Row("startup", "s", 0.25, goal="<= 0.3", met=True)]))
    measure  unit  iogauge  peer  ratio [95 %]  goal    met
    startup  s     0.25                         <= 0.3  yes
    """
    lines = [("measure", "unit", "iogauge", peer, "ratio [95 %]", "goal", "met")]
    for row in rows:
        met = {True: "yes", False: "NO", None: ""}[row.met]
        ratio = str(row.ratio) if row.ratio else ""
        lines.append((row.measure, row.unit, number(row.iogauge), number(row.peer), ratio, row.goal, met))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(text.rstrip() for text in texts)


def number(value: float | str | None) -> str:
    """Return a figure with four significant digits, or all digits before the point with commas.

    >>> number(1234567.8), number(0.012346), number(None), number("no fio")
    ('1,234,568', '0.01235', '', 'no fio')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def machine_facts() -> dict[str, str | int | None]:
    """Return the facts of the machine and the programs for the history."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=peers.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    cpuinfo = Path("/proc/cpuinfo").read_text()
    models = [line.split(":")[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "virtual": " hypervisor" in cpuinfo,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "fio": peers.fio_version(),
        "iogauge": version("iogauge"),
        "git": described.stdout.strip() or None,
    }


def append(name: str, finding: Finding, *, quick: bool) -> None:
    """Add a case's finding to the history as one line."""
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "case": name,
        "quick": quick,
        "facts": machine_facts(),
        "rows": [dataclasses.asdict(row) for row in finding.rows],
        "samples": {
            key: [float(f"{value:.6g}") for value in values] for key, values in finding.samples.items()
        },
    }
    with HISTORY.open("a") as history:
        history.write(json.dumps(entry) + "\n")
