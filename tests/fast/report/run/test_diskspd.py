"""DiskSpd's tables of a run: its layout to the character, exact figures, and marks where a sample is small."""

from __future__ import annotations

import math
import statistics

import pytest

from iogauge.report.run.diskspd_rates import BOTH, READS, WRITES, DiskspdRates
from iogauge.report.run.diskspd_table import render
from iogauge.schema import Direction, Job, RunRecord
from iogauge.store.imported import diskspd_text
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE
LAT = {100_000: 15_000, 400_000: 5_000}


def rates(*seconds: tuple[int, int]) -> DiskspdRates:
    """Return the rates of two rows. ``seconds`` are reads and writes of the first; the second does half of them."""
    deviations = DiskspdRates(interval_ns=builders.SECOND_NS)
    for index, (reads, writes) in enumerate(seconds):
        for row in (0, 1):
            tallies = {
                READ: builders.tally(ios=reads // (row + 1)),
                WRITE: builders.tally(ios=writes // (row + 1)),
            }
            deviations.add(builders.interval(index, tallies, row=row))
    return deviations


def record(**fields: object) -> RunRecord:
    jobs = [Job(name="diskspd", filenames=("/tmp/drive.bin",)) for _ in range(2)]
    tallies = [
        {READ: builders.tally(LAT, block_bytes=4096), WRITE: builders.tally({200_000: 9}, block_bytes=4096)},
        {},
    ]
    return report_records.record(jobs, tallies, **fields)


def lines(**fields: object) -> list[str]:
    return render(
        record(**fields), rates((6_000, 3), (7_000, 3), (7_000, 3)), command="-b4k t.dat"
    ).splitlines()


def test_the_tables_have_diskspds_columns() -> None:
    text = lines()
    at = text.index("Total IO")
    heading, rule, first, second, _, total = text[at + 1 : at + 7]
    assert heading == (
        "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file"
    )
    assert rule == "-" * 114
    assert first == (
        "     0 |        81956864 |        20009 |      26.05 |    6669.67 |    0.175 |     471.40 "
        "|     0.130 | /tmp/drive.bin (1GiB)"
    )
    assert second.startswith("     1 |               0 |            0 |       0.00 |       0.00 |    0.000 |")
    assert " |       N/A | /tmp" in second
    assert total.startswith(
        "total:          81956864 |        20009 |      26.05 |    6669.67 |    0.175 |     707.11 |"
    )
    assert [len(line.split("|")) for line in (heading, first)] == [9, 9]


def test_the_sections_are_total_read_and_write() -> None:
    text = lines()
    counted = [
        text[text.index(f"{name} IO") + 3].split("|")[2].strip() for name in ("Total", "Read", "Write")
    ]
    assert counted == ["20009", "20000", "9"]


def test_percentiles_and_what_their_sample_cannot_support() -> None:
    text = "\n".join(lines())
    assert "  %-ile |  Read (ms) | Write (ms) | Total (ms)\n" + "-" * 46 + "\n" in text
    assert "    min |      0.100 |      0.200 |      0.100\n" in text
    assert "   75th |      0.100 |     ~0.200 |      0.200\n" in text
    assert "3-nines |      0.400 |     ~0.200 |      0.400\n" in text
    assert "4-nines |     ~0.400 |     ~0.200 |     ~0.400\n" in text
    assert "    max |      0.400 |      0.200 |      0.400\n" in text
    assert "~ fewer than 10 samples" in text


def test_a_direction_without_requests_is_not_available() -> None:
    jobs = [Job(name="diskspd", filenames=("/tmp/drive.bin",))]
    text = render(report_records.record(jobs, [{READ: builders.tally(LAT)}]), rates((1, 0)), command="t")
    assert "   50th |      0.100 |        N/A |      0.100\n" in text


def test_cpus_are_the_workers_own() -> None:
    text = "\n".join(lines())
    # 0.1 s of user and 0.2 s of system time in 3 s, of two workers on CPU 0.
    assert (
        "CPU |  Usage |  User  | Kernel |  Idle\n" + "-" * 40 + "\n   0|  20.00%|   6.67%|  13.33%|      -\n"
        in text
    )
    assert "is unknown" in text


def test_a_worker_that_moved_is_in_no_cpus_line() -> None:
    original = record()
    workers = (original.result.workers[0].model_copy(update={"cpus": (0, 1)}), *original.result.workers[1:])
    moved = original.model_copy(update={"result": original.result.model_copy(update={"workers": workers})})
    text = render(moved, rates((1, 1)), command="t")
    assert "   0|  10.00%|" in text
    assert "1 of 2 workers moved" in " ".join(text.split())


def test_the_deviation_of_iops_is_of_sums_over_intervals() -> None:
    seconds = [(1000, 10), (1400, 30), (1200, 20)]
    deviations = rates(*seconds)
    one, both = [reads for reads, _ in seconds], [r + w for r, w in seconds]
    assert deviations.of_row(stage=0, row=0, directions=READS) == pytest.approx(statistics.pstdev(one))
    assert deviations.of_row(stage=0, row=0, directions=BOTH) == pytest.approx(statistics.pstdev(both))
    assert deviations.of_row(stage=0, row=1, directions=WRITES) == pytest.approx(
        statistics.pstdev([5, 15, 10])
    )
    assert deviations.of_all(BOTH) == pytest.approx(1.5 * statistics.pstdev(both))
    assert deviations.of_row(stage=0, row=9, directions=BOTH) == 0


def test_what_is_printed_reads_back_as_diskspds(tmp_path) -> None:
    text = render(record(), rates((6_000, 3), (7_000, 3)), command="-b4k -r t.dat")
    (step,) = diskspd_text.read(text, tmp_path / "ours.txt")
    (row,) = step.rows
    assert (row.figures[READ].ios, row.figures[WRITE].ios) == (20_000, 9)
    latency = row.figures[READ].latency
    assert latency is not None
    assert latency.quantiles[0].value_ns == 100_000
    assert latency.mean_ns is not None
    assert math.isclose(latency.mean_ns, 175_000)
    assert step.command == "-b4k -r t.dat"
    assert step.jobs is not None
