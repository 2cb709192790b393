"""How often ``find`` finds a limit that is known, and at what cost: ``python -m bench.limits [SEEDS]``.

The drive is memory behind a link of one lane, a queue M/D/1 at Poisson arrivals, so that Erlang's formula gives the
rate at which a quantile of the response reaches a limit. Each seed searches for one of five limits, by the defaults of
``iogauge find``.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import iogauge
from tests.fast.suites.rates.known import SERVICE_NS, knee, one_lane

LIMITS = ((0.99, 6), (0.99, 12), (0.999, 11), (0.9, 4), (0.99, 31))
"""A quantile, and how many service times it may take."""
WITHIN = 0.03
"""Share of the limit that an estimate may be off."""


def searched(seed: int) -> tuple[float, bool, int]:
    """Return the relative error of the estimate, whether the interval holds the limit, and the runs that it took."""
    quantile, services = LIMITS[seed % len(LIMITS)]
    limit_ns = services * SERVICE_NS
    with tempfile.TemporaryDirectory() as folder:
        saved = iogauge.find(
            one_lane(Path(folder)),
            limit=f"p{100 * quantile:g} < {limit_ns / 1000:.4f}us",
            seed=seed,
            output=f"{folder}/saved",
        )
        search = saved.suite("find").conclusions.search
    assert search is not None
    assert search.estimate is not None
    true = knee(quantile, limit_ns)
    holds = search.holds is not None and search.breaks is not None and search.holds <= true <= search.breaks
    return search.estimate / true - 1, holds, len(search.loads)


def main(seeds: int) -> None:
    """Print how many searches of ``seeds`` end within ``WITHIN`` of the limit."""
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(searched, range(seeds)))
    errors = [abs(error) for error, _, _ in results]
    costs = [cost for _, _, cost in results]
    print(
        f"{sum(error <= WITHIN for error in errors)} of {seeds} estimates are within {WITHIN:.0%} of the limit"
    )
    print(f"error: median {statistics.median(errors):.2%}, largest {max(errors):.2%}")
    print(f"{sum(holds for _, holds, _ in results)} of {seeds} intervals hold the limit")
    print(f"runs: median {statistics.median(costs):g}, most {max(costs)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
