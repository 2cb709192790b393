"""``iogauge run`` around a run that is made up: what reaches it, what is printed where, and the exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import iogauge
import iogauge.report.run.request_logs  # which needs the package that the runner stands for
from iogauge import cli
from iogauge.cli.terminal import status
from iogauge.library.quantities import time_ns
from iogauge.schema import Direction, Notice
from iogauge.store import outputs
from tests import builders, report_records

READ = Direction.READ
JOB = ["--name=reader", "--rw=randread", "--size=1g", "--ioengine=null", "--runtime=3", "--time_based"]


class Runner:
    """Stands for ``iogauge.execution``: remembers what it was asked for, and returns a made-up record."""

    def __init__(self) -> None:
        self.request = SimpleNamespace()
        self.ceilings = 0
        self.record_fields: dict[str, object] = {}
        self.tally = builders.tally({50_000: 2_000}, block_bytes=4096)
        self.error: Exception | None = None

    def measure_ceiling(self, jobs):
        assert [job.name for job in jobs.jobs]
        self.ceilings += 1
        return builders.ceiling()

    def execute(self, job_file, **fields):
        self.request = SimpleNamespace(job_file=job_file, **fields)
        if self.error:
            raise self.error
        plan = report_records.plan(job_file.jobs)
        fields["on_start"](plan, (builders.target("/tmp/drive.bin"),))
        if fields["spill"]:
            fields["spill"].begin(job_file, plan)
            self.request.request_log = fields["spill"].header().request_log
        fields["on_message"]("the drive is a file")
        for index in range(3):
            fields["on_interval"](builders.interval(index, {READ: self.tally}))
        return report_records.record(
            job_file.jobs, [{READ: self.tally} for _ in job_file.jobs], file=job_file, **self.record_fields
        )


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    made = Runner()
    module = ModuleType("iogauge.execution")
    module.execute, module.measure_ceiling = made.execute, made.measure_ceiling  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "iogauge.execution", module)
    monkeypatch.setattr(iogauge, "execution", module, raising=False)
    monkeypatch.chdir(tmp_path)
    return made


def run(*arguments: str) -> int:
    return cli.main(["run", *arguments])


def test_a_table_on_stdout_and_the_rest_on_stderr(runner: Runner, capsys) -> None:
    caution = Notice(code="page_cache", message="reads went through the page cache", hint="set direct=1")
    runner.record_fields = {"warnings": (caution,)}
    assert run(*JOB, "-v") == status.OK
    out, err = capsys.readouterr()
    assert out.startswith("reader: randread, 4 KiB, null, iodepth 1, 1 worker, 3.000 s measured\n")
    assert "IOPS over 3 intervals" in out
    assert "page cache" not in out
    assert "the drive is a file\n" in err
    assert err.endswith("warning: reads went through the page cache\n   hint: set direct=1\n")


@pytest.mark.parametrize("format_name", ["json", "json+"])
def test_json_stands_alone_on_stdout(runner: Runner, capsys, format_name: str) -> None:
    assert run(*JOB, f"--output-format={format_name}") == status.OK
    clat = json.loads(capsys.readouterr().out)["jobs"][0]["read"]["clat_ns"]
    assert clat["N"] == 2_000
    assert ("bins" in clat) == (format_name == "json+")


def test_several_formats_come_in_the_order_asked_for(runner: Runner, capsys) -> None:
    assert run(*JOB, "--output-format=json,normal") == status.OK
    out = capsys.readouterr().out
    assert out.startswith("{")
    assert out.index('"fio version"') < out.index("reader: randread")


def test_output_goes_into_a_file_with_its_warnings(runner: Runner, capsys, tmp_path: Path) -> None:
    caution = Notice(code="page_cache", message="cached", hint="set direct=1")
    runner.record_fields = {"warnings": (caution,)}
    assert run(*JOB, "--output", "result.txt") == status.OK
    assert capsys.readouterr().out == ""
    assert "warning: cached" in (tmp_path / "result.txt").read_text()


def test_what_is_asked_for_reaches_the_run(runner: Runner) -> None:
    assert (
        run(
            *JOB, "--destroy=SERIAL1", "--destroy", "/dev/sdx", "--seed=7", "--interval=100ms", "--give-up=5s",
            "--request-log=log.parquet",
            "--log-overflow=drop",
        )
        == status.OK
    )  # fmt: skip
    request = runner.request
    assert [job.name for job in request.job_file.jobs] == ["reader"]
    assert (request.destroy, request.seed) == (("SERIAL1", "/dev/sdx"), 7)
    assert (request.interval_ns, request.give_up_ns) == (100_000_000, 5_000_000_000)
    assert request.request_log == "log.parquet"
    assert request.log_drops
    assert (runner.ceilings, request.ceiling.iops) == (1, 5e6)


def test_the_ceiling_can_be_left_out(runner: Runner) -> None:
    assert run(*JOB, "--no-ceiling") == status.OK
    assert (runner.ceilings, runner.request.ceiling) == (0, None)


def test_fios_options_keep_their_order_among_job_files(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text("[first]\nrw=read\nsize=1g\nioengine=null\n")
    assert run("a.fio", "--output-format", "json", "--seed=1") == status.OK
    assert [job.name for job in runner.request.job_file.jobs] == ["first"]
    assert run("--name=one", *JOB[1:], "--name=two", "--bs", "8k", *JOB[1:], "--seed=1") == status.OK
    jobs = runner.request.job_file.jobs
    assert [(job.name, job.bs.read.minimum_bytes) for job in jobs] == [("one", 4096), ("two", 8192)]


def test_nothing_to_run_is_a_usage_error(runner: Runner, capsys) -> None:
    assert run() == status.USAGE
    assert capsys.readouterr().err.startswith("error: no job to run\nhint: name a job file")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["--output-format=xml"],
            "--output-format: 'xml' is not a format",
            "use one of terse, json, json+, normal",
        ),
        (["--interval=soon"], "--interval soon: is not a time", "write a time such as 90, 1m30s or 500ms"),
        (["--interval=1ms"], "--interval: '1ms' is shorter than 10 ms", "use 10ms or more"),
        (["--give-up=0"], "--give-up 0: must be longer than 0", "write a time such as 90, 1m30s or 500ms"),
        (["--destory=x"], "--destory is not an option", "did you mean --destroy?"),
        (["--fail_if=iops > 1"], "--fail_if is not an option", "did you mean --fail-if?"),
        (["--disksdp=-b4k"], "--disksdp is not an option", "did you mean --diskspd?"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(runner: Runner, capsys, arguments, message, hint) -> None:
    assert run(*JOB, *arguments) == status.USAGE
    assert capsys.readouterr().err == f"error: {message}\nhint: {hint}\n"
    assert not vars(runner.request)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-if=write.p99 > 1ms"], "no job issues a write"),
        (["--output=missing/result.txt"], "there is no directory missing"),
        (["--request-log=."], "is a directory"),
        (["--write_bw_log=x", "--log_avg_msec=7"], "10 ms is the shortest"),
        (["--write_bw_log=x", "--log_avg_msec=100", "--interval=1s"], "not a multiple of the interval"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(runner: Runner, capsys, arguments, message) -> None:
    assert run(*JOB, *arguments) == status.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "\nhint: " in err
    assert not vars(runner.request)


@pytest.mark.parametrize(
    ("condition", "message"), [("p99 > 1", "lacks its unit"), ("job=x: p99 > 1ms", "there is no job 'x'")]
)
def test_a_condition_that_is_not_understood_is_wrong_usage(
    runner: Runner, capsys, condition: str, message: str
) -> None:
    assert run(*JOB, f"--fail-if={condition}") == status.USAGE
    assert message in capsys.readouterr().err
    assert not vars(runner.request)


def test_a_condition_that_holds_sets_the_status_after_the_results(runner: Runner, capsys) -> None:
    assert run(*JOB, "--fail-if=p99 > 1us", "--fail-if", "iops < 1") == status.VIOLATED
    out, err = capsys.readouterr()
    assert "randread" in out
    assert err.endswith("failed: reader: read lat p99 is 50.00 us (p99 > 1us)\n")


def test_a_condition_that_cannot_be_judged_is_an_error(runner: Runner, capsys) -> None:
    assert run(*JOB, "--fail-if=p99.99 > 1s") == status.ERROR
    err = capsys.readouterr().err
    assert "error: reader: read lat p99.99 cannot be judged: it needs 100,000 samples and has 2,000" in err
    assert "hint: run 50 times as long" in err


def test_an_interrupted_run_is_reported(runner: Runner, capsys) -> None:
    runner.record_fields = {"stopped_by": "interrupt"}
    assert run(*JOB) == status.INTERRUPTED
    out, err = capsys.readouterr()
    assert "stopped by interrupt" in out
    assert err.endswith("interrupted: the results up to then are reported\n")


def test_a_run_that_failed_keeps_its_results(runner: Runner, capsys) -> None:
    runner.record_fields = {"stopped_by": "error", "error": "reader: read at 0 of /dev/sdx: EIO"}
    assert run(*JOB, "-v") == status.ERROR
    out, err = capsys.readouterr()
    assert "2,000 I/Os" in out
    assert "error: reader: read at 0 of /dev/sdx: EIO\nhint: the results up to then are reported above" in err


def test_a_run_that_failed_passes_no_check(runner: Runner, tmp_path: Path) -> None:
    runner.record_fields = {"stopped_by": "error", "error": "reader: read at 0 of /dev/sdx: EIO"}
    assert run(*JOB, "--fail-if=iops < 1", "--fail-if=p50 > 1us", "--check-results=x.xml") == status.ERROR
    written = (tmp_path / "x.xml").read_text()
    assert 'failures="1" errors="1"' in written
    assert "cannot be judged: reader: read at 0 of /dev/sdx: EIO (iops &lt; 1)" in written


def test_the_jobs_can_be_shown_without_running_them(runner: Runner, capsys) -> None:
    assert run(*JOB, "--bs=8k", "--parse-only") == status.OK
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "[reader]"
    assert "bs=8k" in shown.splitlines()
    assert run(*JOB, "--parse-only", "--output-format=json") == status.OK
    assert json.loads(capsys.readouterr().out)["jobs"][0]["name"] == "reader"
    assert not vars(runner.request)


def test_a_jobs_logs_are_written_and_set_the_interval(runner: Runner, tmp_path: Path) -> None:
    assert run(*JOB, "--write_iops_log=out", "--log_avg_msec=500") == status.OK
    assert runner.request.interval_ns == 500_000_000
    assert (tmp_path / "out_iops.1.log").read_text().splitlines() == [
        f"{time_ms}, 2000, 0, 0, 0" for time_ms in (1_000, 2_000, 3_000)
    ]


def test_logs_of_every_request_are_made_of_a_spill(runner: Runner, tmp_path: Path) -> None:
    assert run(*JOB, "--write_lat_log=out") == status.OK
    assert not runner.request.log_drops
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out_clat.1.log",
        "out_lat.1.log",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 5 * 10**8),
        ("1", 10**9),
        ("1.5s", 15 * 10**8),
        ("2m", 120 * 10**9),
        ("1m30s", 90 * 10**9),
        ("1d", 86_400 * 10**9),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert time_ns(text, name="--x") == expected


@pytest.mark.parametrize("text", ["1_000", "1e3", "inf", "10sec", " 1", ""])
def test_times_are_those_of_job_files(text: str) -> None:
    with pytest.raises(status.UsageError) as caught:
        time_ns(text, name="--x")
    assert str(caught.value).startswith(f"--x {text}: ")
    assert caught.value.hint


def test_options_are_listed_and_searched(capsys) -> None:
    assert cli.main(["options"]) == status.OK
    assert "  rw=" in capsys.readouterr().out
    assert cli.main(["options", "poisson"]) == status.OK
    assert "rate_process=" in capsys.readouterr().out
    assert cli.main(["options", "xyzzy"]) == status.USAGE


def test_jobs_that_are_only_shown_are_not_looked_at(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(outputs, "Claims", None)
    for option in ("--parse-only", "--showcmd"):
        assert run(*JOB, option) == status.OK
        assert "reader" in capsys.readouterr().out
