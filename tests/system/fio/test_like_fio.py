"""Wrappers that call fio read iogauge's results: the same options, side by side with fio, on the null engine.

Terse lines are compared field by field in form, and in value where both must say the same. What fio's own tests of
percentiles look for is looked for here too: percentiles and bins where the options ask for them and nowhere else, equal
in terse and JSON, and equal to those of the log of every request.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.system.fio.calls import IOGAUGE, call

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")

NULL = [
    "--name=j",
    "--ioengine=null",
    "--size=4m",
    "--bs=4k",
    "--iodepth=4",
    "--randrepeat=0",
    "--norandommap",
]
PROPORTION = 1 / 128
"""How far a percentile of fio's may be from that of the samples."""


def both(*arguments: str, cwd: Path) -> tuple[str, str]:
    """Return what fio and iogauge print."""
    return call(["fio"], *arguments, cwd=cwd), call(IOGAUGE, *arguments, cwd=cwd)


def form(field: str) -> str:
    """Return a field with its digits left out: how it is written."""
    return re.sub(r"\d+", "0", field)


TERSE = {
    "plain": ["--rw=randread"],
    "mixed pattern": ["--rw=randrw", "--lat_percentiles=1"],
    "trims": ["--rw=randtrim"],
    "no percentiles": ["--rw=randrw", "--clat_percentiles=0"],
    "own percentiles": ["--rw=randrw", "--percentile_list=50:99:99.9"],
    "unified": ["--rw=randrw", "--unified_rw_reporting=1"],
    "both": ["--rw=randrw", "--unified_rw_reporting=both"],
    "no latencies": ["--rw=randrw", "--gtod_reduce=1"],
    "no clat": ["--rw=randrw", "--disable_clat=1"],
    "no lat": ["--rw=randrw", "--disable_lat=1", "--lat_percentiles=1", "--percentile_list=50"],
    "errors": ["--rw=randrw", "--continue_on_error=all", "--description=some text"],
    "group": ["--rw=randrw", "--numjobs=3", "--group_reporting"],
}


VERSIONS = [*((name, 3) for name in TERSE), *(("both", version) for version in (2, 4, 5))]


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_terse_lines_have_fios_fields(name: str, version: int, tmp_path: Path) -> None:
    theirs, ours = both(*NULL, *TERSE[name], "--minimal", f"--terse-version={version}", cwd=tmp_path)
    lines = [
        (a.split(";"), b.split(";")) for a, b in zip(theirs.splitlines(), ours.splitlines(), strict=True)
    ]
    named = 1 if version > 2 else None
    for fio_fields, our_fields in lines:
        assert len(fio_fields) == len(our_fields)
        for place, (a, b) in enumerate(zip(fio_fields, our_fields, strict=True)):
            if place != named:
                assert form(a) == form(b), f"field {place + 1}: fio {a}, iogauge {b}"
            if re.fullmatch(r"[\d.]+%=\d+", a):
                assert a.partition("=")[0] == b.partition("=")[0]


def test_what_a_job_moves_is_the_same_number(tmp_path: Path) -> None:
    theirs, ours = (text.split(";") for text in both(*NULL, "--rw=randread", "--minimal", cwd=tmp_path))
    for place in (0, 2, 3, 4, 5):
        assert theirs[place] == ours[place]


FORMATS = ["terse,json+", "json,json+", "normal,terse,json", "csv", "minimal,json"]


@pytest.mark.parametrize("formats", FORMATS)
def test_formats_are_fios_in_fios_order(formats: str, tmp_path: Path) -> None:
    def order(text: str) -> list[str]:
        marks = {"terse": r"(?m)^3;", "json": r'"fio version"', "bins": r'"bins"', "normal": r"(?m)^j: "}
        if text is theirs:
            marks["normal"] = r"Run status group"
        places = {name: match.start() for name, mark in marks.items() if (match := re.search(mark, text))}
        return sorted(places, key=lambda name: places[name])

    theirs, ours = both(*NULL, "--rw=randread", f"--output-format={formats}", cwd=tmp_path)
    assert order(theirs) == order(ours)


def documents(text: str) -> Iterable[dict[str, Any]]:
    """Yield the JSON documents of a text, one after the other."""
    reader, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = reader.raw_decode(text, at)
        yield document
        at += len(text[at:]) - len(text[at:].lstrip())


