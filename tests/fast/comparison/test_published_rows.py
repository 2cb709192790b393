"""The table of published figures next to measured ones, as a section of the report shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge import workload
from iogauge.catalog.published import points
from iogauge.comparison.published_rows import PublishedRow, published_table
from iogauge.report.page import render
from iogauge.report.sections import Report
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.store import Review
from tests import builders

P4800X = "Intel Optane SSD DC P4800X 375GB"


def saved(path: Path, *jobs: str) -> SuiteResult:
    """Save a review whose steps are one job each, whose requests all take 10 us, a thousand a second."""
    steps = tuple(
        builders.step(f"s{place}", place, job_file=f"[load]\nfilename=/dev/x\n{text}")
        for place, text in enumerate(jobs)
    )
    plan = SuitePlan(
        key="any",
        suite="any",
        title="Any",
        source="a note",
        targets=(builders.target().path,),
        axis=Axis(name="place", unit=""),
        measured_job="load",
        load_jobs=None,
        steps=steps,
    )
    review = Review.create(path, builders.manifest(plan=plan))
    with review.lock():
        for step in steps:
            run(review, step)
    return load([path])[0]


def run(review: Review, step: StepPlan) -> None:
    file = workload.parse(step.job_file, source=step.id)
    tallies = {way: builders.tally({10_000: 3_000}, block_bytes=4096) for way in file.jobs[0].rw.directions}
    with review.begin(step.id) as writer:
        writer.interval(builders.interval(0, tallies))
        writer.finish(builders.record([builders.row("load", tallies)], jobs=file))


def job(rw: str = "randread", **options: object) -> str:
    fields = {"rw": rw, "bs": "4k", **options}
    return "".join(f"{name}={value}\n" for name, value in fields.items())


def row(table: tuple[PublishedRow, ...], figure: str) -> PublishedRow:
    (result,) = [line for line in table if line.figure == figure]
    return result


def test_the_same_load_brings_its_published_figures(tmp_path: Path) -> None:
    table = published_table([saved(tmp_path / "r", job())])
    assert {line.load for line in table} == {"4 KiB random, reads, 1 thread at depth 1"}
    assert [line.figure for line in table][:2] == ["IOPS", "mean latency"]
    iops = row(table, "IOPS")
    assert iops.measured[0].text == "1,000"
    assert {figure.drive: figure.text for figure in iops.published}["Intel SSD DC P3700 800GB"] == "12,800"
    assert all(figure.sources for figure in iops.published)


def test_the_hosts_of_one_drive_are_one_span(tmp_path: Path) -> None:
    latency = row(published_table([saved(tmp_path / "r", job())]), "mean latency")
    (drive,) = [figure for figure in latency.published if figure.drive == P4800X]
    rows = [
        point
        for point in points()
        if point.label == "rand 4 KiB read 1x1 lat_mean" and point.drive == P4800X and point.use == "fit"
    ]
    low, high = min(point.value for point in rows), max(point.value for point in rows)
    assert drive.text == f"{low:.3f}–{high:.2f} µs on {len({point.host for point in rows})} hosts"
    assert "Intel evaluation guide Table 7" in drive.sources


def test_a_rate_is_in_one_unit(tmp_path: Path) -> None:
    (rate,) = published_table([saved(tmp_path / "r", job("randread", bs="64k", numjobs=8, iodepth=4))])
    assert rate.figure == "rate"
    assert [figure.text for figure in rate.published] == ["2,500–2,540 MB/s on 2 hosts"]
    assert rate.measured[0].text.endswith(" MB/s")


def test_an_unsupported_quantile_is_marked_next_to_a_published_one(tmp_path: Path) -> None:
    table = published_table([saved(tmp_path / "r", job())])
    p99, rare = row(table, "p99 latency").measured[0], row(table, "p99.999 latency").measured[0]
    assert not p99.unsupported
    assert rare.unsupported == "needs 1,000,000"
    assert rare.text == "10.0 µs"


@pytest.mark.parametrize(
    "job_text",
    [job(iodepth=2), job("read"), job(rate_iops=100), job(bsrange="512-4k"), job("randtrim")],
)
def test_a_load_that_nobody_published_has_no_row(tmp_path: Path, job_text: str) -> None:
    assert published_table([saved(tmp_path / "r", job_text)]) == ()


def test_drives_that_lack_a_load_have_an_empty_cell(tmp_path: Path) -> None:
    drives = [saved(tmp_path / "a", job()), saved(tmp_path / "b", job(iodepth=2))]
    assert [cell.text for cell in row(published_table(drives), "IOPS").measured] == ["1,000", "–"]


def test_the_page_shows_them(tmp_path: Path) -> None:
    saved(tmp_path / "r", job())
    page = render.page(Report.of([tmp_path / "r"]))
    assert "Published figures of the same loads" in page
    assert "12,800" in page
