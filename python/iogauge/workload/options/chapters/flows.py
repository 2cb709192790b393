"""Defines the options of flows: jobs that proceed in the proportion of their weights.

Source: fio 3.33's options.c, flow.c.
"""

from __future__ import annotations

from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import count
from iogauge.workload.options.option import Category

FLOWS = (
    entry(
        "flow",
        Category.RATE,
        count(maximum=1000),
        "0 (none)",
        "I/Os of each clone in proportion to the jobs that run at the same time with the same flow_id: a job with "
        "flow=3 issues three for each one of a job with flow=1. A job that is ahead waits.",
    ),
    entry("flow_id", Category.RATE, count(), "0", "Number of the group in which `flow` is compared."),
    entry(
        "flow_sleep",
        Category.RATE,
        count(unit="microseconds"),
        "0 (no pause)",
        "How long a job that is ahead pauses. It first waits for its I/Os in flight.",
        field="flow_sleep_us",
    ),
)
"""All options of flows, in the order of the reference."""