def test_reports_while_it_runs_are_cumulative_and_parse_as_fios(tmp_path: Path) -> None:
    load = ["--rw=randread", "--rate_iops=1000", "--runtime=3", "--time_based", "--output-format=json"]
    for text in both(*NULL, *load, "--status-interval=250ms", "--output=out.json", cwd=tmp_path):
        assert text == ""
    call(["fio"], *NULL, *load, "--status-interval=250ms", "--output=fio.json", cwd=tmp_path)
    ours = [document["jobs"][0]["read"] for document in documents((tmp_path / "out.json").read_text())]
    theirs = [document["jobs"][0]["read"] for document in documents((tmp_path / "fio.json").read_text())]
    # fio writes its last report, and others where a busy machine lets it.
    assert theirs
    assert len(ours) >= 3
    ios = [read["total_ios"] for read in ours]
    assert ios == sorted(ios)
    assert ios[0] < ios[-1]
    assert [read["clat_ns"]["N"] for read in ours] == ios
    assert theirs[0].keys() <= ours[0].keys()


LEFT_OUT = [
    [], ["--gtod_reduce=1"], ["--disable_lat=1"], ["--disable_clat=1"], ["--disable_slat=1"],
    ["--disable_lat=1", "--disable_clat=1", "--disable_slat=1"], ["--disable_bw_measurement=1"],
    ["--unified_rw_reporting=1"], ["--unified_rw_reporting=both"],
    ["--unified_rw_reporting=mixed", "--lat_percentiles=1"],
    ["--gtod_reduce=1", "--clat_percentiles=1"], ["--gtod_reduce=1", "--disable_slat=0", "--disable_clat=0"],
    ["--disable_clat=1", "--gtod_reduce=0"], ["--clat_percentiles=0", "--gtod_reduce=0"], ["--iodepth=1"],
    ["--ioengine=null", "--iodepth=1", "--disable_lat=1"],
]  # fmt: skip


@pytest.mark.parametrize("options", LEFT_OUT, ids=" ".join)
def test_json_has_samples_percentiles_and_bins_where_fio_has_them(options: list[str], tmp_path: Path) -> None:
    job = [*NULL, "--rw=randrw", "--fsync=8", "--slat_percentiles=1", "--output-format=json+", *options]
    theirs, ours = (json.loads(text)["jobs"][0] for text in both(*job, cwd=tmp_path))

    def seen(job: dict[str, Any]) -> dict[str, list[tuple[bool, bool, bool]]]:
        return {
            name: [
                (job[name][kind]["N"] > 0, "percentile" in job[name][kind], "bins" in job[name][kind])
                for kind in ("slat_ns", "clat_ns", "lat_ns")
                if kind in job[name]
            ]
            for name in ("read", "write", "trim", "mixed", "sync")
            if name in job
        }

    assert seen(theirs) == seen(ours)
    classes = ("latency_ns", "latency_us", "latency_ms")
    assert bool(sum(sum(theirs[name].values()) for name in classes)) == bool(
        sum(sum(ours[name].values()) for name in classes)
    )


LOGS_LEFT_OUT = [
    [], ["--gtod_reduce=1"], ["--gtod_reduce=1", "--disable_slat=0"], ["--gtod_reduce=1", "--disable_clat=0"],
    ["--disable_bw_measurement=1"], ["--disable_lat=1", "--disable_clat=1", "--disable_slat=1"],
    ["--disable_bw_measurement=1", "--disable_clat=1", "--disable_slat=1"],
]  # fmt: skip


@pytest.mark.parametrize("window", [[], ["--log_avg_msec=100"]], ids=["requests", "averages"])
@pytest.mark.parametrize("options", LOGS_LEFT_OUT, ids=" ".join)
def test_logs_are_empty_where_fios_are(options: list[str], window: list[str], tmp_path: Path) -> None:
    # fio writes averages from a thread of its own, which may miss a few windows on a busy machine.
    runtime = "--runtime=1500ms" if window else "--runtime=400ms"
    job = [*NULL, "--rw=randread", "--rate_iops=1000", runtime, "--time_based", *options, *window]
    for name, program in {"fio": ["fio"], "iogauge": IOGAUGE}.items():
        (tmp_path / name).mkdir()
        logs = ["--write_bw_log=x", "--write_iops_log=x", "--write_lat_log=x"]
        call(program, *job, *logs, cwd=tmp_path / name)
    theirs, ours = (
        {path.name: path.stat().st_size > 0 for path in (tmp_path / name).iterdir()}
        for name in ("fio", "iogauge")
    )
    assert theirs == ours


