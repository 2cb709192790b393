"""The suites of iogauge's own procedures, and the specification's rows: plans, rules, findings."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from iogauge import catalog
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Kind, SyncMode, TargetFacts
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, difference, step_figures
from iogauge.store import Review
from iogauge.suites import SUITES, Pace
from iogauge.suites.commit_latency import _cost
from iogauge.target import layers
from iogauge.target.layers import Layer, layers_of, layers_over
from iogauge.text import numbers
from tests.reviews import concluded
from tests.suite_runs import BLOCK, cut_down, jobs_of, planned, reviewed


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut_down(monkeypatch)
    monkeypatch.chdir(tmp_path)


def modelled(path: str) -> TargetFacts:
    from iogauge.target import open_target

    return open_target(path, write=False).facts


# --- The specification's rows


def test_the_rows_are_those_of_the_guide() -> None:
    steps = planned("spec").steps
    rows = [
        (
            job.rw.value,
            job.bs.read.minimum_bytes,
            job.numjobs,
            job.iodepth,
            job.sync,
            job.runtime_ns // 10**9,
        )
        for step in steps
        for job in jobs_of(step)
    ]
    none, dsync = SyncMode.NONE, SyncMode.DSYNC
    assert rows == [
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
    assert jobs_of(steps[2])[0].rwmix_read_percent == 70
    for step in (steps[4], steps[6]):
        (job,) = jobs_of(step)
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
def test_a_row_returns_its_published_points(row: int, values: list[float]) -> None:
    suite = SUITES["spec"]
    assert [point.value for point in suite.published(planned("spec").steps[row - 1])] == values


def test_no_other_suite_claims_published_rows() -> None:
    step = planned("mixed").steps[0]
    assert SUITES["mixed"].published(step) == ()


def test_spec_finds_the_highest_rate_and_the_latency_of_one_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("spec", ["model:p4800x"], tmp_path / "r", capsys)
    most, widest, read, write = plan["findings"]
    # A run of 60 ms has too few intervals for an interval of its rate.
    assert most.endswith("IOPS (no interval), by 4 KiB random reads, 8 x 4")
    assert "MB/s (no interval), by 64 KiB reads" in widest
    assert read.startswith("4 KiB random reads, one at a time: ")
    assert "99 % within" in read
    assert "99.999 %" not in read  # too few requests for it
    assert write.startswith("4 KiB random writes, one at a time: ")


# --- Commit latency


def test_a_commit_is_a_write_and_a_sync_or_one_durable_write() -> None:
    steps = planned("commit-latency").steps
    assert [step.at for step in steps] == [1, 2, 4, 8, 16] * 2
    for step in steps:
        (job,) = jobs_of(step)
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
        ("960evo-250g", "as long as a plain one (medians); a power failure may lose a plain write"),
    ],
)
def test_the_cost_of_a_durable_write_is_a_finding(
    drive: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("commit-latency", [f"model:{drive}"], tmp_path / "r", capsys)
    assert sum(says in finding for finding in plan["findings"]) == 1


def test_a_sync_that_takes_longer_than_a_write_is_not_called_cheap() -> None:
    def times(value: float) -> Ratio:
        return Ratio(value, 0.9 * value, 1.1 * value)

    for sync in (None, times(0.3)):
        assert "hardly longer than a plain one: the drive has no cache" in _cost(times(1.05), sync)
    sentence = _cost(times(1.05), times(13))
    assert sentence.startswith(
        "the two ways disagree about what durability costs (medians): a write with O_DSYNC"
    )
    assert "protects" not in sentence
    assert "as long as a plain one (medians); a power failure may lose a plain write" in _cost(
        times(3), times(13)
    )


def test_a_sync_moves_no_data_and_has_no_rate_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviewed("commit-latency", ["model:p4800x"], tmp_path / "r", capsys)
    assert main(["show", str(tmp_path / "r"), "-v"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rates = [line.split()[2] for line in lines if re.match(r" *(1|2|4|8|16) ", line)]
    assert rates[:5] == ["-"] * 5
    assert all(float(rate.replace(",", "")) > 0 for rate in rates[5:])
    assert main(["report", str(tmp_path / "r"), "--format=md"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "| write" in line]
    assert [row[2].strip() == "–" for row in rows] == [True] * 5 + [False] * 5


def test_a_commit_is_judged_as_one_wait_and_split_into_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed("commit-latency", ["model:960evo-250g"], tmp_path / "r", capsys)
    record = Review.open(tmp_path / "r").record("commit-latency.fdatasync-1")
    (row,) = record.result.rows
    exact = {way: tally.exact[Kind.LAT] for way, tally in row.tallies.items()}
    synced, written = exact[Direction.SYNC], exact[Direction.WRITE]
    first = plan["steps"][0]
    assert first["ios"] == synced.count
    # One wait for both, and for the time between, which is nearly nothing on a modelled machine.
    commit = row.tallies[Direction.SYNC].exact[Kind.RESPONSE]
    assert first["mean_ns"]["value"] == pytest.approx(commit.sum_ns / commit.count)
    parts_ns = synced.sum_ns / synced.count + written.sum_ns / written.count
    assert first["mean_ns"]["value"] == pytest.approx(parts_ns, rel=0.02)
    assert commit.max_ns < synced.max_ns + written.max_ns + 10_000
    assert commit.max_ns >= max(synced.max_ns, written.max_ns)
    assert Kind.RESPONSE not in row.tallies[Direction.WRITE].histograms
    sentence = next(finding for finding in plan["findings"] if "write, then fdatasync: one log" in finding)
    assert numbers.duration(first["mean_ns"]["value"], 3) in sentence
    figures = step_figures(record, (), measured_job="log", load_jobs=None, direction=Direction.WRITE)
    assert figures.mean is not None
    assert figures.mean.value == pytest.approx(written.sum_ns / written.count)
    assert figures.mean.value < first["mean_ns"]["value"]


# --- Stack overhead


def test_layers_are_steps_in_order() -> None:
    plan = planned("stack-overhead", layers=layers_over(BLOCK.path))
    ram, loop = layers_over(BLOCK.path)
    assert [
        (step.label, jobs_of(step)[0].ioengine.value, jobs_of(step)[0].filenames) for step in plan.steps[:4]
    ] == [
        ("the generator alone", "null", (BLOCK.path,)),
        ("a device in memory", "libaio", (ram.path,)),
        ("the target", "libaio", (BLOCK.path,)),
        ("a loop device over the target", "libaio", (loop.path,)),
    ]
    assert set(plan.compared_with) == {ram.path, loop.path}
    assert [jobs_of(step)[0].iodepth for step in plan.steps] == [1] * 4 + [32] * 4


def test_a_note_names_a_missing_layer() -> None:
    ram, loop = layers_over(BLOCK.path)
    plan = planned("stack-overhead", layers=(replace(ram, missing="no root"), loop))
    assert "a device in memory left out: no root" in plan.notes
    assert [step.label for step in plan.steps[:3]] == [
        "the generator alone",
        "the target",
        "a loop device over the target",
    ]
    assert plan.compared_with == (loop.path,)


def test_layers_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert [layer.missing for layer in layers_of(BLOCK)] == [
        "a device in memory needs root",
        "a loop device over the target needs root",
    ]


def test_a_model_is_compared_with_a_drive_that_costs_nothing() -> None:
    target = modelled("model:p4800x@linux-stock")
    assert layers_of(target) == ()
    plan = planned("stack-overhead", "full", target)
    assert plan.compared_with == ("model:ram@linux-stock",)
    assert {jobs_of(step)[0].filenames[0] for step in plan.steps} == {target.path, "model:ram@linux-stock"}
    itself = planned("stack-overhead", "full", modelled("model:ram@linux-stock"))
    assert itself.compared_with == ()
    assert len(itself.steps) == 2
    assert catalog.pair(plan.compared_with[0])[1].name == "linux-stock"


def test_two_targets_have_different_layers() -> None:
    paths = [layer.path for path in ("/dev/sda", "/dev/sdb") for layer in layers_over(path)]
    assert len(set(paths)) == 4
    assert isinstance(layers_over("/dev/sda")[0], Layer)


def estimate(low: float | None, value: float, high: float | None) -> Figure:
    return Figure(value, low, high, count=100, dependence=True)


def test_a_difference_has_an_interval_if_both_figures_have_one() -> None:
    gap = difference(estimate(96, 100, 104), estimate(57, 60, 63))
    assert (gap.value, gap.low, gap.high) == (40, 35, 45)
    backwards = difference(estimate(57, 60, 63), estimate(96, 100, 104))
    assert (backwards.value, backwards.low, backwards.high) == (-40, -45, -35)
    assert difference(estimate(None, 100, 104), estimate(57, 60, 63)).low is None
    assert difference(estimate(96, 100, 104), estimate(57, 60, None)).low is None


# --- Burst credit


@pytest.mark.parametrize(("pace", "seconds"), [("quick", 60), ("standard", 600), ("full", 3600)])
def test_a_load_lasts_as_long_as_a_credit_may(pace: Pace, seconds: int) -> None:
    plan = planned("burst-credit", pace)
    assert [jobs_of(step)[0].runtime_ns // 10**9 for step in plan.steps] == [seconds] * 2
    assert {step.interval_ns for step in plan.steps} == {10**9}
    assert all(not job.rw.writes for step in plan.steps for job in jobs_of(step))


def test_a_fall_is_reported_with_its_second(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = SUITES["burst-credit"]
    reviewed("burst-credit", ["model:p4800x"], tmp_path / "r", capsys, "--runtime=1s")
    review = Review.open(tmp_path / "r")
    result = concluded(review)
    assert all("the rate keeps its level for 1" in finding for finding in result.conclusions.findings)
    (run, *_) = result.runs

    def of_rates(*rates: float, length_s: float = 1.0) -> str:
        moments = tuple(
            replace(
                run.figures.moments[0],
                start_s=5.0 + length_s * place,
                end_s=5.0 + length_s * (place + 1),
                ios=round(length_s * rate),
            )
            for place, rate in enumerate(rates)
        )
        changed = SimpleNamespace(plan=run.plan, figures=SimpleNamespace(moments=moments))
        return suite.findings(SimpleNamespace(runs=[changed]))[0].partition(": ")[2]

    def with_rates(*levels: tuple[int, int]) -> str:
        return of_rates(*(rate + place % 3 for rate, seconds in levels for place in range(seconds)))

    assert with_rates((3000, 300), (100, 300)) == (
        "after 300 s the rate falls from 3,001 to 101 IOPS, and stays there for the remaining 300 s"
    )
    assert with_rates((3000, 60)) == "the rate keeps its level for 60 s: 3,001 IOPS"
    assert with_rates((3000, 40), (1000, 40), (2000, 40)) == (
        "after 40 s the rate falls from 3,001 to 1,001 IOPS; after 2 changes in all it ends at 2,001 IOPS, from 80 s on"
    )
    assert with_rates((3000, 5)) == "5 intervals are too few to show a change"
    falling = [3e5] * 40 + [3e5 * 0.98**place for place in range(40)] + [3e5 * 0.98**39] * 40
    assert re.fullmatch(
        r"no sudden change in 60 s: [\d,]+ IOPS, but the rate falls gradually by 5\d\.\d % between seconds 20 and 40",
        of_rates(*falling, length_s=0.5),
    )
    drifts = [3e5] * 40 + [1e5] * 40 + [2e5 * 0.99**place for place in range(40)]
    assert re.fullmatch(
        r"after 40 s the rate falls from 300,000 to 100,000 IOPS; after 2 changes in all it ends at [\d,]+ IOPS, "
        r"and falls gradually by 32\.\d % from second 80 on",
        of_rates(*drifts),
    )
    assert re.fullmatch(
        r"after 40 s the rate falls from 100,000 to [\d,]+ IOPS, and falls gradually by 32\.\d % from second 40 on",
        of_rates(*([1e5] * 40 + [5e4 * 0.99**place for place in range(40)])),
    )


@pytest.mark.slow
def test_reviews_by_these_suites_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "r"
    arguments = ["review", "model:p4800x", "--runtime=60ms", "--seed=1", f"--output={saved}", "--json"]
    suites = ("spec", "commit-latency", "stack-overhead", "burst-credit")
    assert main([*arguments, *(f"--suite={suite}" for suite in suites)]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert main(["report", str(saved)]) == 0
    page = (saved / "report.html").read_text()
    for plan in plans:
        for finding in plan["findings"]:
            assert finding[1:30].replace("'", "&#39;") in page


@pytest.mark.slow
def test_repeats_are_not_mixed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding is about one position, however many repeats it has."""
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
    # At depth 32, one thread's system calls take longer than the drive.
    assert ["more than" in finding for finding in overhead] == [True, False]
    assert [" (repeat 2): " in finding for finding in several["burst-credit"]["findings"]] == [
        False,
        False,
        True,
        True,
    ]
    assert len(several["tenants"]["findings"]) == 2
    positions = [(step["series"], step["at"]) for step in several["tenants"]["steps"]]
    assert len(set(positions)) == len(positions)
    assert {step["runs"] for step in several["tenants"]["steps"]} <= {1, 2}
    assert sum(step["runs"] == 2 for step in several["tenants"]["steps"]) >= 10


def test_a_layer_in_use_is_kept_for_the_next_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    for name in ("_RUN", "_CONTROL", "_BLOCK"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(layers, name, tmp_path / name)
    monkeypatch.setattr(layers, "_PATIENCE_S", 0)
    device = tmp_path / "_BLOCK" / "zram7"
    (device / "reset").mkdir(
        parents=True
    )  # A directory fails to be written, like the reset of an open device.
    (device / "diskseq").write_text("5")
    ram, _ = layers_over("/dev/sda")
    link = Path(ram.path)
    link.parent.mkdir()
    link.symlink_to("/dev/zram7")
    link.with_suffix(".diskseq").write_text("5")
    for _ in range(2):
        with (
            pytest.raises(IogaugeError, match="/dev/zram7: it is left from an earlier run") as caught,
            layers.standing(ram),
        ):
            pass
        assert "Is a directory" in str(caught.value)
        assert link.is_symlink()
    (device / "reset").rmdir()
    assert layers._take_down(link) == ""
    assert (tmp_path / "_CONTROL" / "hot_remove").read_text() == "7"
    assert list(link.parent.iterdir()) == []
