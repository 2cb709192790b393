"""fio's terse lines: which fields, in which order and unit, and that they say what the JSON says."""

from __future__ import annotations

import pytest

from iogauge.report.run import jsonplus, terse
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import DeviceStat, Direction, Job, RunRecord
from tests import builders, report_records

READ, WRITE, TRIM = Direction.READ, Direction.WRITE, Direction.TRIM
GENERAL, STREAM, QUEUE, CLASSES = 5, 41, 7, 10 + 12
"""Fields: version, program, name, group, error; those of one direction; shares of queue depths; shares of latencies."""
CPU = 5


def measured(**fields: object) -> RunRecord:
    job = Job.model_validate({"name": "j", "rw": "randrw"} | fields)
    tallies = {
        READ: builders.tally({40_500: 90, 9_000_900: 10}),
        WRITE: builders.tally({300_400: 50}),
        TRIM: builders.tally({7_700: 5}),
    }
    return report_records.record([job], [tallies]).model_copy(update={"device_stats": ()})


def stats() -> IntervalStats:
    return IntervalStats.over(
        [builders.interval(0, {READ: builders.tally({1: 10})}), builders.interval(1)], interval_ns=10**9
    )


def fields_of(record: RunRecord, *, version: int = 3) -> list[str]:
    return terse.render(record, stats(), version=version).rstrip("\n").split(";")


def test_a_line_begins_with_its_version_program_job_group_and_error() -> None:
    fields = fields_of(measured())
    assert fields[0] == "3"
    assert fields[1].startswith("iogauge-")
    assert fields[2:5] == ["j", "0", "0"]
    assert fields_of(measured(), version=2)[:4] == ["2", "j", "0", "0"]


@pytest.mark.parametrize(("version", "streams", "more"), [(2, 3, 0), (3, 2, 0), (4, 3, 0), (5, 3, 6)])
def test_versions_differ_in_trims_and_samples(version: int, streams: int, more: int) -> None:
    general = GENERAL - (version == 2)
    expected = general + streams * (STREAM + more) + CPU + QUEUE + CLASSES
    assert len(fields_of(measured(), version=version)) == expected


def test_figures_are_those_of_the_json_in_microseconds() -> None:
    record = measured(lat_percentiles=True, percentile_list=(50, 99.9999999))
    read = jsonplus.document(record, stats(), plus=False)["jobs"][0]["read"]
    fields = fields_of(record)[GENERAL : GENERAL + STREAM]
    assert fields[:4] == [
        str(read["io_kbytes"]),
        str(read["bw"]),
        str(int(read["iops"])),
        str(read["runtime"]),
    ]
    slat, clat, lat = fields[4:8], fields[8:12], fields[32:36]
    assert slat == ["0", "0", "0.000000", "0.000000"]
    assert clat == lat == ["40", "9000", f"{936_540 / 1000:.6f}", f"{read['lat_ns']['stddev'] / 1000:.6f}"]
    assert fields[12:14] == [
        "50.000000%=40",
        f"99.9999999%={read['lat_ns']['percentile']['99.9999999'] // 1000}",
    ]
    assert fields[14:32] == ["0%=0"] * 18
    assert fields[36] == "0" == str(read["bw_min"])


def test_percentiles_are_of_lat_then_of_clat_then_none() -> None:
    start = GENERAL + 12
    assert fields_of(measured())[start] == "1.000000%=40"
    assert fields_of(measured(clat_percentiles=False))[start : start + 20] == ["0%=0"] * 20
    without = measured(disable_clat=True)
    assert fields_of(without)[start] == "0%=0"
    assert fields_of(without)[GENERAL + 8 : GENERAL + 12] == ["0", "0", "0.000000", "0.000000"]


def test_unified_reporting_puts_all_in_the_place_of_reads_or_behind() -> None:
    mixed, both = (fields_of(measured(unified_rw_reporting=word)) for word in ("mixed", "both"))
    assert len(both) - len(mixed) == 2 * STREAM
    of_all = mixed[GENERAL : GENERAL + STREAM]
    assert of_all[0] == str(155 * 8)
    assert both[GENERAL + 2 * STREAM : GENERAL + 3 * STREAM] == of_all


def test_shares_of_latencies_hold_every_request_once() -> None:
    shares = [float(text.rstrip("%")) for text in fields_of(measured())[-CLASSES:]]
    assert sum(shares) == pytest.approx(100, abs=0.1)
    short = report_records.record([Job(name="j")], [{READ: builders.tally({400: 8})}])
    assert fields_of(short.model_copy(update={"device_stats": ()}))[-CLASSES] == "100.00%"


def test_disks_errors_and_description_come_last() -> None:
    disk = DeviceStat(
        device="nvme0n1", read_ios=1, read_bytes=2, read_ns=3 * 10**6, write_ios=4, write_bytes=5, write_ns=6 * 10**6,
        trim_ios=0, trim_ns=0, flush_ios=0, flush_ns=0, busy_ns=0, queue_ns=9 * 10**6, read_merges=7, write_merges=8,
    )  # fmt: skip
    record = measured(continue_on_error="all", description="some text").model_copy(
        update={"device_stats": (disk,)}
    )
    tail = ["nvme0n1", "1", "4", "7", "8", "3", "6", "9", "0.00%", "0", "0", "some text"]
    assert fields_of(record)[-12:] == tail
    assert terse.render(record, stats(), version=2).endswith(";0;0\n;some text\n")


def test_every_row_has_a_line() -> None:
    jobs = [Job(name="a"), Job(name="b")]
    record = report_records.record(jobs, [{READ: builders.tally({5: 1})}, {}])
    lines = terse.render(record, stats()).splitlines()
    assert [line.split(";")[2] for line in lines] == ["a", "b"]
