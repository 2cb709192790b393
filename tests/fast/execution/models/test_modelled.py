"""Jobs on drive models: what fio's options mean to a real drive they mean to a model, and a seed repeats it all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iogauge import catalog, workload
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.execution import execute
from iogauge.execution.log.spill import LOG_RECORD, Spill
from iogauge.schema import Direction, Interval, Kind, RunRecord
from iogauge.stats.histogram import Histogram

SECOND_NS = 10**9


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(*options: str, target: str = "model:p4800x", name: str = "x") -> list[str]:
    """A job's options; a fifth of a second of random 4k reads, unless ``options`` say otherwise."""
    fields = {"filename": target, "rw": "randread", "bs": "4k", "runtime": "200ms", "time_based": "1"}
    fields |= dict(option.partition("=")[::2] for option in options)
    return [f"--name={name}", *(f"--{key}={value}" if value else f"--{key}" for key, value in fields.items())]


def run(*arguments: str, seed: int = 1, **fields) -> RunRecord:
    """The record of these jobs."""
    return execute(workload.from_arguments(arguments), seed=seed, **fields)


def ios(record: RunRecord, direction: Direction = Direction.READ, row: int = 0) -> int:
    """How many requests of a row completed."""
    tally = record.result.rows[row].tallies.get(direction)
    return tally.ios if tally else 0


def mean_ns(record: RunRecord, direction: Direction = Direction.READ, row: int = 0) -> float:
    """The mean lat of a row."""
    exact = record.result.rows[row].tallies[direction].exact[Kind.LAT]
    return exact.sum_ns / exact.count


MIXED = [
    *job("rw=randrw", "iodepth=8", "ioengine=libaio", "numjobs=2", "bsrange=4k-32k", name="mixed"),
    *job("rw=randwrite", "rate_iops=2000", "rate_process=poisson", name="paced"),
]


def test_one_seed_gives_one_run_and_another_another() -> None:
    intervals: dict[str, list[Interval]] = {}
    logs, results = {}, {}
    for name, seed in (("one", 5), ("same", 5), ("other", 6)):
        intervals[name] = []
        spill = Spill.create(Path(), request_log=None)
        options = [*MIXED, "--randrepeat=0"]
        record = run(*options, seed=seed, spill=spill, on_interval=intervals[name].append, interval_ns=10**8)
        results[name] = record.result
        logs[name] = b"".join(records.tobytes() for records in spill.records())
        assert spill.failure is None
        assert (
            spill.kept
            == len(logs[name]) // LOG_RECORD.itemsize
            == sum(tally.ios for row in record.result.rows for tally in row.tallies.values())
        )
    assert results["one"] == results["same"]
    assert intervals["one"] == intervals["same"]
    assert logs["one"] == logs["same"]
    assert results["one"] != results["other"]
    assert logs["one"] != logs["other"]


def test_stonewalled_jobs_run_one_after_the_other() -> None:
    stages: dict[int, int] = {}
    record = run(
        *job(name="first"),
        *job("stonewall=1", "rw=randwrite", name="second"),
        on_interval=lambda interval: stages.update({interval.stage: interval.end_ns}),
    )
    assert [row.stage for row in record.result.rows] == [0, 1]
    assert record.result.elapsed_ns == pytest.approx(0.4 * SECOND_NS, rel=1e-3)
    assert stages.keys() == {0, 1}


def test_several_drives_in_one_job_file() -> None:
    record = run(
        *job("filename=model:p4800x:model:p4800x-750g", name="both"),
        *job("rw=randwrite", target="model:ram@anandtech-linux", name="memory"),
    )
    drives = {drive.path: drive for drive in record.result.drives}
    assert list(drives) == ["model:p4800x", "model:p4800x-750g", "model:ram@anandtech-linux"]
    # What reads cost came on top of an idle floor.
    assert drives["model:p4800x"].energy_J > 1.01 * 5 * 0.2
    assert drives["model:p4800x-750g"].energy_J > 1.01 * 6 * 0.2
    assert mean_ns(record, Direction.WRITE, row=1) < mean_ns(record) / 2


def test_jobs_on_one_drive_share_it() -> None:
    alone = run(*job("iodepth=16", "ioengine=libaio", name="a"))
    together = run(*(option for name in "abcd" for option in job("iodepth=16", "ioengine=libaio", name=name)))
    assert len(together.result.drives) == 1
    assert mean_ns(together) > 1.5 * mean_ns(alone)


def test_a_rate_is_kept() -> None:
    record = run(*job("rate_iops=5000", "runtime=1"))
    assert ios(record) == 5000
    assert record.result.workers[0].overdue == 0


