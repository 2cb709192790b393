"""What one process of the index costs: ``python probe.py DIRECTORY STARTED`` prints JSON.

``STARTED`` is when the process was started, by the system's monotonic clock, so that imports count.
It is run as a file, since the package of the cases imports them all.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from iogauge.index import Index

TIMES = 9
COMPARED = 50


def measured(directory: Path, started_s: float) -> dict[str, float]:
    """Return times in milliseconds, of an index that is there already."""
    with Index.open(directory) as index:
        first = index.reviews()
        cold_ms = 1000 * (time.monotonic() - started_s)
        drive = first.rows[0].drives[0]
        ids = [row.id for row in index.reviews("default", limit=COMPARED).rows]
        costs = {
            "cold": cold_ms,
            "list": _median_ms(index.reviews),
            "page": _median_ms(lambda: index.reviews(offset=first.total // 2)),
            "search": _median_ms(lambda: index.reviews("acme nightly")),
            "filter": _median_ms(lambda: index.reviews(drive=drive, suite="mixed")),
            "choices": _median_ms(index.choices),
            "compare": _median_ms(lambda: index.compare(ids, ids[0])),
            "refresh": _median_ms(index.refresh),
            "sql": _median_ms(lambda: index.sql("SELECT suite, median(iops) FROM figures GROUP BY suite")),
        }
        return costs


def _median_ms(call: Callable[[], object]) -> float:
    took_s = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        took_s.append(time.perf_counter() - began)
    return 1000 * median(took_s)


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), float(sys.argv[2]))))