def test_percentiles_are_those_of_the_log_of_every_request(tmp_path: Path) -> None:
    options = [
        "--rw=randrw",
        "--slat_percentiles=1",
        "--lat_percentiles=1",
        "--number_ios=20000",
        "--size=1g",
    ]
    text = call(IOGAUGE, *NULL, *options, "--write_lat_log=log", "--output-format=terse,json+", cwd=tmp_path)
    terse, _, rest = text.partition("\n")
    job = json.loads(rest)["jobs"][0]
    for number, name in enumerate(("read", "write")):
        for kind in ("slat", "clat", "lat"):
            lines = [line.split(", ") for line in (tmp_path / f"log_{kind}.1.log").read_text().splitlines()]
            values = sorted(int(line[1]) for line in lines if int(line[2]) == number)
            latency = job[name][f"{kind}_ns"]
            assert len(values) == job[name]["total_ios"] == latency["N"] == sum(latency["bins"].values())
            for percentile, value in latency["percentile"].items():
                true = values[max(math.ceil(float(percentile) / 100 * len(values)) - 1, 0)]
                assert abs(value - true) <= true * PROPORTION
        first = 5 + number * 41 + 12
        lat = job[name]["lat_ns"]["percentile"]
        assert terse.split(";")[first : first + 17] == [
            f"{key}%={value // 1000}" for key, value in lat.items()
        ]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--rw=randread", "--max_latency=1us"], 110),
        (["--rw=randwrite", "--max_latency=10s,1us"], 110),
        (["--rw=randread", "--max_latency=10s,1us"], 0),
        (["--rw=randread", "--max_latency=1us", "--disable_lat=1"], 0),
        (["--rw=randread", "--max_latency=1us", "--ramp_time=100ms"], 110),
    ],
)
def test_a_request_above_max_latency_ends_its_job_alone(
    options: list[str], error: int, tmp_path: Path
) -> None:
    limited = ["--name=limited", *options, "--runtime=200ms", "--time_based"]
    other = ["--name=other", "--rw=randread", "--number_ios=9"]
    files = ["--ioengine=psync", "--direct=1", "--filename=t", "--size=1m", "--bs=4k", "--output-format=json"]
    for name, program in (("fio", ["fio"]), ("iogauge", IOGAUGE)):
        folder = tmp_path / name
        folder.mkdir()
        done = subprocess.run(
            [*program, *files, *limited, *other], cwd=folder, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == bool(error), done.stderr
        first, second = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
        assert (first["error"], second["error"]) == (error, 0)
        assert second["read"]["total_ios"] == 9
        if error:
            # Others may be in flight, but not with one request at a time.
            assert first["read"]["total_ios"] + first["write"]["total_ios"] == 1


def test_the_command_shown_is_a_command_of_fios(tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text(
        "[a]\nrw=randread:8\nsize=1m\nioengine=null\ntime_based\nruntime=5\n[b]\nbs=8k\nsize=2m\n"
    )
    words = shlex.split(call(IOGAUGE, "a.fio", "--showcmd", cwd=tmp_path))
    assert words[:2] == ["iogauge", "run"]
    call(["fio", "--parse-only"], *words[2:], cwd=tmp_path)


@pytest.mark.parametrize("options", [["--section=a"], ["--section=b", "--section=a"]])
def test_sections_are_those_that_fio_runs(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text(
        "[global]\nioengine=null\nsize=1m\n[a]\n[c]\ninclude no/such\n[b]\nrw=write\n"
    )
    theirs, ours = both("a.fio", *options, "--minimal", cwd=tmp_path)
    assert [line.split(";")[2] for line in theirs.splitlines()] == [
        line.split(";")[2] for line in ours.splitlines()
    ]


@pytest.mark.parametrize("rw", ["read", "write", "randtrim", "randrw", "trimwrite"])
def test_readonly_refuses_what_fio_refuses(rw: str, tmp_path: Path) -> None:
    arguments = ["--name=j", "--ioengine=null", "--size=1m", f"--rw={rw}", "--readonly", "--minimal"]
    lines = [
        subprocess.run([*program, *arguments], capture_output=True, check=False, cwd=tmp_path).returncode
        for program in (["fio"], IOGAUGE)
    ]
    assert bool(lines[0]) == bool(lines[1]) == (rw != "read")
