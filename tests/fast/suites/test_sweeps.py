"""The suites of the reviews of 2017: their plans, their findings, and complete reviews of drive models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge import workload
from iogauge.cli import main
from iogauge.report.page import render
from iogauge.report.sections import Report
from iogauge.results.conclusions import Conclusions
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import run_review
from iogauge.schema import Job, JobFile, RunRecord, StepPlan, SuitePlan
from iogauge.stats.extremes import knee
from iogauge.store import Review
from iogauge.suites import SUITES, Pace, SuiteRequest
from iogauge.suites.reader_under_writers import (
    BEYOND,
    FEWEST,
    KEPT,
    MOST_STEPS,
    SEARCHERS,
    WRITER_Bps,
    climb_for,
)
from iogauge.workload.diskspd import arguments
from iogauge.workload.diskspd import jobs as diskspd_jobs
from tests import builders
from tests.reviews import concluded
from tests.suite_runs import Quiet

SWEEPS = ("queue-depth", "mixed", "reader-under-writers")


def request(pace: Pace = "full", **more: int) -> SuiteRequest:
    return SuiteRequest(targets=(builders.target("/dev/nvme0n1", kind="block"),), pace=pace, **more)


def planned(suite: str, pace: Pace = "full", **more: int) -> SuitePlan:
    return SUITES[suite].plan(request(pace, **more))


def jobs(step: StepPlan) -> dict[str, Job]:
    """Return the step's jobs by name, parsed like any job file."""
    return {job.name: job for job in workload.parse(step.job_file, source=step.id).jobs}


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("pace", ["quick", "full"])
def test_every_step_is_a_job_file_with_the_measured_job(suite: str, pace: Pace) -> None:
    plan = planned(suite, pace)
    steps = [*plan.steps, *([plan.search] if plan.search else [])]
    assert steps
    assert len({step.id for step in steps}) == len(steps)
    for step in steps:
        assert plan.measured_job in jobs(step) or not step.judged
        # A step that only prepares a drive may end by its amount of work.
        assert all(job.direct and (job.runtime_ns or not step.judged) for job in jobs(step).values())


def test_mixed_goes_from_reads_to_writes_with_sixteen_in_flight() -> None:
    steps = planned("mixed").steps
    assert [step.at for step in steps] == list(range(100, -1, -10))
    for step in steps:
        job = jobs(step)["mix"]
        assert (job.numjobs, job.iodepth, job.rwmix_read_percent) == (4, 4, step.at)
        assert job.bs.read.minimum_bytes == job.bs.write.minimum_bytes == 4096
        assert job.runtime_ns == 60 * 10**9


def test_queue_depth_is_one_thread_and_reads_come_first() -> None:
    steps = planned("queue-depth").steps
    loads = [(jobs(step)["load"].rw.value, jobs(step)["load"].bs.read.minimum_bytes) for step in steps]
    assert list(dict.fromkeys(loads)) == [
        ("randread", 4096),
        ("read", 131_072),
        ("randwrite", 4096),
        ("write", 131_072),
    ]
    for step in steps:
        job = jobs(step)["load"]
        assert (job.numjobs, job.iodepth, job.iodepth_batch) == (1, step.at, 1)
    assert {step.at for step in steps if step.series == "4 KiB random reads"} >= {1, 2, 4, 8, 16, 32, 64}


def test_a_climb_ends_beyond_the_search_s_rate() -> None:
    plan = planned("reader-under-writers")
    assert plan.search is not None
    searched = jobs(plan.search)
    # One writer alone, and then many without a limit.
    assert searched["writer"].stonewall
    assert all(searched[name].rate_Bps.write == 0 for name in ("alone", "writer"))
    for limit_Bps, alone_Bps in ((2.03e9, 400e6), (620e6, 90e6), (30e6, 20e6), (1e6, 3e5), (900.0, 700.0)):
        for pace in ("quick", "standard"):
            most = MOST_STEPS[pace]
            climb = climb_for(limit_Bps, alone_Bps, pace=pace)
            assert 1 <= climb.each_Bps <= min(WRITER_Bps, alone_Bps)
            steps, rest = divmod(climb.most, BEYOND * climb.stride)
            assert rest == 0
            enough = steps * climb.stride
            assert (
                (enough - climb.stride) * climb.each_Bps * KEPT <= limit_Bps < enough * climb.each_Bps * KEPT
            )
            assert steps <= most
            assert limit_Bps < 1000 or enough > FEWEST


