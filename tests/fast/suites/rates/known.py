"""Drive models whose limit is known by an exact computation, and that computation.

Memory behind a link of one lane serves one request at a time, each in the same time: a queue M/D/1 at Poisson arrivals.
Erlang's formula gives the distribution of its waits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from pathlib import Path

BYTES = 4096
Bps = 2.5e9 * 8 / 10 / 8
"""PCIe's first generation: 2.5 GT/s on one lane, 8 bits in 10."""
SERVICE_NS = BYTES / Bps * 1e9
MOST = 1e9 / SERVICE_NS
"""Requests a second that it can serve."""

MODEL = """
base = "ram"
title = "memory behind one lane"

[parameters.link.generation]
value = 1
kind = "assumed"
source = "2.5 GT/s"

[parameters.link.lanes]
value = 1
kind = "assumed"
source = "one request at a time"
"""


def one_lane(folder: Path) -> str:
    """Write the model and return it as a target."""
    path = folder / "one-lane.toml"
    path.write_text(MODEL)
    return f"model:{path}"


def share_waiting_less(load: float, services: float) -> Decimal:
    """Return the share of requests that wait at most ``services`` times the service time, at ``load`` of the most.

    Its terms alternate and cancel, so it needs many digits.

    >>> float(share_waiting_less(0.5, 0)), round(float(share_waiting_less(0.5, 1)), 4)
    (0.5, 0.8244)
    """
    with localcontext() as context:
        context.prec = 120
        rho, x = Decimal(load), Decimal(services)
        terms = (
            (rho * (k - x)) ** k / math.factorial(k) * (rho * (x - k)).exp() if k else (rho * x).exp()
            for k in range(math.floor(services) + 1)
        )
        return (1 - rho) * sum(terms, Decimal(0))


def knee(quantile: float, limit_ns: float) -> float:
    """Return the highest rate, IOPS, at which this quantile of the response is at most ``limit_ns``."""
    services = limit_ns / SERVICE_NS - 1
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if share_waiting_less(middle, services) >= quantile:
            low = middle
        else:
            high = middle
    return low * MOST
