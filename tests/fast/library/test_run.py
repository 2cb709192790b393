"""``iogauge.run``: what it takes, returns and raises; the command is made of the same parts (tests/fast/cli/run)."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.errors import ConditionError, Interrupted
from iogauge.schema import JobFile
from iogauge.workload import parse

JOB = "[reads]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=4\nruntime=12\ntime_based=1\n"
MODEL = "model:p4800x"


@pytest.fixture(scope="module")
def result() -> iogauge.RunResult:
    return iogauge.run(JOB, target=MODEL, seed=1)


def test_figures_have_intervals(result: iogauge.RunResult) -> None:
    reads = result["reads"].read
    assert reads.ios == result.record.result.rows[0].tallies[reads.direction].ios
    assert reads.bytes == 4096 * reads.ios
    for figure in (reads.lat.mean, reads.lat.quantile(0.5), reads.lat.quantile(0.999)):
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.value <= figure.high
        assert figure.supported
    assert reads.iops.value == pytest.approx(reads.ios / 12, rel=1e-3)
    assert reads.bandwidth_Bps.value == pytest.approx(4096 * reads.iops.value)
    assert reads.lat.max_ns >= reads.lat.quantile(0.999).value
    assert reads.response.mean.value == reads.lat.mean.value


def test_an_unsupported_quantile_says_so(result: iogauge.RunResult) -> None:
    rare = result["reads"].read.lat.quantile(0.99999999)
    assert not rare.supported
    assert rare.needed > rare.count
    assert str(rare).startswith("~")


def test_what_a_job_does_not_do_is_zero(result: iogauge.RunResult) -> None:
    writes = result["reads"].write
    assert (writes.ios, writes.bytes, writes.errors, writes.iops.value) == (0, 0, {}, 0.0)
    with pytest.raises(iogauge.IogaugeError, match="reads, write: nothing completed"):
        _ = writes.lat


def test_a_wrong_name_says_what_there_is(result: iogauge.RunResult) -> None:
    with pytest.raises(KeyError, match="reads"):
        result["writes"]
    with pytest.raises(iogauge.UsageError, match="there is no latency 'x'"):
        result["reads"].read.latency("x")
    with pytest.raises(iogauge.UsageError, match="above 0 and below 1"):
        result["reads"].read.lat.quantile(99.9)


def test_its_text_is_the_commands_table(result: iogauge.RunResult) -> None:
    assert str(result).startswith("reads: randread, 4 KiB, libaio, iodepth 4, 1 worker, 12.000 s measured\n")
    assert json.loads(json.dumps(result.to_dict()))["jobs"][0]["jobname"] == "reads"
    assert [job.name for job in result] == ["reads"]


def test_jobs_are_taken_from_files_options_text_and_objects(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text(JOB)
    options = ["--name=reads", *(f"--{line}" for line in JOB.splitlines()[1:])]
    totals = {
        iogauge.run(jobs, target=MODEL, seed=1)["reads"].read.ios
        for jobs in (file, str(file), JOB, options, parse(JOB, source="x"))
    }
    assert len(totals) == 1


def test_a_target_takes_the_place_of_files(tmp_path: Path) -> None:
    job = JOB + f"directory={tmp_path}\n"
    done = iogauge.run(job, target=MODEL, seed=1)
    assert [facts.path for facts in done.record.targets] == [MODEL]
    assert done.record.jobs.options[0]["filename"] == MODEL
    assert JobFile.model_validate_json(done.record.jobs.model_dump_json()) == done.record.jobs
    assert list(tmp_path.iterdir()) == []


def test_a_section_is_run_alone() -> None:
    done = iogauge.run(JOB + JOB.replace("reads", "others"), target=MODEL, section=["others"], seed=1)
    assert list(done.jobs) == ["others"]


def test_progress_comes_to_a_callback_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[iogauge.Progress] = []
    iogauge.run(JOB, target=MODEL, seed=1, on_progress=heard.append)
    assert [heard[0].event, heard[-1].event] == ["begin", "end"]
    assert {news.event for news in heard[1:-1]} == {"interval"}
    assert len(heard) >= 14
    assert heard[0].step == MODEL
    assert (heard[0].expected_s, heard[6].elapsed_s) == (12.0, 6.0)
    assert str(heard[0]) == "model:p4800x, about 12 s"
    assert str(heard[6]).startswith("model:p4800x: 6 s in, read ")
    assert capfd.readouterr() == ("", "")


def test_a_condition_is_an_error_that_has_the_result() -> None:
    with pytest.raises(ConditionError) as caught:
        iogauge.run(JOB, target=MODEL, seed=1, fail_if=["p99 > 1us"])
    assert caught.value.result is not None
    assert caught.value.result["reads"].read.ios
    assert not caught.value.violations[0].unknown
    iogauge.run(JOB, target=MODEL, seed=1, fail_if=["p99 > 1s"])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"interval": "1ms"}, "interval: '1ms' is shorter than 10 ms"),
        ({"interval": 120}, "interval: 120 is longer than a minute"),
        ({"give_up": "x"}, "give_up x: is not a time"),
        ({"log_overflow": "lose"}, "log_overflow: 'lose' is not wait or drop"),
    ],
)
def test_wrong_arguments_are_refused(argument: dict[str, object], message: str) -> None:
    with pytest.raises(iogauge.UsageError, match=message) as caught:
        iogauge.run(JOB, target=MODEL, **argument)  # type: ignore[arg-type]
    assert caught.value.hint


def test_it_refuses_what_the_command_refuses(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * 2**20)
    with pytest.raises(iogauge.IogaugeError, match="precious") as caught:
        iogauge.run("[w]\nrw=write\nsize=1m\n", target=precious)
    assert "destroy" in str(caught.value.hint)
    assert precious.read_bytes() == b"x" * 2**20
    with pytest.raises(iogauge.IogaugeError):
        iogauge.run("[w]\nrw=write\n", target=MODEL, readonly=True)
    with pytest.raises(iogauge.IogaugeError, match="no job to run"):
        iogauge.run([])


def test_requests_are_logged(tmp_path: Path) -> None:
    import pyarrow.parquet

    log = tmp_path / "log.parquet"
    done = iogauge.run(JOB.replace("12", "1"), target=MODEL, seed=1, request_log=log)
    assert pyarrow.parquet.read_table(log).num_rows == done["reads"].read.ios
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_logs_of_a_run_that_was_killed_are_made(tmp_path: Path) -> None:
    def kill(news: iogauge.Progress) -> None:
        if news.event == "interval":
            raise RuntimeError

    log = tmp_path / "log.parquet"
    with pytest.raises(RuntimeError):
        iogauge.run(JOB, target=MODEL, seed=1, request_log=log, on_progress=kill)
    (spill,) = tmp_path.glob("iogauge-*.spill")
    assert iogauge.recover(spill) == [log]
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_ctrl_c_ends_a_run_and_keeps_what_it_measured() -> None:
    before = signal.getsignal(signal.SIGINT)
    job = ["--name=x", "--ioengine=null", "--size=1g", "--rw=randread", "--runtime=600", "--time_based"]
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(Interrupted) as caught:
        iogauge.run(job, ceiling=False)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.result is not None
    assert caught.value.result["x"].read.ios
    assert signal.getsignal(signal.SIGINT) is before


DISKSPD = "-d1 -W1 -b4k -w30 -r -o4 -t2 -g4000 -h -L model:ram@ideal"


def test_a_diskspd_command_line_is_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    notes: list[str] = []
    done = iogauge.run(diskspd=DISKSPD, seed=1, on_progress=lambda news: notes.append(news.message))
    assert done["diskspd"].read.ios > done["diskspd"].write.ios > 0
    assert "the written data is random" in " ".join(notes)
    assert main(["run", "--seed=1", "--diskspd", DISKSPD]) == 0
    assert capsys.readouterr().out.startswith(done.to_text())
    coarse = iogauge.run(diskspd=DISKSPD.replace("-L", "-L -D250"), seed=1)
    assert coarse.record.plan.interval_ns == 250_000_000


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"jobs": "job.fio", "diskspd": DISKSPD}, "diskspd excludes other jobs", "diskspd='-b4k"),
        ({"diskspd": DISKSPD, "section": ["x"]}, r"section=\['x'\] needs a job file", "leave section out"),
        ({"diskspd": "-b4k 'x"}, "diskspd: no closing quotation", "close the quotes"),
        ({"diskspd": "-Rxml x.dat"}, "is not a supported output format", "to_dict"),
    ],
)
def test_what_diskspd_cannot_be_is_refused(arguments: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(iogauge.IogaugeError, match=message) as caught:
        iogauge.run(**arguments)
    assert hint in str(caught.value.hint)
