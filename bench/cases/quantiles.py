"""Whether the quantiles that a run reports are those of its request log.

The exact quantile q of n values is the one of rank ceil(q n) in their order; the reported one comes from a
histogram of three significant digits.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np

from bench.cases import requests
from bench.cases.block import FILE, URING, written_file
from bench.results import Finding, Row
from bench.settings import Settings

PERCENTS = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999)
GOAL = 0.001


def exactness(settings: Settings) -> Finding:
    """Measure the largest relative error of the reported quantiles of lat and clat."""
    job = {
        **URING,
        "filename": str(written_file(FILE)),
        "runtime": settings.seconds(10),
        "percentile_list": ":".join(f"{percent:g}" for percent in PERCENTS),
        "lat_percentiles": 1,
        "clat_percentiles": 1,
    }
    with tempfile.TemporaryDirectory() as folder:
        log = requests.run_logged(job, Path(folder))
    rows, samples = [], {}
    for kind, begin in (("lat", "start"), ("clat", "issued")):
        latencies = np.sort(log.column_ns("done") - log.column_ns(begin))
        reported = log.outcome.direction[f"{kind}_ns"]["percentile"]
        errors = []
        for percent in PERCENTS:
            exact = float(latencies[math.ceil(percent / 100 * latencies.size) - 1])
            errors.append(abs(float(reported[f"{percent:f}"]) / exact - 1))
        worst, complete = max(errors), latencies.size == log.outcome.total_ios
        measure = f"{kind} quantiles, {latencies.size:,} requests"
        rows.append(Row(measure, "% off at most", 100 * worst, goal="<= 0.1", met=worst <= GOAL and complete))
        samples[f"{kind}_relative_error"] = errors
    return Finding(rows, samples)
