"""The table of a run: all that was requested, marks on unsupported quantiles, within 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.report.run import surroundings, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import DeviceStat, Direction, InFlight, Job, Kind, Notice, RunRecord
from iogauge.text import numbers
from iogauge.text.grid import WIDTH, aligned, labelled
from tests import builders, report_records

READ, WRITE, SYNC = Direction.READ, Direction.WRITE, Direction.SYNC
NONE = IntervalStats(interval_ns=10**9)


def reading(**fields: object) -> Job:
    return Job.model_validate(
        {"name": "reader", "rw": "randread", "ioengine": "io_uring", "direct": True, **fields}
    )


def text(job: Job, tallies: dict, *, stats: IntervalStats = NONE, **fields: object) -> str:
    return table.render(report_records.record([job], [tallies], **fields), stats)


def row_of(shown: str, label: str) -> list[str]:
    """The cells of the line that begins with ``label``: separated by at least two spaces."""
    line = next(line for line in shown.splitlines() if line.split()[:1] == [label])
    return [cell.strip() for cell in line.split("  ") if cell.strip()][1:]


def with_result(record: RunRecord, **fields: object) -> RunRecord:
    return record.model_copy(update={"result": record.result.model_copy(update=fields)})


def full_run() -> tuple[RunRecord, IntervalStats]:
    """Return a run that has every kind of line."""
    reader = reading(iodepth=32)
    writer = Job(
        name="writer",
        rw="randwrite",
        ioengine="psync",
        rate_iops={"read": 0, "write": 100, "trim": 0},
        fsync=10,
    )
    reads = {READ: builders.tally({50_000: 9_900, 200_000: 90, 4_000_000: 10}, block_bytes=4096)}
    writes = {
        WRITE: report_records.scheduled(
            {30_000: 299, 2_500_000_000: 1},
            {90_000: 300},
            block_bytes=4096,
            errors={5: 2, 28: 1},
            late=3,
            flagged=1,
        ),
        SYNC: builders.tally({1_000_000: 30}, bytes=0),
    }
    stat = DeviceStat(
        device="nvme0n1", read_ios=10_010, read_bytes=41_000_960, read_ns=10_010 * 40_000, write_ios=300,
        write_bytes=1_228_800, write_ns=300 * 20_000, trim_ios=0, trim_ns=0, flush_ios=30, flush_ns=27_000_000,
        busy_ns=1_500_000_000, queue_ns=2_000_000_000,
    )  # fmt: skip
    run = report_records.record(
        [reader, writer],
        [reads, writes],
        target_facts=builders.target(device="nvme0n1"),
        device_stats=(stat,),
        warnings=(
            Notice(code="page_cache", message="reads went through the page cache", hint="set direct=1"),
        ),
    )
    lost = InFlight(
        worker=1,
        direction=WRITE,
        path="/tmp/drive.bin",
        offset_bytes=8192,
        length_bytes=4096,
        age_ns=31 * 10**9,
    )
    stats = IntervalStats.over(
        [builders.interval(index, reads if index != 1 else {}) for index in range(3)], interval_ns=10**9
    )
    return with_result(run, in_flight=(lost,), stopped_by="error", error="the disk is full"), stats


def test_the_table_of_a_full_run_is_unchanged() -> None:
    run, stats = full_run()
    expected = Path(__file__).with_name("test_table.txt").read_text()
    assert table.render(run, stats) + "\n" + surroundings.warnings(run.warnings) == expected


def test_it_fits_in_eighty_columns() -> None:
    run, stats = full_run()
    lines = table.render(run, stats).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)


def test_lat_and_clat_are_side_by_side_by_default() -> None:
    shown = text(reading(), {READ: builders.tally({50_000: 2_000})})
    assert row_of(shown, "mean") == ["50.00 us", "50.00 us"]
    assert "lat         clat" in shown


def test_only_requested_percentiles_are_shown() -> None:
    shown = text(
        reading(clat_percentiles=False, percentile_list=(50, 99.9)), {READ: builders.tally({50_000: 20_000})}
    )
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("    ")]
    assert names[:7] == ["lat", "mean", "stddev", "min", "p50", "p99.9", "max"]


def test_slat_is_shown_if_requested_and_known() -> None:
    tally = builders.tally({50_000: 2_000})
    assert "slat" not in text(reading(slat_percentiles=True), {READ: tally})
    known = tally.model_copy(
        update={"histograms": {**tally.histograms, Kind.SLAT: builders.histogram({700: 2_000})}}
    )
    shown = text(reading(slat_percentiles=True), {READ: known})
    assert row_of(shown, "p50") == ["50.00 us", "50.00 us", "700 ns"]


def test_a_schedule_adds_response_queued_and_lateness() -> None:
    job = reading(rate_iops={"read": 100, "write": 0, "trim": 0}, clat_percentiles=False)
    shown = text(job, {READ: report_records.scheduled({30_000: 2_000}, {90_000: 2_000})})
    assert row_of(shown, "p50") == ["30.00 us", "90.05 us", "0 ns", "1.500 us"]
    assert "response counts from when a request was due" in shown


def test_the_latency_of_a_commit_is_shown_with_its_sync() -> None:
    syncs = builders.tally({1_000_000: 30}, bytes=0)
    histograms = {**syncs.histograms, Kind.RESPONSE: builders.histogram({1_500_000: 30})}
    writes = {WRITE: builders.tally({500_000: 30})}
    job = reading(rw="write", fdatasync=1)
    shown = text(job, {**writes, SYNC: syncs.model_copy(update={"histograms": histograms})})
    mean = next(line for line in shown[shown.index("  sync ") :].splitlines() if "mean" in line)
    assert mean.split() == ["mean", "1.000", "ms", "1.500", "ms"]
    assert "from the first write that it makes durable" in shown
    # Of a record that an older iogauge made it is not known.
    assert "makes durable" not in text(job, {**writes, SYNC: syncs})


def test_a_quantile_that_its_sample_cannot_support_is_marked_and_the_mark_explained() -> None:
    chosen = reading(percentile_list=(50, 99, 99.9), clat_percentiles=False)
    shown = text(chosen, {READ: builders.tally({50_000: 1_000})})
    assert row_of(shown, "p99") == ["50.00 us"]
    assert row_of(shown, "p99.9") == ["~50.00 us"]
    assert "~ fewer than 10 samples are expected beyond this quantile" in shown
    enough = text(chosen, {READ: builders.tally({50_000: 10_000})})
    assert row_of(enough, "p99.9") == ["50.00 us"]


def test_of_the_default_quantiles_one_unsupported_is_enough() -> None:
    shown = text(reading(), {READ: builders.tally({50_000: 500})})
    assert "p99 " in shown
    assert "p99.5" not in shown


def test_an_idle_row_says_so() -> None:
    assert "nothing completed" not in text(reading(), {READ: builders.tally({1: 1})})
    assert "  nothing completed" in text(reading(), {})


def test_empty_intervals_show_as_a_minimum_of_zero() -> None:
    run, stats = full_run()
    assert "IOPS over 3 intervals of 1.000 s: min 0, mean 6,667, max 10,000" in table.render(run, stats)


def test_worker_errors_and_stuck_workers_are_named() -> None:
    run, stats = full_run()
    workers = (
        builders.worker("reader", error="open: EIO", overdue=12),
        builders.worker("writer", index=1, stuck=True),
    )
    shown = table.render(with_result(run, workers=workers), stats)
    assert "  error        reader: open: EIO" in shown
    assert "  stuck        writer was still inside the kernel when the run ended" in shown
    assert "  overdue      12 requests were due before the end and never issued" in shown


@given(st.floats(0, 1e13))
def test_a_duration_keeps_its_value_to_four_digits(value_ns: float) -> None:
    number, unit = numbers.duration(value_ns).split(" ")
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert float(number.replace(",", "")) * scale == pytest.approx(value_ns, rel=6e-4, abs=0.06)
    assert len(number.replace(",", "")) <= 5


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=400))
def test_wrapping_loses_no_word(words: str) -> None:
    spaced = words.replace("\u00a0", " ")
    assert " ".join(labelled("x", spaced)).split()[1:] == spaced.replace("\u00a0", " ").split()


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    lines = labelled("x", "12.3 us " * 40)
    assert all(line.split()[-1] == "us" for line in lines)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([["a", "1"], ["long", "1000"]], left=1, gap=1) == ["a       1", "long 1000"]


def of_device(*, ramp_ns: int = 0) -> str:
    stat = DeviceStat(
        device="sda", read_ios=1_000, read_bytes=1, read_ns=10**7, write_ios=0, write_bytes=0, write_ns=0, trim_ios=0,
        trim_ns=0, flush_ios=0, flush_ns=0, busy_ns=0, queue_ns=0,
    )  # fmt: skip
    return text(reading(ramp_time_ns=ramp_ns), {READ: builders.tally({50_000: 1_000})}, device_stats=(stat,))


def test_the_devices_count_has_the_ramp_in_it_and_says_so() -> None:
    assert "in block layer and device, ramp included" in " ".join(of_device(ramp_ns=10**9).split())
    assert "ramp" not in of_device()


@pytest.mark.parametrize(
    ("fields", "handed_over", "noted"),
    [
        ({"ioengine": "io_uring"}, False, False),
        ({"ioengine": "io_uring", "sqthread_poll": True}, False, True),
        ({"ioengine": "io_uring"}, True, True),
        ({"ioengine": "libaio"}, False, False),
    ],
)
def test_the_cost_says_what_is_not_in_it(fields: dict[str, object], handed_over: bool, noted: bool) -> None:
    job = reading(**fields)
    plan = report_records.plan([job])
    (worker,) = plan.stages[0].workers
    polling = worker.engine.model_copy(update={"sqthread_poll": job.sqthread_poll})
    changed = worker.model_copy(update={"engine": polling, "handed_over": handed_over})
    stage = plan.stages[0].model_copy(update={"workers": (changed,)})
    printed = text(
        job, {READ: builders.tally({50_000: 100})}, plan=plan.model_copy(update={"stages": (stage,)})
    )
    (line,) = [line for line in printed.splitlines() if "CPU per I/O" in line]
    assert line.endswith("; kernel threads not included") == noted
    assert ("not pinned" in printed) == handed_over