def test_more_than_a_drive_takes_is_queued_for_the_load() -> None:
    record = run(*job("rate_iops=200000"))
    tally = record.result.rows[0].tallies[Direction.READ]
    queued = Histogram.decode(tally.histograms[Kind.QUEUED])
    assert queued.quantile(0.5) > 10 * mean_ns(record)
    assert record.result.workers[0].overdue > 1000


def test_a_mix_is_mixed() -> None:
    record = run(*job("rw=randrw", "rwmixread=70"))
    reads, writes = ios(record), ios(record, Direction.WRITE)
    assert reads / (reads + writes) == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("drive", ["p4800x", "p3700-800g", "mx300"])
def test_trims_and_syncs_are_served(drive: str) -> None:
    trims = run(*job("rw=randtrim", target=f"model:{drive}"))
    assert ios(trims, Direction.TRIM) > 100
    synced = run(*job("rw=randwrite", "fsync=8", target=f"model:{drive}"))
    assert ios(synced, Direction.WRITE) > 10
    assert ios(synced, Direction.SYNC) == pytest.approx(ios(synced, Direction.WRITE) / 8, abs=1)


@pytest.mark.parametrize("drive", catalog.shipped("drive"))
def test_every_drive_takes_any_job_and_repeats(drive: str) -> None:
    jobs = [
        *job("rw=randrw", "runtime=20ms", "iodepth=8", "ioengine=libaio", "bsrange=512-256k",
             target=f"model:{drive}", name="mixed"),
        *job("rw=write", "bs=128k", "runtime=20ms", "sync=1", target=f"model:{drive}", name="log"),
    ]  # fmt: skip
    one = run(*jobs)
    assert all(row.tallies for row in one.result.rows)
    assert one.result.error is None
    assert one.result.drives[0].energy_J >= 0
    assert run(*jobs).result == one.result


@pytest.mark.parametrize("engine", ["psync", "pvsync2", "libaio", "io_uring"])
def test_every_engine_has_a_cost_of_its_own(engine: str) -> None:
    alone = run(*job(f"ioengine={engine}"))
    assert 8_000 < mean_ns(alone) < 20_000
    deep = run(*job(f"ioengine={engine}", "iodepth=4"))
    if engine in ("libaio", "io_uring"):
        assert ios(deep) > 2 * ios(alone)
    else:  # as in fio, what blocks has a depth of one
        assert ios(deep) == ios(alone)


@pytest.mark.parametrize("engine", ["pvsync2", "io_uring"])
def test_polling_is_quicker_and_burns_cpu(engine: str) -> None:
    sleeping, polling = run(*job(f"ioengine={engine}")), run(*job(f"ioengine={engine}", "hipri=1"))
    wake_ns = catalog.machine("anandtech-linux").parameters["wake_ns"]
    assert mean_ns(sleeping) - mean_ns(polling) == pytest.approx(wake_ns, rel=0.2)
    assert polling.result.workers[0].user_ns > 0.99 * 0.2 * SECOND_NS
    assert sleeping.result.workers[0].user_ns < 0.5 * 0.2 * SECOND_NS


def test_thought_takes_its_time() -> None:
    record = run(*job("thinktime=1ms", "runtime=1"))
    assert ios(record) == pytest.approx(1e9 / (1e6 + mean_ns(record)), rel=0.01)


def test_a_ramp_is_left_out() -> None:
    ramps: set[bool] = set()
    record = run(
        *job("ramp_time=100ms"), on_interval=lambda interval: ramps.add(interval.ramp), interval_ns=10**7
    )
    (row,) = record.result.rows
    assert row.start_ns == SECOND_NS // 10
    assert row.end_ns - row.start_ns == pytest.approx(0.2 * SECOND_NS, rel=1e-3)
    assert ramps == {True, False}
    assert abs(record.result.workers[0].submit_calls - ios(record)) <= 1


def test_an_amount_ends_a_job() -> None:
    assert ios(run("--name=x", "--filename=model:p4800x", "--rw=randread", "--number_ios=123")) == 123
    written = run("--name=x", "--filename=model:p4800x", "--rw=write", "--bs=1m", "--size=64m")
    assert ios(written, Direction.WRITE) == 64


def test_a_job_without_a_size_has_the_whole_drive() -> None:
    record = run(*job())
    (file,) = record.plan.stages[0].workers[0].files
    assert file.region_bytes == 375083606016


