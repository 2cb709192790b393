"""What a job leaves out of its reports, or merges in them: disable_*, gtod_reduce, unified_rw_reporting."""

from __future__ import annotations

import re
from typing import Any

import pytest

from iogauge.report.run import jsonplus, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import Direction, Job, Kind, RunRecord
from tests import builders, report_records

READ, WRITE, SYNC = Direction.READ, Direction.WRITE, Direction.SYNC


def measured(**fields: object) -> RunRecord:
    job = Job.model_validate({"name": "j", "rw": "randrw", "fsync": 1, "slat_percentiles": True} | fields)
    reads, writes = builders.tally({50_000: 60, 70_000: 40}), builders.tally({90_000: 50}, errors={5: 2})
    slat = {Kind.SLAT: builders.histogram({700: 100})}
    reads = reads.model_copy(update={"histograms": reads.histograms | slat})
    syncs = builders.tally({1_000_000: 5}, bytes=0)
    return report_records.record([job], [{READ: reads, WRITE: writes, SYNC: syncs}])


def intervals() -> IntervalStats:
    """Reads in the first second, writes in the second."""
    parts = [
        builders.interval(0, {READ: builders.tally({50_000: 100})}),
        builders.interval(1, {WRITE: builders.tally({90_000: 50})}),
        builders.interval(2, {READ: builders.tally({50_000: 20}), WRITE: builders.tally({90_000: 30})}),
    ]
    return IntervalStats.over(parts, interval_ns=10**9)


def job_of(record: RunRecord) -> dict[str, Any]:
    job_json: dict[str, Any] = jsonplus.document(record, intervals(), plus=True)["jobs"][0]
    return job_json


@pytest.mark.parametrize("name", ["lat", "clat", "slat"])
def test_a_latency_that_is_left_out_has_no_samples_and_no_column(name: str) -> None:
    record = measured(**{f"disable_{name}": True, "lat_percentiles": True})
    read = job_of(record)["read"]
    for other in ("lat", "clat", "slat"):
        assert read[f"{other}_ns"]["N"] == (0 if other == name else 100)
        assert ("percentile" in read[f"{other}_ns"]) == (other != name)
    # To fio a sync's latency is one of completion.
    assert job_of(record)["sync"]["lat_ns"]["N"] == (0 if name == "clat" else 5)
    heading = re.search(r"^ +((lat|clat|slat) +\w+)$", table.render(record, intervals()), re.MULTILINE)
    assert heading
    assert heading[1].split() == [other for other in ("lat", "clat", "slat") if other != name]


def test_no_latency_at_all_leaves_counts_and_no_latencies_of_syncs() -> None:
    record = measured(**{f"disable_{name}": True for name in ("lat", "clat", "slat")})
    job = job_of(record)
    assert job["read"]["total_ios"] == 100
    assert (job["sync"]["total_ios"], job["sync"]["lat_ns"]["N"]) == (5, 0)
    assert sum(job["latency_us"].values()) == 0
    assert "left out, as the job requests" in table.render(record, intervals())


def test_mixed_stands_for_reads_writes_and_trims() -> None:
    job = job_of(measured(unified_rw_reporting="mixed", lat_percentiles=True))
    assert not {"read", "write", "trim", "sync"} & job.keys()
    mixed = job["mixed"]
    assert (mixed["total_ios"], mixed["io_bytes"]) == (150, 150 * 8192)
    assert mixed["iops"] == pytest.approx(50)
    lat = mixed["lat_ns"]
    assert (lat["N"], lat["min"], lat["max"]) == (150, 50_000, 90_000)
    assert lat["mean"] == pytest.approx((60 * 50_000 + 40 * 70_000 + 50 * 90_000) / 150)
    assert sum(lat["bins"].values()) == 150
    assert mixed["slat_ns"]["N"] == 100


def test_an_interval_of_mixed_is_the_sum_over_its_directions() -> None:
    mixed = job_of(measured(unified_rw_reporting="mixed"))["mixed"]
    assert (mixed["iops_min"], mixed["iops_max"], mixed["iops_samples"]) == (50, 100, 3)
    assert mixed["bw_max"] == 100 * 8192 // 1024


def test_both_has_each_and_mixed() -> None:
    both, apart = job_of(measured(unified_rw_reporting="both")), job_of(measured())
    assert both["mixed"] == job_of(measured(unified_rw_reporting="mixed"))["mixed"]
    assert [both[name] for name in ("read", "write", "trim", "sync")] == [
        apart[name] for name in ("read", "write", "trim", "sync")
    ]


@pytest.mark.parametrize(
    ("unified", "names"),
    [
        ("none", ["read", "write", "sync"]),
        ("mixed", ["mixed", "sync"]),
        ("both", ["read", "write", "mixed", "sync"]),
    ],
)
def test_the_table_shows_what_is_asked_for(unified: str, names: list[str]) -> None:
    lines = table.render(measured(unified_rw_reporting=unified), intervals()).splitlines()
    starts = [line.split()[0] for line in lines if " IOPS   " in line]
    assert starts == names
    if unified == "mixed":
        assert any("2: EIO 2" in line for line in lines)
