"""Limits of latency on a modelled drive: the depth that latency_target arrives at is the one that a sweep of depths
shows, and max_latency ends a job at the first request above it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from iogauge import workload
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.execution import execute
from iogauge.schema import Code, Direction, Interval, Kind, RunRecord
from iogauge.stats.histogram import Histogram

MODEL = "model:p3700-800g"
TARGET_US = 150
WINDOW_NS = 20_000_000
SEARCH = [f"--latency_target={TARGET_US}", "--latency_window=20ms", "--latency_percentile=90"]


def options(depth: int, *more: str, runtime: str = "1s") -> list[str]:
    job = ["--name=x", f"--filename={MODEL}", "--ioengine=libaio", "--rw=randread", "--bs=4k"]
    return [*job, f"--iodepth={depth}", "--time_based", f"--runtime={runtime}", *more]


def run(depth: int, *more: str, runtime: str = "1s", **fields) -> RunRecord:
    return execute(workload.from_arguments(options(depth, *more, runtime=runtime)), seed=3, **fields)


def p90_ns(depth: int) -> int:
    """The latency that 90 % of the requests keep at a fixed depth."""
    tally = run(depth, runtime="200ms").result.rows[0].tallies[Direction.READ]
    return Histogram.decode(tally.histograms[Kind.LAT]).quantile(0.9)


def test_it_arrives_at_the_depth_of_a_sweep() -> None:
    intervals: list[Interval] = []
    record = run(64, *SEARCH, interval_ns=10**7, on_interval=intervals.append)
    (worker,) = record.result.workers
    assert worker.latency_target is not None
    assert worker.latency_target.outcome in ("kept", "missed")
    depth = worker.latency_target.depth
    assert 1 < depth < 64
    assert p90_ns(depth - 1) <= TARGET_US * 1000 < p90_ns(depth + 1)
    # What is measured is one window at that depth, and nothing before it.
    (row,) = record.result.rows
    assert WINDOW_NS <= row.end_ns - row.start_ns < WINDOW_NS + 2_000_000
    assert worker.start_ns == row.start_ns > WINDOW_NS
    assert depth - 1 < worker.depth_mean <= depth
    measured = [one for one in intervals if not one.ramp]
    assert min(one.start_ns for one in measured) == row.start_ns
    assert sum(one.tallies[Direction.READ].ios for one in measured) == row.tallies[Direction.READ].ios
    assert max(one.end_ns for one in intervals if one.ramp) == row.start_ns


def test_workers_of_a_group_are_measured_one_after_the_other() -> None:
    # The second begins later, so that it is measured when the first has ended.
    grouped = [*SEARCH, "--group_reporting"]
    later = options(64, *grouped, "--startdelay=300ms")
    record = execute(workload.from_arguments([*options(64, *grouped), *later]), seed=3)
    (row,) = record.result.rows
    first, second = record.result.workers
    assert first.start_ns != second.start_ns
    ios = row.tallies[Direction.READ].ios
    seconds = row.seconds(record.result.workers)
    assert WINDOW_NS / 1e9 <= seconds < 1.1 * WINDOW_NS / 1e9
    assert row.end_ns - row.start_ns > 1.5 * WINDOW_NS
    # Little's law for each: the depth over the latency.
    alone = [worker.latency_target.depth for worker in (first, second) if worker.latency_target]
    mean_s = row.tallies[Direction.READ].exact[Kind.LAT].sum_ns / ios / 1e9
    assert ios / seconds == pytest.approx(sum(alone) / mean_s, rel=0.1)


def test_latency_run_goes_on_and_measures_all_of_it() -> None:
    record = run(64, *SEARCH, "--latency_run=1")
    (worker,) = record.result.workers
    assert worker.latency_target is not None
    assert worker.latency_target.outcome == "adjusting"
    assert 8 < worker.depth_mean < 40
    (row,) = record.result.rows
    assert row.start_ns == 0
    assert row.end_ns >= 10**9
    assert Code.SEARCH_UNFINISHED not in {one.code for one in record.warnings}


def test_a_search_that_does_not_end_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *options(64, *SEARCH, runtime="50ms")]) == 0
    out, err = capsys.readouterr()
    assert "x: 90 % of the I/Os within 150 us: the search did not end; last depth" in out
    assert "before it had found the depth" in " ".join(err.split())


def test_a_latency_that_no_depth_keeps_is_fios_error(capsys: pytest.CaptureFixture[str]) -> None:
    hopeless = options(8, "--latency_target=1", "--latency_window=20ms")
    assert main(["run", *hopeless, "--output-format=json"]) == 1
    out, err = capsys.readouterr()
    assert "x: a request missed latency_target at depth 1" in err
    assert json.loads(out)["jobs"][0]["error"] == 110


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--max_latency=50"], 110),
        (["--max_latency=50", "--latency_target=1s", "--latency_window=20ms"], 110),
        (["--max_latency=50", "--rate_iops=100", "--group_reporting"], 110),
        (["--max_latency=1s"], 0),
        (["--max_latency=50", "--gtod_reduce=1"], 0),
        (["--max_latency=1s,50"], 0),
    ],
)
def test_a_request_above_max_latency_is_fios_error(
    more: list[str], error: int, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = options(8, *more, runtime="20ms")
    other = ["--name=other", f"--filename={MODEL}", "--rw=randread", "--number_ios=9"]
    assert main(["run", *limited, *other, "--output-format=json"]) == bool(error)
    out, err = capsys.readouterr()
    assert bool(re.search(r"x: a read took [\d.]+ us, more than its max_latency of 50 us", err)) == bool(
        error
    )
    first, second = json.loads(out)["jobs"]
    assert (first["error"], second["error"]) == (error, 0)
    assert second["read"]["total_ios"] == 9


def test_the_job_of_a_group_that_exceeds_its_max_latency_gives_the_group_its_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = [f"--filename={MODEL}", "--rw=randread", "--number_ios=9", "--group_reporting"]
    assert main(["run", "--name=a", *job, "--name=b", *job, "--max_latency=50", "--output-format=json"]) == 1
    (group,) = json.loads(capsys.readouterr().out)["jobs"]
    assert group["error"] == 110


def test_the_answer_has_the_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *options(64, *SEARCH), "--seed=4"]) == 0
    first = " ".join(capsys.readouterr().out.split())
    assert main(["run", *options(64, *SEARCH), "--seed=4", "--output-format=json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    assert f"x: depth {job['latency_depth']} keeps 90 % of the I/Os within 150 us: " in first
    assert (job["latency_target"], job["latency_window"], job["latency_percentile"]) == (150_000, 20_000, 90)


def test_the_answer_says_that_a_depth_did_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *options(64, *SEARCH), "--seed=3"]) == 0
    answer = " ".join(capsys.readouterr().out.split())
    held = "kept 90 % of the I/Os within 150 us in the search, but not when it was measured"
    assert re.search(rf"x: depth \d+ {held}", answer)


def test_a_trace_has_no_depth_to_look_for() -> None:
    with pytest.raises(IogaugeError, match="latency_target=150: has no effect on a trace"):
        workload.from_arguments(["--name=x", f"--filename={MODEL}", "--read_iolog=t", *SEARCH])


def test_logs_begin_with_what_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *options(64, *SEARCH), "--write_lat_log=l", "--log_avg_msec=0"]) == 0
    times_ms = [int(line.split(",")[0]) for line in Path("l_lat.1.log").read_text().splitlines()]
    assert times_ms[0] == 0
    assert WINDOW_NS // 10**6 - 2 <= times_ms[-1] <= WINDOW_NS // 10**6 + 2
