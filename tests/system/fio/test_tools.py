"""iogauge's JSON has fio's keys and kinds of values, and fio's tools read iogauge's files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CONVERTER = shutil.which("fio_jsonplus_clat2csv")
PLOTTER = shutil.which("fio2gnuplot")
# Debian's tools need Debian's Python, whatever else comes first in PATH.
PYTHON = "/usr/bin/python3"

pytestmark = [
    pytest.mark.skipif(not shutil.which("fio"), reason="needs fio"),
    pytest.mark.skipif(os.geteuid() != 0, reason="system tests run as root"),
]

JOB = """
[global]
ioengine=null
size=1g
number_ios=1009
slat_percentiles=1
lat_percentiles=1
[mixed]
rw=randrw
bs=4k
iodepth=4
rate_iops=500
[group]
rw=randwrite
bs=8k
iodepth=8
numjobs=2
rate_iops=900
group_reporting
stonewall
"""


def iogauge(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "iogauge", "run", *arguments], cwd=cwd, check=True, timeout=600)


def fio(*arguments: str, cwd: Path) -> None:
    subprocess.run(["fio", *arguments], cwd=cwd, check=True, timeout=600, stdout=subprocess.DEVNULL)


def tool(path: str, *arguments: str, cwd: Path) -> str:
    command = [PYTHON, path, *arguments]
    return subprocess.run(command, cwd=cwd, check=True, timeout=600, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same job run by both, as json+."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "job.fio").write_text(JOB)
    fio("job.fio", "--output-format=json+", "--output=fio.json", cwd=folder)
    iogauge("job.fio", "--output-format=json+", "--output=ours.json", "--no-ceiling", cwd=folder)
    return folder


def shape(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key below ``value`` with its kind of value; what bins and percentiles hold is data, not shape."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}/{key}", kind(inner)
            if key not in ("bins", "percentile", "job options", "global options"):
                yield from shape(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from shape(inner, f"{path}[]")


def kind(value: object) -> str:
    return "number" if isinstance(value, int | float) else type(value).__name__


def test_every_key_of_fio_is_there_with_the_same_kind_of_value(measured: Path) -> None:
    theirs = dict(shape(json.loads((measured / "fio.json").read_text())))
    ours = dict(shape(json.loads((measured / "ours.json").read_text())))
    assert {key: kind for key, kind in theirs.items() if ours.get(key) != kind} == {}


def test_what_both_must_agree_on_agrees(measured: Path) -> None:
    theirs, ours = (json.loads((measured / name).read_text())["jobs"] for name in ("fio.json", "ours.json"))
    for name in ("jobname", "groupid", "latency_depth"):
        assert [job[name] for job in ours] == [job[name] for job in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert total(mine, "total_ios") == total(other, "total_ios")
        assert total(mine, "io_bytes") == total(other, "io_bytes")
        for place in ("read", "write"):
            assert mine[place]["iops"] * mine[place]["runtime"] == pytest.approx(
                1000 * mine[place]["total_ios"], rel=0.01
            )
            for latency in ("slat_ns", "clat_ns", "lat_ns"):
                percentiles = mine[place][latency].get("percentile", {})
                assert list(percentiles) == list(other[place][latency].get("percentile", {}))


def total(job: dict, figure: str) -> int:
    return sum(job[direction][figure] for direction in ("read", "write", "trim"))


@pytest.mark.skipif(not CONVERTER, reason="needs fio_jsonplus_clat2csv")
def test_fios_converter_reads_our_bins_and_agrees_with_them(measured: Path) -> None:
    assert CONVERTER
    tool(CONVERTER, "ours.json", "ours.csv", cwd=measured)
    validated = tool(CONVERTER, "ours.json", "ours.csv", "--validate", cwd=measured)
    jobs = json.loads((measured / "ours.json").read_text())["jobs"]
    assert validated.splitlines() == [f"ours_job{number}.csv validated" for number in range(len(jobs))]


@pytest.mark.parametrize("window", ["500", "0"])
def test_log_files_have_fios_names_and_columns(tmp_path: Path, window: str) -> None:
    options = [f"--write_{what}_log=x" for what in ("bw", "iops", "lat", "hist")] + ["--log_hist_msec=500"]
    options += [f"--log_avg_msec={window}"] if window != "0" else []
    job = [
        "--name=x",
        "--rw=randrw",
        "--ioengine=null",
        "--iodepth=2",
        "--size=1g",
        "--runtime=2",
        "--time_based",
        "--rate_iops=100",
    ]
    columns = {}
    for name, run in (("fio", fio), ("iogauge", iogauge)):
        folder = tmp_path / name
        folder.mkdir()
        run(*job, *options, cwd=folder)
        columns[name] = {
            path.name: {line.count(",") for line in path.read_text().splitlines()}
            for path in folder.iterdir()
            if path.suffix == ".log"
        }
    assert columns["iogauge"] == columns["fio"]


@pytest.mark.skipif(not PLOTTER, reason="needs fio2gnuplot")
def test_fios_plotter_reads_our_logs(tmp_path: Path) -> None:
    assert PLOTTER
    job = ["--name=x", "--rw=randread", "--ioengine=null", "--size=1g", "--runtime=2", "--time_based"]
    iogauge(*job, "--rate_iops=100", "--write_bw_log=x", "--log_avg_msec=500", "--no-ceiling", cwd=tmp_path)
    assert "x_bw.1.log" in tool(PLOTTER, "-p", "*_bw*.log", "-b", "-k", cwd=tmp_path)
    averages = (tmp_path / "_bw.average").read_text().splitlines()
    assert [float(line.split()[1]) for line in averages if line.startswith("0 ")] == [
        pytest.approx(400, rel=0.02)
    ]
