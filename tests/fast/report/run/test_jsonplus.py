"""fio's JSON: its keys, its units, its tools' expectations, and what iogauge adds."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iogauge
from iogauge.report.run import fio_buckets, jsonplus
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import Direction, Job, Kind, RunRecord
from iogauge.stats.histogram import Histogram
from iogauge.workload.clones import clones
from tests import builders, report_records

READ, WRITE, SYNC = Direction.READ, Direction.WRITE, Direction.SYNC

# What fio 3.33 prints for a job, by kind of object; checked against fio itself in tests/system.
FIO_JOB = """
    jobname groupid error eta elapsed read write trim sync job_runtime usr_cpu sys_cpu ctx majf minf iodepth_level
    iodepth_submit iodepth_complete latency_ns latency_us latency_ms latency_depth latency_target latency_percentile
    latency_window
"""
FIO_DIRECTION = """
    io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios slat_ns clat_ns lat_ns bw_min bw_max
    bw_agg bw_mean bw_dev bw_samples iops_min iops_max iops_mean iops_stddev iops_samples
"""


def record(*, options: tuple[dict[str, str], ...] = ({}, {}), **fields: object) -> RunRecord:
    reader = Job(name="reader", rw="randread", percentile_list=(50, 99, 99.9999999), lat_percentiles=True)
    writer = Job(
        name="writer", rw="randwrite", rate_iops={"read": 0, "write": 100, "trim": 0}, fsync=4, stonewall=True
    )
    reads = {READ: builders.tally({100_000: 900, 5_000_000: 100}, block_bytes=4096)}
    writes = {
        WRITE: report_records.scheduled({30_000: 300}, {90_000: 300}, block_bytes=4096, late=3, short=2),
        SYNC: builders.tally({1_000_000: 75}, bytes=0),
    }
    file = report_records.job_file(reader, writer, options=options, global_options={"bs": "4k"})
    return report_records.record([reader, writer], [reads, writes], file=file, **fields)


def document(*, plus: bool = True, stats: IntervalStats | None = None, **fields: object) -> dict:
    run = record(**fields)
    return json.loads(jsonplus.render(run, stats or IntervalStats(interval_ns=10**9), plus=plus))


def test_every_key_of_fio_is_there() -> None:
    run_json = document()
    assert {"fio version", "timestamp", "timestamp_ms", "time", "global options", "jobs", "disk_util"} <= set(
        run_json
    )
    for job in run_json["jobs"]:
        assert {*FIO_JOB.split(), "job options"} <= set(job)
        for direction in ("read", "write", "trim"):
            assert set(FIO_DIRECTION.split()) <= set(job[direction])
        assert set(job["sync"]) == {"total_ios", "lat_ns"}


def test_figures_are_in_fios_units() -> None:
    read = document()["jobs"][0]["read"]
    assert (read["io_bytes"], read["io_kbytes"], read["total_ios"], read["runtime"]) == (
        4_096_000,
        4_000,
        1_000,
        3_000,
    )
    assert (read["bw_bytes"], read["bw"]) == (1_365_333, 1_333)
    assert read["iops"] == pytest.approx(1_000 / 3)
    lat = read["lat_ns"]
    assert lat["N"] == 1_000
    assert lat["mean"] == pytest.approx(590_000, rel=1e-3)
    assert lat["percentile"]["50.000000"] == pytest.approx(100_000, rel=1e-3)
    assert lat["percentile"]["99.000000"] == pytest.approx(5_000_000, rel=1e-3)


def test_bins_come_with_json_plus_only_and_add_up() -> None:
    assert sum(document()["jobs"][0]["read"]["clat_ns"]["bins"].values()) == 1_000
    assert "bins" not in document(plus=False)["jobs"][0]["read"]["clat_ns"]


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("kinds", [(), ("lat",), ("clat",), ("slat",), ("slat", "clat", "lat")])
def test_percentiles_and_bins_are_where_fio_has_them(kinds: tuple[str, ...], plus: bool) -> None:
    job = Job.model_validate(
        {"name": "r", "fsync": 1} | {f"{name}_percentiles": name in kinds for name in ("slat", "clat", "lat")}
    )
    reads = builders.tally({50_000: 100})
    reads = reads.model_copy(
        update={"histograms": {**reads.histograms, Kind.SLAT: builders.histogram({7: 100})}}
    )
    run = report_records.record([job], [{READ: reads, SYNC: builders.tally({1_000: 9}, bytes=0)}])
    job_json = jsonplus.document(run, IntervalStats(interval_ns=10**9), plus=plus)["jobs"][0]
    keys = ("percentile", "bins") if plus else ("percentile",)
    for name in ("slat", "clat", "lat"):
        latency = job_json["read"][f"{name}_ns"]
        assert latency["N"] == 100
        assert [key in latency for key in keys] == [name in kinds] * len(keys)
    # fio has one flag less than latencies here: a sync is no more than its lat.
    assert ("percentile" in job_json["sync"]["lat_ns"]) == bool({"lat", "clat"} & set(kinds))
    assert "percentile" in job_json["read"]["response_ns"]


def test_latencies_without_samples_have_no_percentiles_as_in_fio() -> None:
    trim = document()["jobs"][0]["trim"]
    assert trim["clat_ns"] == {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}


def test_what_a_schedule_adds_stands_beside_lat() -> None:
    write = document()["jobs"][1]["write"]
    assert write["response_ns"]["percentile"]["50.000000"] == pytest.approx(90_000, rel=1e-3)
    assert write["lateness_ns"]["mean"] == 1_500
    assert write["queued_ns"]["max"] == 0
    read = document()["jobs"][0]["read"]
    assert read["response_ns"] == read["lat_ns"]
    assert document()["jobs"][0]["loop_gap_ns"]["N"] == 2


def test_percentile_keys_are_fios_and_never_collide() -> None:
    percentiles = document()["jobs"][0]["read"]["lat_ns"]["percentile"]
    assert list(percentiles) == ["50.000000", "99.000000", "99.9999999"]


@given(st.lists(st.floats(0.0001, 100), min_size=2, max_size=20, unique=True))
def test_every_percentile_has_a_key_of_its_own(percentiles: list[float]) -> None:
    keys = [jsonplus.percentile_key(percentile) for percentile in percentiles]
    assert len(set(keys)) == len(percentiles)
    assert [float(key) for key in keys] == percentiles


def test_options_are_listed_once() -> None:
    run_json = document(options=({"bs": "4k", "rw": "randread"}, {"bs": "8k", "rw": "randwrite"}))
    assert run_json["global options"] == {"bs": "4k"}
    assert [job["job options"] for job in run_json["jobs"]] == [
        {"rw": "randread"},
        {"bs": "8k", "rw": "randwrite"},
    ]


def test_groups_begin_where_fios_do() -> None:
    names = [
        ("a", {"stonewall": True}),
        ("b", {}),
        ("c", {"stonewall": True}),
        ("d", {"new_group": True}),
        ("e", {}),
    ]
    file = report_records.job_file(*(Job(name=name, **fields) for name, fields in names))
    assert [clone.group for clone in clones(file)] == [0, 0, 1, 2, 2]
    assert [job["groupid"] for job in document()["jobs"]] == [0, 1]


def test_rates_of_intervals_count_empty_ones() -> None:
    stats = IntervalStats(interval_ns=10**9)
    for index, ios in enumerate([500, 0, 500]):
        stats.add(
            builders.interval(index, {READ: builders.tally({100_000: ios}, block_bytes=4096)} if ios else {})
        )
    read = document(stats=stats)["jobs"][0]["read"]
    assert (read["iops_min"], read["iops_max"], read["iops_samples"]) == (0, 500, 3)
    assert read["iops_mean"] == pytest.approx(read["iops"], rel=1e-5)
    assert (read["bw_min"], read["bw_max"], read["bw_mean"]) == (0, 2_000, pytest.approx(4_000 / 3))
    assert read["bw_agg"] == 100.0


def test_an_error_that_ended_the_job_is_named() -> None:
    reader = Job(name="reader")
    reads = {READ: builders.tally({100: 5}, errors={5: 1})}
    failed = report_records.record([reader], [reads])
    ended = builders.worker("reader", error="read at 0: EIO")
    result = failed.result.model_copy(update={"workers": (ended,)})
    stats = IntervalStats(interval_ns=10**9)
    assert jsonplus.document(failed, stats, plus=False)["jobs"][0]["error"] == 0
    broken = failed.model_copy(update={"result": result})
    assert jsonplus.document(broken, stats, plus=False)["jobs"][0]["error"] == 5


def test_what_fio_has_no_place_for_is_apart() -> None:
    beyond = document(stopped_by="interrupt")["iogauge"]
    assert beyond["stopped_by"] == "interrupt"
    assert beyond["ceiling"]["iops"] == 5e6
    unsupported = [entry for entry in beyond["unsupported_percentiles"] if entry["jobname"] == "reader"]
    assert unsupported == [
        {
            "jobname": "reader",
            "direction": "read",
            "percentile": "99.9999999",
            "samples": 1_000,
            "samples_needed": 10_000_000_000,
        }
    ]


def test_disk_util_is_in_ms_and_percent() -> None:
    (disk,) = document()["disk_util"]
    assert set(disk) == {
        "name", "read_ios", "write_ios", "read_merges", "write_merges", "read_ticks", "write_ticks", "in_queue", "util",
    }  # fmt: skip
    assert disk["name"] == "sda"


def test_it_is_valid_json_whatever_was_measured() -> None:
    nothing = report_records.record([Job(name="idle")], [{}])
    text = jsonplus.render(nothing, IntervalStats(interval_ns=10**9), plus=True)
    assert "NaN" not in text
    assert json.loads(text)["jobs"][0]["read"]["lat_ns"]["mean"] == 0


@given(st.lists(st.integers(0, 10**13), max_size=60))
def test_the_classes_of_latency_hold_every_request_once(latencies_ns: list[int]) -> None:
    classes = fio_buckets.classes(Histogram.of([min(value, 4 * 10**12) for value in latencies_ns]))
    total = sum(share for table in classes.values() for share in table.values())
    assert math.isclose(total, 100 if latencies_ns else 0, abs_tol=1e-3)


@pytest.mark.parametrize(
    ("latency_ns", "table", "name"),
    [
        (1, "latency_ns", "2"), (2, "latency_ns", "4"), (750, "latency_ns", "1000"), (999, "latency_ns", "1000"),
        (1_000, "latency_us", "2"), (1_999, "latency_us", "2"), (2_000, "latency_us", "4"),
        (1_000_000, "latency_ms", "2"), (1_999_000_000, "latency_ms", "2000"), (2_001_000_000, "latency_ms", ">=2000"),
    ],
)  # fmt: skip
def test_a_class_is_named_by_what_its_latencies_are_below(latency_ns: int, table: str, name: str) -> None:
    assert fio_buckets.classes(Histogram.of([latency_ns]))[table][name] == 100.0


def test_bins_beyond_fios_last_are_folded_into_it_for_its_tools_alone() -> None:
    reader = Job(name="reader", lat_percentiles=True)
    stalled = report_records.record([reader], [{READ: builders.tally([1_000, 60 * 10**9])}])
    read = jsonplus.document(stalled, IntervalStats(interval_ns=10**9), plus=True)["jobs"][0]["read"]
    assert max(map(int, read["lat_ns"]["bins"])) == 17_112_760_320
    assert max(map(int, read["response_ns"]["bins"])) == pytest.approx(60 * 10**9, rel=1e-3)
    assert read["lat_ns"]["max"] == pytest.approx(60 * 10**9, rel=1e-3)


def test_depths_and_batches_are_percentages_of_fios_classes() -> None:
    assert fio_buckets.depths([1, 0, 0, 0, 0, 0, 2, 1]) == {
        "1": 25.0, "2": 0.0, "4": 0.0, "8": 0.0, "16": 0.0, "32": 0.0, ">=64": 75.0,
    }  # fmt: skip
    assert fio_buckets.batches([5, 5])["4"] == 100.0
    assert sum(fio_buckets.batches([]).values()) == 0


def test_the_options_of_a_command_line_have_the_name_of_the_job_as_in_fio() -> None:
    job = ["--name=x", "--ioengine=null", "--size=64k", "--rw=read"]
    (shown,) = iogauge.run(job, ceiling=False).to_dict()["jobs"]
    assert shown["job options"] == {"name": "x", "ioengine": "null", "size": "64k", "rw": "read"}
    assert shown["read"]["runtime"] >= 1
    (shown,) = iogauge.run("[x]\nioengine=null\nsize=64k\n", ceiling=False).to_dict()["jobs"]
    assert "name" not in shown["job options"]


def test_a_group_counts_the_time_of_the_jobs_that_issue_a_direction() -> None:
    """One job writes for a moment, the other reads for a second."""
    lines = ["group_reporting", "filename=model:p4800x", "bs=4k", "runtime=1", "time_based"]
    jobs = "\n".join(["[global]", *lines, "[w]", "rw=write", "runtime=100ms", "[r]", "rw=read", ""])
    (shown,) = iogauge.run(jobs).to_dict()["jobs"]
    assert shown["write"]["runtime"] == pytest.approx(100, abs=1)
    assert shown["read"]["runtime"] == pytest.approx(1000, abs=1)
    assert shown["write"]["iops"] == pytest.approx(shown["write"]["total_ios"] / 0.1, rel=0.01)
