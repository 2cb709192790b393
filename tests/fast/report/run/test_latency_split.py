"""Where the time went, as the table and json+ show it."""

from __future__ import annotations

from typing import Any

from iogauge.report.run import latency_split, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import (
    DeviceStat,
    Direction,
    Job,
    LatencySplit,
    LatencyTrace,
    Part,
    PartLatency,
    RunRecord,
)
from tests import builders, report_records

READ = Direction.READ


def part(name: Part, counts: dict[int, int]) -> PartLatency:
    return PartLatency(
        direction=READ, part=name, histogram=builders.histogram(counts), exact=builders.exact(counts)
    )


def trace(**fields: Any) -> LatencyTrace:
    defaults: dict[str, Any] = {
        "device": "vda",
        "requests": True,
        "windows": 3,
        "traced_ns": 10**8,
        "elapsed_ns": 10**9,
        "matched": 1_000,
        "slowdown": 0.1,
        "slowdown_low": 0.05,
        "slowdown_high": 0.15,
        "latencies": (
            part(Part.SUBMISSION, {1_000: 1_000}),
            part(Part.QUEUE, {2_000: 1_000}),
            part(Part.DEVICE, {40_000: 1_000}),
            part(Part.BLOCK, {42_000: 1_000}),
        ),
    }
    return LatencyTrace(**(defaults | fields))


def traced(*traces: LatencyTrace, **fields: Any) -> RunRecord:
    return report_records.record(
        [Job(name="r", rw="randread", direct=True)],
        [{READ: builders.tally({50_000: 1_000})}],
        target_facts=builders.target("/tmp/drive.bin", device="vda"),
        latency_traces=traces,
        **fields,
    )


def shown(record: RunRecord) -> str:
    return " ".join("\n".join(latency_split.lines(record)).split())


def test_the_parts_add_up_to_lat() -> None:
    text = shown(traced(trace()))
    assert "submission queue device completion lat" in text
    assert "mean 1.000 us 2.000 us 40.00 us 7.000 us 50.00 us" in text
    assert "p99 " in text
    assert "p99.9 " not in text, "a thousand requests do not support it"


def test_its_own_cost_is_stated_with_an_interval() -> None:
    assert "it cost 1.0 % of the run's rate (0.5 % to 1.5 %)" in shown(traced(trace()))
    assert "at most 1.5 %" in shown(traced(trace(slowdown_low=-0.2)))
    assert "unknown" in shown(traced(trace(slowdown_low=None, slowdown_high=None)))


def test_what_is_missing_is_counted() -> None:
    text = shown(traced(trace(lost_events=5, cut=1, unmatched=2, foreign=3, stopped="no space")))
    for words in (
        "5 events lost",
        "1 requests cut off",
        "2 requests left out",
        "3 requests of other",
        "no space",
    ):
        assert words in text


def test_a_driver_without_requests_has_one_part() -> None:
    text = shown(traced(trace(requests=False, latencies=(part(Part.BLOCK, {42_000: 1_000}),))))
    assert "block layer + device software lat" in text
    assert "mean 42.00 us 8.000 us 50.00 us" in text


def test_parts_longer_than_lat_leave_nothing_rather_than_less() -> None:
    assert "mean 60.00 us - 50.00 us" in shown(
        traced(trace(requests=False, latencies=(part(Part.BLOCK, {60_000: 1_000}),)))
    )


def test_json_has_quantiles_and_the_cost() -> None:
    (entry,) = latency_split.as_json(traced(trace()))["latency_traces"]
    assert entry["cost"] == {"value": 0.1 * 0.1, "low": 0.1 * 0.05, "high": 0.1 * 0.15}
    device = next(item for item in entry["latencies"] if item["part"] == "device")
    assert device["mean_ns"] == 40_000
    assert set(device["percentile_ns"]) == {"50.000000", "90.000000", "99.000000"}


def test_the_table_has_the_split_in_the_devices_line() -> None:
    stat = DeviceStat(
        device="vda", read_ios=1_000, read_bytes=1, read_ns=10**7, write_ios=0, write_bytes=0, write_ns=0, trim_ios=0,
        trim_ns=0, flush_ios=0, flush_ns=0, busy_ns=0, queue_ns=0,
    )  # fmt: skip
    split = LatencySplit(device="vda", direction=READ, ios=1_000, lat_ns=50_000, block_ns=40_000)
    run = traced(device_stats=(stat,), latency_splits=(split,))
    text = " ".join(table.render(run, IntervalStats(interval_ns=10**9)).split())
    assert "1,000 I/Os, mean lat 50.00 us = 40.00 us in block layer and device + 10.00 us in software" in text
    unknown = split.model_copy(update={"block_ns": None, "unknown": "requests were split", "ramp": True})
    run = traced(device_stats=(stat,), latency_splits=(unknown,))
    text = " ".join(table.render(run, IntervalStats(interval_ns=10**9)).split())
    assert "where the mean lat 50.00 us went (ramp included) is unknown: requests were split" in text
