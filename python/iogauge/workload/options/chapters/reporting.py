"""Defines the options of the report: percentiles, disabled latencies, unified directions, logs.

Source: fio 3.33's options.c; its log files and JSON, for the effect of each option.
"""

from __future__ import annotations

from iogauge.workload.options.entries import accepted, entry, never
from iogauge.workload.options.kinds import (
    CPU_LIST,
    FLAG,
    LOG,
    PERCENTILE_LIST,
    SWITCH,
    choice,
    count,
    milliseconds,
)
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.partial_job import PartialJob


def _store_gtod_reduce(partial: PartialJob, value: bool) -> None:
    if value:
        partial.values |= dict.fromkeys(
            ("disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement"), True
        )
        partial.values |= dict.fromkeys(("lat_percentiles", "clat_percentiles", "slat_percentiles"), False)


GTOD_REDUCE = Option(
    name="gtod_reduce",
    category=Category.REPORT,
    kind=SWITCH,
    default="0",
    help="Report no latencies: disable_lat, disable_clat, disable_slat and disable_bw_measurement, and no "
    "percentiles. 0 changes nothing. Requests are still timed, and --fail-if still judges them.",
    store=_store_gtod_reduce,
    text=never,
)

PERCENTILES = (
    entry("group_reporting", Category.REPORT, FLAG, "0", "Report the jobs of a group as one."),
    entry(
        "percentile_list",
        Category.REPORT,
        PERCENTILE_LIST,
        "1:5:10:20:…:90:95:99:99.5:99.9:99.95:99.99",
        "Percentiles of latency to report, at most 20.",
    ),
    entry(
        "clat_percentiles",
        Category.REPORT,
        SWITCH,
        "1",
        "Report percentiles of completion latency, in JSON and as a column of the table.",
    ),
    entry(
        "slat_percentiles",
        Category.REPORT,
        SWITCH,
        "0",
        "Report percentiles of submission latency, if the engine has one, in JSON and as a column of the table.",
    ),
    entry(
        "lat_percentiles",
        Category.REPORT,
        SWITCH,
        "0",
        "Report percentiles of lat, from start to done, in JSON. The table always has them.",
    ),
)

LEFT_OUT = (
    GTOD_REDUCE,
    *(
        entry(f"disable_{name}", Category.REPORT, SWITCH, "0", f"Omit {name} from tables, JSON and logs.")
        for name in ("lat", "clat", "slat")
    ),
    entry(
        "disable_bw_measurement",
        Category.REPORT,
        SWITCH,
        "0",
        "Leave the bandwidth log of single I/Os empty, as fio does; with disable_clat and disable_slat, the IOPS log, "
        "too. Logs of averages and figures in JSON do not change.",
        aliases=("disable_bw",),
    ),
)

UNIFIED = (
    entry(
        "unified_rw_reporting",
        Category.REPORT,
        choice({word: word for word in ("none", "mixed", "both")} | {"0": "none", "1": "mixed", "2": "both"}),
        "none",
        "Report all directions together as mixed, instead of each direction (`mixed`) or in addition (`both`).",
    ),
)

LOGS = (
    entry("write_bw_log", Category.REPORT, LOG, "none", "Write a log of bandwidth."),
    entry(
        "write_lat_log",
        Category.REPORT,
        LOG,
        "none",
        "Write logs of latency: lat, clat and, if the engine has one, slat.",
    ),
    entry("write_iops_log", Category.REPORT, LOG, "none", "Write a log of I/Os a second."),
    entry(
        "write_hist_log",
        Category.REPORT,
        LOG,
        "none",
        "Write a log of latency histograms. Needs log_hist_msec.",
    ),
    entry(
        "per_job_logs",
        Category.REPORT,
        SWITCH,
        "1",
        "Number the log files by worker. With 0, jobs whose logs have the same prefix share one file, which each run "
        "overwrites (fio appends to it).",
    ),
    entry(
        "log_avg_msec",
        Category.REPORT,
        milliseconds(),
        "0 (every I/O)",
        "Averaging window of write_bw_log, write_lat_log and write_iops_log. No effect without one of them.",
        field="log_avg_ns",
    ),
    entry(
        "log_hist_msec",
        Category.REPORT,
        milliseconds(),
        "0",
        "Time between the histograms of write_hist_log. No effect without it.",
        field="log_hist_ns",
    ),
    entry(
        "log_hist_coarseness",
        Category.REPORT,
        count(0, 6),
        "0",
        "Number of times that the bins of write_hist_log are halved, from 1216 to 19 in use.",
    ),
    entry(
        "log_max_value",
        Category.REPORT,
        choice({"0": "avg", "1": "max", "both": "both", "avg": "avg", "max": "max"}),
        "0",
        "Whether a window of log_avg_msec is logged with its mean, its largest latency, or both in two columns.",
        field="log_window_value",
        aliases=("log_window_value",),
    ),
    entry(
        "log_offset",
        Category.REPORT,
        SWITCH,
        "0",
        "Add a column with the offset of each I/O to the logs of single I/Os.",
    ),
    entry(
        "log_prio",
        Category.REPORT,
        SWITCH,
        "0",
        "Log the I/O priority as a hexadecimal number, class and level, instead of 1 for the real-time class.",
    ),
    accepted(
        "log_entries",
        Category.REPORT,
        count(1024, 512 * 1024),
        "1024",
        "Accepted: no request waits for memory of a log.",
    ),
    accepted(
        "log_compression",
        Category.REPORT,
        count(1024, 512 << 20),
        "none",
        "Accepted: requests are logged in few bytes anyway.",
    ),
    accepted(
        "log_compression_cpus", Category.REPORT, CPU_LIST, "all", "Accepted: no thread compresses logs."
    ),
    accepted(
        "clocksource",
        Category.REPORT,
        choice({"gettimeofday": None, "clock_gettime": None, "cpu": None}),
        "none",
        "Accepted: the fastest clock that passes its check is used.",
    ),
    accepted(
        "gtod_cpu", Category.REPORT, count(0, 4096), "none", "Accepted: each worker reads the clock itself."
    ),
    accepted(
        "significant_figures",
        Category.REPORT,
        count(1, 10),
        "4",
        "Accepted: a figure has as many digits as its interval supports.",
    ),
)

REPORT = (*PERCENTILES, *LEFT_OUT, *UNIFIED, *LOGS)
"""All options of the report, in the order of the reference."""