@pytest.mark.parametrize(
    "target",
    ["model:p4800x", r"model\:p4800x", "model:p4800x-375g", "model:p4800x@anandtech-linux"],
)
def test_names_of_one_model_lead_to_one_run(target: str) -> None:
    assert ios(run(*job(target=target))) == ios(run(*job()))


@pytest.mark.parametrize("target", ["model:./mine.toml@linux-stock", r"model\:mine.toml@linux-stock"])
def test_a_file_of_one_s_own_behind_a_machine(target: str) -> None:
    Path("mine.toml").write_text(catalog.to_toml(catalog.drive("p4800x")))
    record = run(*job(target=target))
    (facts,) = record.targets
    assert facts.modelled is not None
    assert (facts.modelled.drive, facts.modelled.machine) == ("mine", "linux-stock")
    assert ios(record) == ios(run(*job(target="model:p4800x@linux-stock")))


@pytest.mark.parametrize(
    ("jobs", "message", "hint"),
    [
        (
            [*job(name="a"), *job("size=1m", target="real.bin", name="b")],
            "real.bin is real, and model:p4800x is a model",
            "separately",
        ),
        (
            [*job(name="a"), "--name=b", "--ioengine=null", "--size=1m"],
            "b: ioengine=null has no drive",
            "model:ram",
        ),
        (
            [*job(name="a"), *job(target="model:ram", name="b")],
            "model:p4800x is behind the machine anandtech-linux, and model:ram behind ideal",
            "write model:ram@anandtech-linux",
        ),
        (
            [*job(target="model:p4800x@ideal", name="a"), *job(target="model:p4800x", name="b")],
            "model:p4800x@ideal is behind the machine ideal, and model:p4800x behind anandtech-linux",
            "write model:p4800x@ideal",
        ),
    ],
)
def test_what_shares_no_clock_is_refused_before_anything_is_made(
    jobs: list[str], message: str, hint: str, folder: Path
) -> None:
    with pytest.raises(IogaugeError) as caught:
        run(*jobs)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")
    assert list(folder.iterdir()) == []


def test_the_table_says_what_was_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-v", *job()]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "x: randread, 4 KiB, psync, iodepth 1, 1 worker, 0.200 s measured"
    words = " ".join(out.split())
    assert "modelled p4800x-375g (version 1) behind anandtech-linux (version 1), in virtual time;" in words
    assert "drive      model:p4800x: " in out
    assert "generator" not in out
    assert err.splitlines()[0] == "model:p4800x"
    assert "done in" not in err


def test_json_and_percentiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--output-format=json+", *job("percentile_list=50:99")]) == 0
    output = json.loads(capsys.readouterr().out)
    (fio_job,) = output["jobs"]
    assert list(fio_job["read"]["clat_ns"]["percentile"]) == ["50.000000", "99.000000"]
    assert fio_job["read"]["runtime"] == 200
    assert output["disk_util"] == []
    beyond = output["iogauge"]
    assert beyond["clock"]["source"] == "virtual"
    assert beyond["ceiling"] is None
    assert beyond["targets"][0]["modelled"]["drive"] == "p4800x-375g"
    assert [drive["path"] for drive in beyond["drives"]] == ["model:p4800x"]


def test_fio_s_logs(folder: Path) -> None:
    options = job(
        "ioengine=libaio", "write_lat_log=x", "write_bw_log=x", "write_iops_log=x", "log_avg_msec=50"
    )
    assert main(["run", *options]) == 0
    for name in ("lat", "clat", "slat", "bw", "iops"):
        lines = (folder / f"x_{name}.1.log").read_text().splitlines()
        # What the last request took past the end is an interval of its own.
        assert [int(line.partition(",")[0]) for line in lines[:4]] == [50, 100, 150, 200], name


@pytest.mark.parametrize(
    ("condition", "code"), [("p50 > 1us", 3), ("p50 > 1ms", 0), ("p99.9999 > 1us", 3), ("p99.9999 > 1ms", 1)]
)
def test_a_condition_chooses_the_exit_status(condition: str, code: int) -> None:
    assert main(["run", *job(), "--fail-if", condition]) == code


def test_ctrl_c_ends_a_long_run_and_reports_it() -> None:
    endless = job("runtime=1000000", "rate_iops=1000", "write_iops_log=x", "log_avg_msec=10")
    command = [sys.executable, "-m", "iogauge", "run", *endless, "--output-format=json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "model:p4800x\n"
        log = Path("x_iops.1.log")
        while process.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: the results up to then are reported"
    output = json.loads(out)
    assert output["iogauge"]["stopped_by"] == "interrupt"
    assert output["jobs"][0]["read"]["total_ios"] > 1000