def test_a_writer_that_something_disturbed_brings_no_crowd() -> None:
    for pace in ("quick", "standard"):
        climb = climb_for(2e9, 1e3, pace=pace)
        assert climb == climb_for(2e9, 2e9 / SEARCHERS, pace=pace)
        assert climb.most <= 4 * SEARCHERS


def pressed(takes_Bps: float, alone_Bps: float = 400e6) -> Callable[..., RunRecord]:
    """Return a function that runs job files on a made-up drive with a limit for all writes and one for each writer."""

    def run(job_file: JobFile, **_: object) -> RunRecord:
        rows = []
        for index, job in enumerate(job_file.jobs):
            (direction,) = job.rw.directions
            requested_Bps = job.numjobs * min(job.rate_Bps.write or 10**12, alone_Bps)
            got_Bps = {"alone": alone_Bps, "writer": min(requested_Bps, takes_Bps)}.get(job.name, 40e6)
            done = builders.tally({100_000: int(3 * got_Bps / 4096)}, block_bytes=4096)
            rows.append(builders.row(job.name, {direction: done}, index=index))
        return builders.record(rows, jobs=job_file)

    return run


def climbed(
    path: Path,
    *,
    searched_Bps: float,
    takes_Bps: float,
    alone_Bps: float = 400e6,
    disturbed_MBps: int = 0,
    pace: Pace = "quick",
) -> tuple[list[float], list[str]]:
    """Return the requested write rates, MB/s, and the findings, after a search that may have misjudged the drive.

    ``disturbed_MBps``: in this step the drive takes a tenth less than writers request.
    """
    suite = SUITES["reader-under-writers"]
    manifest = new_manifest(
        [suite], [builders.target()], seed=1, command=(), machine=builders.machine(), ceiling=None, pace=pace
    )
    review = Review.create(path, manifest)

    def run(job_file: JobFile, **options: object) -> RunRecord:
        searches = job_file.source.endswith(".search")
        if disturbed_MBps and job_file.source.endswith(f".writers-{disturbed_MBps // 100}"):
            return pressed(0.9e6 * disturbed_MBps)(job_file, **options)
        return pressed(searched_Bps if searches else takes_Bps, alone_Bps)(job_file, **options)

    assert run_review(review, lambda _: suite, execute=run, watcher=Quiet()) == ()
    (plan,) = review.manifest.plans
    return [step.at for step in plan.steps], list(concluded(review).conclusions.findings)


@pytest.mark.parametrize(
    ("searched_Bps", "takes_Bps", "last", "message"),
    [
        (620e6, 620e6, 800, "the drive keeps up with 600 MB/s"),
        # It takes less in the steps than in the search.
        (620e6, 250e6, 400, "the drive keeps up with 200 MB/s"),
        # It takes more in the steps than in the search.
        (620e6, 950e6, 1100, "the drive keeps up with 900 MB/s"),
        (620e6, 9e9, 1400, "the drive was not saturated: its write rate still rose in the last step"),
        (620e6, 90e6, 300, "the drive cannot keep up with even the fewest writers tried"),
    ],
)
def test_writers_join_until_the_drive_is_saturated(
    tmp_path: Path, searched_Bps: float, takes_Bps: float, last: float, message: str
) -> None:
    rates, findings = climbed(tmp_path / "r", searched_Bps=searched_Bps, takes_Bps=takes_Bps)
    assert rates == [100 * step for step in range(round(last / 100) + 1)]
    assert any(finding.startswith(message) for finding in findings)


