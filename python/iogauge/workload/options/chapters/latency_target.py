"""Defines the options that limit latency: latency_target adjusts the depth, max_latency ends the job.

Source: fio 3.33's options.c, io_u.c (lat_target_check, account_io_completion).
"""

from __future__ import annotations

from iogauge.workload.numbers import US
from iogauge.workload.options.entries import entry, per_direction
from iogauge.workload.options.kinds import SWITCH, Kind, decimal, decimal_text, duration
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue


def _read_percentile(text: str, _: int) -> float:
    value = decimal(text)
    if value > 100:
        raise BadValue("is above 100", hint="write a percentage, such as 99.9")
    return value


LATENCY_TARGET = (
    entry(
        "latency_target",
        Category.DEPTH,
        duration(US),
        "0 (none)",
        "Find the largest depth, up to iodepth, that keeps this lat for latency_percentile of the I/Os. Each depth "
        "runs for latency_window. The depth doubles until one fails; then it is bisected. The job confirms the depth, "
        "measures one more window at it, and ends.",
        field="latency_target_ns",
    ),
    entry(
        "latency_window",
        Category.DEPTH,
        duration(US),
        "0",
        "How long latency_target tries a depth.",
        field="latency_window_ns",
    ),
    entry(
        "latency_percentile",
        Category.DEPTH,
        Kind(syntax="percentage", read=_read_percentile, write=decimal_text),
        "100",
        "Share of the I/Os that must keep latency_target. With 100, the first miss lowers the depth, and at depth 1 it "
        "ends the job with an error.",
    ),
    entry(
        "latency_run",
        Category.DEPTH,
        SWITCH,
        "0",
        "Go on adjusting the depth to latency_target until the job ends, and measure all of it.",
    ),
    per_direction(
        "max_latency",
        Category.TIME,
        duration(US),
        "0 (none)",
        "End the job with an error at the first I/O whose lat exceeds this. Syncs have no limit, and disable_lat "
        "switches it off.",
        field="max_latency_ns",
    ),
)
"""All of them, in the order of the reference."""
