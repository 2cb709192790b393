"""The suites whose loads are of iogauge's own making, and the specification's rows: plans, rules, sentences."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge import models, workload
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Job, Kind, StepPlan, SuitePlan, SyncMode, TargetFacts
from iogauge.stats import words
from iogauge.stats.figures import Ratio, difference, step_figures
from iogauge.stats.quantiles import Estimate
from iogauge.store import Review
from iogauge.suites import SUITES, Asked, Pace
from iogauge.suites.commit_latency import _cost
from iogauge.suites.many_drives import rates_Bps
from iogauge.suites.tenants import BEYOND, FIRST, LIMIT_Q, next_number
from iogauge.target import layers
from iogauge.target.layers import Layer, layers_of, layers_over
from tests import builders
from tests.suite_runs import cut_down, reviewed

BLOCK = builders.target("/dev/nvme0n1", kind="block", size_bytes=400 << 30)


def planned(suite: str, pace: Pace = "full", *targets: TargetFacts, **asked: Any) -> SuitePlan:
    return SUITES[suite].plan(Asked(targets=targets or (BLOCK,), pace=pace, **asked))


def jobs(step: StepPlan) -> list[Job]:
    return list(workload.parse(step.job_file, source=step.id).jobs)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut_down(monkeypatch)
    monkeypatch.chdir(tmp_path)


def modelled(path: str) -> TargetFacts:
    from iogauge.target import open_target

    return open_target(path, write=False).facts


# --- The specification's rows


def test_rows_are_the_guide_s() -> None:
    steps = planned("spec").steps
    found = [
        (
            job.rw.value,
            job.bs.read.minimum_bytes,
            job.numjobs,
            job.iodepth,
            job.sync,
            job.runtime_ns // 10**9,
        )
        for step in steps
        for job in jobs(step)
    ]
    none, dsync = SyncMode.NONE, SyncMode.DSYNC
    assert found == [
        ("randread", 4096, 8, 4, none, 600),
        ("randwrite", 4096, 8, 4, dsync, 600),
        ("randrw", 4096, 8, 4, dsync, 600),
        ("randread", 65536, 8, 4, none, 600),
        ("read", 65536, 8, 4, none, 600),
        ("randwrite", 65536, 8, 4, dsync, 600),
        ("write", 65536, 8, 4, dsync, 600),
        ("randread", 4096, 1, 1, none, 600),
        ("randwrite", 4096, 1, 1, dsync, 600),
    ]
    assert jobs(steps[2])[0].rwmix_read_percent == 70
    for step in (steps[4], steps[6]):
        (job,) = jobs(step)
        assert job.size is not None
        assert job.offset_increment == job.size
        assert 8 * job.size.size_bytes <= BLOCK.size_bytes
    assert len({step.label for step in steps}) == len(steps)


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (1, [583558, 81, 120, 584461, 81, 122]),
        (2, [536782, 554095]),
        (3, []),
        (4, [2.5, 2.54]),
        (5, [2.5, 2.54]),
        (6, [2.17, 2.14]),
        (8, [12, 15, 58, 12, 13, 47]),
        (9, [12, 14, 73, 12, 14, 55]),
    ],
)
def test_a_row_knows_what_was_published_of_it(row: int, values: list[float]) -> None:
    suite = SUITES["spec"]
    assert [point.value for point in suite.published(planned("spec").steps[row - 1])] == values


def test_no_other_suite_claims_published_rows() -> None:
    step = planned("mixed").steps[0]
    assert SUITES["mixed"].published(step) == ()


def test_spec_finds_the_highest_rate_and_what_one_request_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("spec", ["model:p4800x"], tmp_path / "r", capsys)
    most, widest, read, write = plan["findings"]
    # A run of 60 ms has too few intervals to tell how sure its rate is.
    assert most.endswith("IOPS (no interval), 4 KiB random reads, 8 x 4")
    assert "MB/s (no interval), 64 KiB reads" in widest
    assert read.startswith("4 KiB random reads, one at a time: ")
    assert "99 % within" in read
    assert "99.999 %" not in read  # too few of them for that
    assert write.startswith("4 KiB random writes, one at a time: ")


# --- Commit latency


def test_a_commit_is_a_write_and_a_sync_or_one_durable_write() -> None:
    steps = planned("commit-latency").steps
    assert [step.at for step in steps] == [1, 2, 4, 8, 16] * 2
    for step in steps:
        (job,) = jobs(step)
        synced = step.direction is Direction.SYNC
        assert (job.fdatasync, job.sync) == ((1, SyncMode.NONE) if synced else (0, SyncMode.DSYNC))
        assert job.numjobs == step.at
        assert job.size is not None
        assert job.offset_increment == job.size
        assert 16 * job.size.size_bytes <= BLOCK.size_bytes


@pytest.mark.parametrize(
    ("drive", "says"),
    [
        ("p4800x", "takes hardly longer than a plain one"),
        ("960evo-250g", "as long as a plain one, which may be lost"),
    ],
)
def test_what_a_durable_write_costs(
    drive: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("commit-latency", [f"model:{drive}"], tmp_path / "r", capsys)
    assert sum(says in finding for finding in plan["findings"]) == 1


def test_a_sync_that_takes_longer_than_a_write_is_not_called_cheap() -> None:
    def times(value: float) -> Ratio:
        return Ratio(value, 0.9 * value, 1.1 * value)

    for sync in (None, times(0.3)):
        assert "hardly longer than a plain one: the drive's cache is protected" in _cost(times(1.05), sync)
    said = _cost(times(1.05), times(13))
    assert said.startswith(
        "the two ways disagree about what durability costs: by medians a write with O_DSYNC"
    )
    assert "protected" not in said
    assert "as long as a plain one, which may be lost" in _cost(times(3), times(13))


def test_a_sync_moves_no_data_and_has_no_rate_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviewed("commit-latency", ["model:p4800x"], tmp_path / "r", capsys)
    assert main(["show", str(tmp_path / "r")]) == 0
    lines = capsys.readouterr().out.splitlines()
    rates = [line.split()[2] for line in lines if re.match(r" *(1|2|4|8|16) ", line)]
    assert rates[:5] == ["-"] * 5
    assert all(float(rate.replace(",", "")) > 0 for rate in rates[5:])
    assert main(["report", str(tmp_path / "r"), "--format=md"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "| write" in line]
    assert [row[2].strip() == "–" for row in rows] == [True] * 5 + [False] * 5


def test_a_commit_is_judged_whole_and_its_parts_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("commit-latency", ["model:960evo-250g"], tmp_path / "r", capsys)
    record = Review.open(tmp_path / "r").record("commit-latency.fdatasync-1")
    (row,) = record.result.rows
    exact = {way: tally.exact[Kind.LAT] for way, tally in row.tallies.items()}
    synced, written = exact[Direction.SYNC], exact[Direction.WRITE]
    first = plan["steps"][0]
    assert first["ios"] == synced.count
    # One wait of both, and what lies between: a modelled thread takes next to nothing there.
    whole = row.tallies[Direction.SYNC].exact[Kind.RESPONSE]
    assert first["mean_ns"]["value"] == pytest.approx(whole.sum_ns / whole.count)
    parts_ns = synced.sum_ns / synced.count + written.sum_ns / written.count
    assert first["mean_ns"]["value"] == pytest.approx(parts_ns, rel=0.02)
    assert whole.max_ns < synced.max_ns + written.max_ns + 10_000
    assert whole.max_ns >= max(synced.max_ns, written.max_ns)
    assert Kind.RESPONSE not in row.tallies[Direction.WRITE].histograms
    said = next(finding for finding in plan["findings"] if "write, then fdatasync: one log" in finding)
    assert words.duration(first["mean_ns"]["value"]) in said
    figures = step_figures(record, (), reader="log", pressure=None, direction=Direction.WRITE)
    assert figures.mean is not None
    assert figures.mean.value == pytest.approx(written.sum_ns / written.count)
    assert figures.mean.value < first["mean_ns"]["value"]


# --- Tenants


@given(st.integers(0, 80))
def test_the_search_for_how_many_fit_ends_at_the_truth(truth: int) -> None:
    fits = {many: many <= truth for many in FIRST}
    tried = 0
    while (many := next_number(fits)) is not None:
        assert many not in fits
        fits[many] = many <= truth
        tried += 1
    assert tried <= 10
    assert max(many for many, fit in fits.items() if fit) == min(truth, max(BEYOND))


@pytest.mark.parametrize("bad", ["tenants.clones-4", "tenants.boots-4"])
def test_booting_starts_again_with_the_cloning_before_it(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviewed("tenants", ["model:960evo-250g"], tmp_path / "r", capsys)
    review = Review.open(tmp_path / "r")
    whole = {step: review.record(step).started_at for step in review.completed()}
    review.discard(bad)
    assert main(["review", "--resume", str(tmp_path / "r")]) == 0
    again = Review.open(tmp_path / "r")
    anew = {step for step in again.completed() if again.record(step).started_at != whole.get(step)}
    assert anew == {"tenants.clones-4", "tenants.boots-4"}


def test_nothing_is_tried_where_the_tenant_was_not_alone_first() -> None:
    assert next_number({}) is None


def test_tenants_have_parts_of_their_own() -> None:
    suite = SUITES["tenants"]
    plan = planned("tenants", size_bytes=16 << 20)
    assert plan.search is not None
    assert plan.kind is Kind.RESPONSE
    with pytest.raises(IogaugeError, match="divides its target among 65 tenants"):
        suite.plan(Asked(targets=(BLOCK,), pace="quick", size_bytes=15 << 20))


def test_a_response_counts_what_a_request_waited_before_it_could_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("tenants", ["model:960evo-250g"], tmp_path / "r", capsys)
    review = Review.open(tmp_path / "r")
    (saved,) = review.manifest.plans
    assert saved.kind is Kind.RESPONSE
    for step in saved.steps:
        tenant = next(job for job in jobs(step) if job.name == "tenant")
        assert tenant.rate_process == "poisson"
        others = [job for job in jobs(step) if job.name == "others"]
        for other in others:
            assert other.size is not None
            assert tenant.size is not None
            assert tenant.size.size_bytes <= other.offset.size_bytes
            end = other.offset.size_bytes + 64 * other.size.size_bytes
            assert end <= review.manifest.targets[0].size_bytes
    # They boot right after they cloned, and the second goes with the first.
    assert len(saved.steps) > 10
    for first, second in zip(saved.steps[::2], saved.steps[1::2], strict=True):
        assert first.at == second.at
        assert ("clone" in first.series, "boot" in second.series) == (True, True)
        assert (first.state_group == second.state_group) == (first.at > 0)
    crowded = max(plan["steps"], key=lambda step: step["mean_ns"]["value"])
    (mean,) = (
        step_figures(review.record(crowded["id"]), (), reader="tenant", pressure=None, kind=Kind.LAT).mean,
    )
    assert mean is not None
    assert crowded["mean_ns"]["value"] > mean.value
    alone = {step["series"]: step for step in plan["steps"] if step["at"] == 0}
    assert len(alone) == 2
    limit = {
        series: max(1e6, 2 * step["quantiles_ns"][f"{LIMIT_Q:g}"]["value"]) for series, step in alone.items()
    }
    for finding, kind in zip(plan["findings"], ("clones of images", "booting machines"), strict=True):
        series = next(series for series in limit if kind.split()[0][:4] in series)
        fit = [
            step["at"]
            for step in plan["steps"]
            if step["series"] == series and step["quantiles_ns"]["0.999"]["value"] < limit[series]
        ]
        assert finding.startswith((f"{max(fit):g} {kind} fit", f"all {max(fit):g}", f"no {kind} fit"))


# --- Many drives


def test_drives_are_measured_alone_and_together() -> None:
    other = builders.target("/dev/nvme1n1", kind="block")
    plan = planned("many-drives", "quick", BLOCK, other)
    assert [step.at for step in plan.steps] == [1, 1, 2] * 4
    together = plan.steps[2]
    assert [(job.name, job.filenames) for job in jobs(together)] == [
        ("load", ("/dev/nvme0n1",)),
        ("load", ("/dev/nvme1n1",)),
    ]


def test_shares_of_repeats_have_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["review", "model:p4800x", "model:p4800x-750g@anandtech-linux", "--suite=many-drives"]
    assert main([*asked, "--repeats=3", "--runtime=10ms", "--seed=1", f"--output={tmp_path}/r"]) == 0
    out = capsys.readouterr().out
    shares = re.findall(r"together, ([\d.]+) % \(([\d.]+) to ([\d.]+) %\) of what the drives give", out)
    assert len(shares) == 4
    assert all(float(low) <= float(value) <= float(high) for value, low, high in shares)
    assert len(re.findall(r"keeps least, [\d.]+ % \([\d.]+ to [\d.]+ %\) of its own", out)) == 4


def test_drives_behind_one_machine_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = ["model:p4800x", "model:p4800x-750g@anandtech-linux"]
    plan = reviewed("many-drives", targets, tmp_path / "r", capsys)
    sums = [finding for finding in plan["findings"] if "of what the drives give alone" in finding]
    assert len(sums) == 4
    assert "99." in sums[1] or "100.0 %" in sums[1]
    assert any("of CPU time together" in finding for finding in plan["findings"])
    record = Review.open(tmp_path / "r").record("many-drives.read-128k-together")
    assert set(rates_Bps(record)) == set(targets)
    whole = next(step for step in plan["steps"] if step["id"] == "many-drives.read-128k-together")
    assert sum(rates_Bps(record).values()) == pytest.approx(whole["rate_Bps"])


def test_one_drive_is_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "model:ram", "--suite=many-drives", f"--output={tmp_path}/r"]) == 1
    assert "many-drives takes 2 targets at least, together\nhint: " in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


# --- Stack overhead


def test_layers_stand_in_their_order() -> None:
    plan = planned("stack-overhead", layers=layers_over(BLOCK.path))
    ram, loop = layers_over(BLOCK.path)
    assert [
        (step.label, jobs(step)[0].ioengine.value, jobs(step)[0].filenames) for step in plan.steps[:4]
    ] == [
        ("the generator alone", "null", (BLOCK.path,)),
        ("a device in memory", "libaio", (ram.path,)),
        ("the target", "libaio", (BLOCK.path,)),
        ("a loop device over the target", "libaio", (loop.path,)),
    ]
    assert set(plan.beside) == {ram.path, loop.path}
    assert [jobs(step)[0].iodepth for step in plan.steps] == [1] * 4 + [32] * 4


def test_a_layer_that_is_missing_is_a_note() -> None:
    ram, loop = layers_over(BLOCK.path)
    plan = planned("stack-overhead", layers=(replace(ram, missing="no root"), loop))
    assert "a device in memory left out: no root" in plan.notes
    assert [step.label for step in plan.steps[:3]] == [
        "the generator alone",
        "the target",
        "a loop device over the target",
    ]
    assert plan.beside == (loop.path,)


def test_layers_take_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert [layer.missing for layer in layers_of(BLOCK)] == [
        "a device in memory takes root",
        "a loop device over the target takes root",
    ]


def test_a_model_stands_beside_one_that_costs_nothing() -> None:
    target = modelled("model:p4800x@linux-stock")
    assert layers_of(target) == ()
    plan = planned("stack-overhead", "full", target)
    assert plan.beside == ("model:ram@linux-stock",)
    assert {jobs(step)[0].filenames[0] for step in plan.steps} == {target.path, "model:ram@linux-stock"}
    itself = planned("stack-overhead", "full", modelled("model:ram@linux-stock"))
    assert itself.beside == ()
    assert len(itself.steps) == 2
    assert models.pair(plan.beside[0])[1].name == "linux-stock"


def test_two_targets_have_different_layers() -> None:
    paths = [layer.path for path in ("/dev/sda", "/dev/sdb") for layer in layers_over(path)]
    assert len(set(paths)) == 4
    assert isinstance(layers_over("/dev/sda")[0], Layer)


def estimate(low: float | None, value: float, high: float | None) -> Estimate:
    return Estimate(value, low, high, supported=True, needed=0, count=100, dependence=True)


def test_a_difference_has_an_interval_where_both_figures_have() -> None:
    found = difference(estimate(96, 100, 104), estimate(57, 60, 63))
    assert (found.value, found.low, found.high) == (40, 35, 45)
    backwards = difference(estimate(57, 60, 63), estimate(96, 100, 104))
    assert (backwards.value, backwards.low, backwards.high) == (-40, -45, -35)
    assert difference(estimate(None, 100, 104), estimate(57, 60, 63)).low is None
    assert difference(estimate(96, 100, 104), estimate(57, 60, None)).low is None


# --- Burst credit


@pytest.mark.parametrize(("pace", "seconds"), [("quick", 60), ("standard", 600), ("full", 3600)])
def test_a_load_lasts_as_long_as_a_credit_may(pace: Pace, seconds: int) -> None:
    plan = planned("burst-credit", pace)
    assert [jobs(step)[0].runtime_ns // 10**9 for step in plan.steps] == [seconds] * 2
    assert {jobs(step)[0].log_avg_ns for step in plan.steps} == {10**9}
    assert all(not job.rw.writes for step in plan.steps for job in jobs(step))


def test_a_fall_is_said_with_its_second(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = SUITES["burst-credit"]
    reviewed("burst-credit", ["model:p4800x"], tmp_path / "r", capsys, "--runtime=1s")
    review = Review.open(tmp_path / "r")
    judgement = suite.judge(review, review.manifest.plans[0])
    assert all("no change of level in 1" in finding for finding in suite.findings(judgement))
    step = judgement.steps[0]

    def with_rates(*levels: tuple[int, int]) -> str:
        rates = [rate + place % 3 for rate, seconds in levels for place in range(seconds)]
        moments = tuple(
            replace(step.figures.moments[0], start_s=5.0 + at, end_s=6.0 + at, ios=rate)
            for at, rate in enumerate(rates)
        )
        changed = replace(step, runs=(replace(step.figures, moments=moments),))
        return suite.findings(replace(judgement, steps=(changed,)))[0].partition(": ")[2]

    assert with_rates((3000, 300), (100, 300)) == (
        "after 300 s the rate falls from 3,001 to 101 IOPS, and stays there for the remaining 300 s"
    )
    assert with_rates((3000, 60)) == "no change of level in 60 s: 3,001 IOPS"
    assert with_rates((3000, 40), (1000, 40), (2000, 40)) == (
        "after 40 s the rate falls from 3,001 to 1,001 IOPS; after 2 changes in all it ends at 2,001 IOPS, from 80 s on"
    )
    assert with_rates((3000, 5)) == "5 intervals are too few to see a change in"


@pytest.mark.slow
def test_reviews_by_these_suites_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "r"
    asked = ["review", "model:p4800x", "--runtime=60ms", "--seed=1", f"--output={saved}", "--json"]
    suites = ("spec", "commit-latency", "stack-overhead", "burst-credit")
    assert main([*asked, *(f"--suite={suite}" for suite in suites)]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert main(["report", str(saved)]) == 0
    page = (saved / "report.html").read_text()
    for plan in plans:
        for finding in plan["findings"]:
            assert finding[1:30].replace("'", "&#39;") in page


@pytest.mark.slow
def test_repeats_are_not_mixed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each sentence is about one place of the axis, however often that was measured."""
    several = {
        suite: reviewed(
            suite, ["model:p4800x", "model:ram@anandtech-linux"], tmp_path / suite, capsys, "--repeats=2"
        )
        for suite in ("many-drives", "stack-overhead", "burst-credit", "tenants")
    }
    assert len(several["many-drives"]["findings"]) == 8
    overhead = several["stack-overhead"]["findings"]
    assert len(overhead) == 2
    assert all("the target takes" in finding for finding in overhead)
    # In flight by 32, one thread's system calls take longer than the drive.
    assert ["more than" in finding for finding in overhead] == [True, False]
    assert [" (repeat 2): " in finding for finding in several["burst-credit"]["findings"]] == [
        False,
        False,
        True,
        True,
    ]
    assert len(several["tenants"]["findings"]) == 2
    places = [(step["series"], step["at"]) for step in several["tenants"]["steps"]]
    assert len(set(places)) == len(places)
    assert {step["runs"] for step in several["tenants"]["steps"]} <= {1, 2}
    assert sum(step["runs"] == 2 for step in several["tenants"]["steps"]) >= 10


def test_a_layer_that_is_in_use_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    for name in ("_RUN", "_CONTROL", "_BLOCK"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(layers, name, tmp_path / name)
    monkeypatch.setattr(layers, "_PATIENCE_S", 0)
    device = tmp_path / "_BLOCK" / "zram7"
    (device / "reset").mkdir(parents=True)  # It cannot be written to, as where somebody has the device open.
    (device / "diskseq").write_text("5")
    ram, _ = layers_over("/dev/sda")
    link = Path(ram.path)
    link.parent.mkdir()
    link.symlink_to("/dev/zram7")
    link.with_suffix(".diskseq").write_text("5")
    for _ in range(2):
        with (
            pytest.raises(IogaugeError, match="/dev/zram7: it stays from an earlier run") as caught,
            layers.standing(ram),
        ):
            pass
        assert "Is a directory" in str(caught.value.hint)
        assert link.is_symlink()
    (device / "reset").rmdir()
    assert layers._take_down(link) == ""
    assert (tmp_path / "_CONTROL" / "hot_remove").read_text() == "7"
    assert list(link.parent.iterdir()) == []
