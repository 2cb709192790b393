"""Whether requested rates are kept, and how late requests start, on the null engine, which adds no delay.

fio's figures at the same rates are the peer's; fio truncates its Poisson gaps to whole microseconds.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import kstest

from bench import peers
from bench.cases import requests
from bench.cases.null import JOB
from bench.results import Finding, Row
from bench.settings import Settings, note

RATES_IOPS = (1_000, 10_000, 100_000, 300_000)
LINEAR_GOAL = 0.001
POISSON_GOAL_ERRORS = 3.0
LATENESS_GOAL_NS = 2_000.0
GAPS = 100_000
GAPS_RATE_IOPS = 100_000
SMALLEST_P = 0.01


def accuracy(settings: Settings) -> Finding:
    """Measure achieved over requested rates, lateness, and how exponential the intended gaps are."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    for process in ("linear", "poisson"):
        for rate in RATES_IOPS:
            note(f"rates: {process} {rate:,}")
            rows += at_rate(process, rate, runtime_s=max(2, settings.seconds(10)), samples=samples)
    rows.append(gaps(samples))
    return Finding(rows, samples)


def at_rate(process: str, rate: int, *, runtime_s: int, samples: dict[str, list[float]]) -> list[Row]:
    """Run one rate by both programs; return its rows, and add the figures to ``samples``."""
    job = {
        **JOB,
        "rate_iops": rate,
        "rate_process": process,
        "runtime": runtime_s,
        "percentile_list": "50:99",
    }
    ours, fio = peers.iogauge(job), peers.fio(job)
    name = f"{process} {rate:,} IOPS"
    off, fio_off = (run.iops / rate - 1 for run in (ours, fio))
    standard_error = 1 / math.sqrt(rate * runtime_s)
    goal = LINEAR_GOAL if process == "linear" else POISSON_GOAL_ERRORS * standard_error
    lateness = ours.direction["lateness_ns"]["percentile"]
    p50, p99 = float(lateness["50.000000"]), float(lateness["99.000000"])
    samples[f"{process}_{rate}"] = [off, fio_off, p50, p99]
    return [
        Row(name, "% off", 100 * off, 100 * fio_off, goal=f"within {100 * goal:.2g}", met=abs(off) <= goal),
        Row(name, "lateness p50, ns", p50, goal=f"< {LATENESS_GOAL_NS:g}", met=p50 < LATENESS_GOAL_NS),
        Row(name, "lateness p99, ns", p99),
    ]


def gaps(samples: dict[str, list[float]]) -> Row:
    """Test the intended gaps of a Poisson schedule against the exponential distribution (Kolmogorov-Smirnov)."""
    job = {
        **JOB,
        "rate_iops": GAPS_RATE_IOPS,
        "rate_process": "poisson",
        "runtime": 30,
        "number_ios": GAPS + 1,
    }
    with tempfile.TemporaryDirectory() as folder:
        log = requests.run_logged({**job, "time_based": 0}, Path(folder))
    intended = np.sort(log.column_ns("intended"))
    tested = kstest(np.diff(intended)[:GAPS], "expon", args=(0, 1e9 / GAPS_RATE_IOPS))
    samples["poisson_gaps_ks"] = [float(tested.statistic), float(tested.pvalue), float(intended.size)]
    return Row(
        f"poisson gaps, {min(GAPS, intended.size - 1):,} of them",
        "KS p-value",
        float(tested.pvalue),
        goal=f">= {SMALLEST_P:g}",
        met=bool(tested.pvalue >= SMALLEST_P) and intended.size > GAPS,
    )