@pytest.mark.parametrize(
    ("takes_Bps", "alone_Bps", "last", "keeps_up", "saturated"),
    [
        (
            2.5e9,
            900e6,
            2700,
            "keeps up with 2,500 MB/s",
            "the drive is saturated when writers request 2,600 MB/s: it takes 2,500 MB/s",
        ),
        (
            30e6,
            20e6,
            300,
            "cannot keep up",
            "the drive is saturated when writers request 200.0 MB/s: it takes 30.0 MB/s",
        ),
        # No writer gets its requested rate, yet more writers add to the total.
        (
            300e6,
            60e6,
            700,
            "cannot keep up",
            "the drive is saturated when writers request 600.0 MB/s: it takes 300 MB/s",
        ),
    ],
)
def test_at_full_pace_writers_of_100_MBps_join_on_any_drive(
    tmp_path: Path, takes_Bps: float, alone_Bps: float, last: int, keeps_up: str, saturated: str
) -> None:
    rates, findings = climbed(
        tmp_path / "r", searched_Bps=takes_Bps, takes_Bps=takes_Bps, alone_Bps=alone_Bps, pace="full"
    )
    assert rates == [100 * writers for writers in range(last // 100 + 1)]
    assert findings[0].startswith(f"the drive {keeps_up}")
    assert findings[1].startswith(saturated)
    assert "writes then slow reads" in findings[1]


def test_full_pace_has_a_ramp_only_if_its_source_has_one() -> None:
    # DiskSpd warms up for 5 s by default, which the guide keeps; a drive takes a while to fall asleep.
    ramps_s = {"spec": 5, "idle-power": 60}
    for suite in SUITES.values():
        assert type(suite).RAMP_NS["full"] == ramps_s.get(suite.NAME, 0) * 10**9, suite.NAME


def test_loads_are_those_of_the_guide_s_diskspd_commands() -> None:
    rows = {step.id: jobs(step)["load"] for step in planned("spec").steps}
    for key, row in (
        ("randread-4k", "-b4k -r -w0 -o4 -t8"),
        ("randwrite-4k", "-b4k -r -w100 -o4 -t8"),
        ("randread-4k-qd1", "-b4k -r -w0 -o1 -t1"),
        ("randwrite-4k-qd1", "-b4k -r -w100 -o1 -t1"),
    ):
        words = f"diskspd -d600 -h -L {row} /dev/nvme0n1".split()
        (theirs,) = diskspd_jobs.job_file(arguments.read(words), source="row").jobs
        # These options affect only the reporting, the data written and the seed.
        besides = {"name", "group_reporting", "percentile_list", "refill_buffers", "randrepeat"}
        assert rows[key].model_dump(exclude=besides) == theirs.model_dump(exclude=besides)
    assert any("the bytes 0 to 255 over and over" in note for note in planned("spec").notes)


def test_one_disturbed_step_does_not_end_the_climb(tmp_path: Path) -> None:
    rates, findings = climbed(tmp_path / "r", searched_Bps=620e6, takes_Bps=620e6, disturbed_MBps=300)
    assert rates == [100 * step for step in range(9)]
    assert findings[0].startswith("the drive keeps up with 600 MB/s")


def test_saturation_in_the_last_step_alone_is_a_finding(tmp_path: Path) -> None:
    # At full pace the climb ends at 14 writers, and the drive takes as much as 13 request.
    _, findings = climbed(tmp_path / "r", searched_Bps=620e6, takes_Bps=1.3e9, pace="full")
    assert findings[0].startswith("the drive keeps up with 1,300 MB/s")
    assert findings[1] == (
        "the drive is saturated only in the last step: writers request 1,400 MB/s, and it takes 1,300 MB/s (no "
        "interval); one step does not show its limit"
    )


def test_no_ramp_is_longer_than_the_measured_part() -> None:
    assert planned("mixed", "quick").ramp_ns == 500_000_000
    short = planned("mixed", "quick", runtime_ns=20_000_000)
    assert (short.ramp_ns, short.runtime_ns) == (20_000_000, 20_000_000)
    assert {job.ramp_time_ns for step in short.steps for job in jobs(step).values()} == {20_000_000}


def test_a_knee_is_the_first_position_with_nearly_the_highest_rate() -> None:
    assert knee({1: 100.0, 2: 190.0, 4: 237.0, 8: 238.0, 16: 250.0}) == 8
    assert knee({4: 250.0, 1: 249.0}) == 1
    assert knee({1: 100.0}) is None
    assert knee({1: 0.0, 2: 0.0}) is None


def test_requests_that_the_target_s_blocks_do_not_allow_are_left_out_with_a_note() -> None:
    target = builders.target("/dev/nvme0n1", kind="block").model_copy(update={"logical_block_bytes": 4096})
    plan = SUITES["transfer-size"].plan(SuiteRequest(targets=(target,), pace="full"))
    assert min(step.at for step in plan.steps) == 4
    assert all(job.offset.size_bytes == 0 for step in plan.steps for job in jobs(step).values())
    assert any("smaller requests and shifts are left out" in note for note in plan.notes)
    plan = planned("transfer-size")
    assert {step.at for step in plan.steps} == {0.5 * 2**doubling for doubling in range(12)}
    shifts = {job.offset.size_bytes for step in plan.steps for job in jobs(step).values()}
    assert shifts == {0, 512, 2048}


@pytest.mark.slow
def test_the_cost_of_a_shift_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["review", "model:p4800x", "--suite=transfer-size", "--runtime=20ms", "--seed=1"]
    assert main([*arguments, f"--output={tmp_path}/sizes"]) == 0
    findings = shown(tmp_path / "sizes", capsys)["findings"]
    assert isinstance(findings, list)
    assert [re.sub(r"take .* as long", "take as long", finding) for finding in findings] == [
        f"4 KiB {way} at depth 1 take as long shifted by {shift} as aligned"
        for way in ("reads", "writes")
        for shift in ("512 B", "2 KiB")
    ]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return short reviews by each suite of two drives."""
    place = tmp_path_factory.mktemp("reviews")
    for suite in SWEEPS:
        # Whether a drive keeps up takes a longer run to see, in which its buffer matters less; and a knee some pauses.
        runtime = {"reader-under-writers": "600ms", "queue-depth": "300ms"}.get(suite, "50ms")
        for drive in ("p4800x", "p3700"):
            arguments = ["review", f"model:{drive}", "--suite", suite, f"--runtime={runtime}", "--seed=1"]
            assert main([*arguments, f"--output={place}/{suite}-{drive}"]) == 0
    return place


def shown(review: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    assert main(["review", "--resume", str(review), "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert isinstance(plan, dict)
    return plan


def test_queue_depth_finds_the_published_knees(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    optane, flash = (
        shown(reviews / f"queue-depth-{drive}", capsys)["findings"] for drive in ("p4800x", "p3700")
    )
    assert isinstance(optane, list)
    assert isinstance(flash, list)
    depths = []
    for finding in (optane[0], flash[0]):
        # Runs with few intervals have no confidence interval.
        begins = r"4 KiB random reads: [\d,.]+ MB/s \((?:no interval|.* to .*)\) at most; "
        share = r"(?:: (?P<percent>[\d.]+) % \((?:no interval|[\d.]+ to [\d.]+ %)\))?"
        knee_at = re.fullmatch(
            rf"{begins}depth (?P<depth>\d+) is the smallest that reaches 95 % of that{share}", finding
        )
        assert knee_at, finding
        depths.append(int(knee_at["depth"]))
        # The deepest step has the highest rate itself, so it has no share.
        assert (knee_at["percent"] is None) == (depths[-1] == 64), finding
        assert 95 <= float(knee_at["percent"] or 100) <= 100, finding
    assert 4 <= depths[0] <= 6
    assert depths[1] > 32
    assert [finding.split(":")[0] for finding in optane] == [
        "4 KiB random reads",
        "128 KiB sequential reads",
        "4 KiB random writes",
        "128 KiB sequential writes",
    ]


def test_mixed_finds_the_bathtub(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (finding,) = shown(reviews / "mixed-p4800x", capsys)["findings"]  # type: ignore[misc]
    assert finding.startswith("the rate is highest at 100 % reads")
    assert finding.endswith(" of the highest")
    assert "and lowest at 40 %" in finding or "and lowest at 50 %" in finding


def test_a_reader_under_writers_finds_where_the_drive_stops_keeping_up(
    reviews: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    optane, flash = (
        shown(reviews / f"reader-under-writers-{drive}", capsys) for drive in ("p4800x", "p3700")
    )
    # Published: about 2 GB/s, and 400 MB/s.
    kept_MBps = re.match(r"the drive keeps up with ([\d,]+) MB/s", optane["findings"][0])  # type: ignore[index]
    assert kept_MBps
    assert 1800 <= int(kept_MBps[1].replace(",", "")) <= 2200
    (rate,) = re.findall(r"the drive keeps up with (\S+) MB/s", flash["findings"][0])
    assert float(rate) == pytest.approx(400, rel=0.001)  # type: ignore[index]
    last = optane["steps"][-1]  # type: ignore[index]
    assert last["achieved_Bps"] < 0.99 * last["requested_Bps"]


@pytest.mark.parametrize("suite", SWEEPS)
def test_two_drives_share_a_report(suite: str, reviews: Path, tmp_path: Path) -> None:
    both = [reviews / f"{suite}-{drive}" for drive in ("p4800x", "p3700")]
    report = Report.of(both, conclude=lambda _: Conclusions(("it is so",)))
    page = render.page(report)
    everything = page.partition("<h3>All findings")[2] or page
    assert everything.count("It is so.") == 2, "each drive once among all findings"
    (section,) = report.sections
    assert len(section.along) == (4 if suite == "queue-depth" else 1)
    for chart in section.along:
        assert {row["drive"] for row in chart.table.records()} == {drive.label for drive in report.drives}
        assert f'data-chart="{chart.name}"' in page
    names = [f"--charts={chart.name}" for chart in section.along]
    assert main(["export", *map(str, both), f"--pictures={tmp_path}/charts", *names]) == 0
    for chart in section.along:
        assert "<path" in (tmp_path / "charts" / f"{chart.name}-p99.svg").read_text()


def test_directions_of_a_mix_are_judged_together(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = shown(reviews / "mixed-p4800x", capsys)["steps"]
    totals = {step["at"]: step["ios"] for step in steps}  # type: ignore[attr-defined]

    assert all(totals[share] > 0.5 * totals[100] for share in (50, 0))


@pytest.mark.slow
def test_findings_of_repeats_have_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings of several runs have intervals that contain their values."""
    arguments = [
        "review",
        "model:p3700",
        "--runtime=20ms",
        "--repeats=3",
        "--seed=1",
        f"--output={tmp_path}/r",
    ]
    assert main([*arguments, "--suite=mixed", "--suite=queue-depth", "--suite=spec"]) == 0
    capsys.readouterr()
    assert main(["show", f"{tmp_path}/r", "--json"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    findings = [finding for plan in plans for finding in plan["findings"]]
    assert len(findings) >= 8
    for finding in findings:
        ranges = re.findall(r"([\d.,]+) [^\d(]+ \(([\d.,]+)(?: \S+)? to ([\d.,]+)", finding)
        assert ranges, finding
        for texts in ranges:
            value, low, high = (float(text.replace(",", "")) for text in texts)
            assert low <= value <= high or low > high  # of two units: 950.0 us to 1.010 ms
