"""Job files mean to iogauge what they mean to fio, by the trace of fio's parser, its summary and its JSON.

Every job file here is our own. Where fio's package brings example files, each of them gives fio's values as well, or
is refused. Needs fio, and neither root nor a device: jobs that run use the null engine.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.workload import from_arguments, load, parse, to_command, to_fio
from tests.fio_parser import AMOUNTS, DIRECTIONS, ENVIRON, SCALARS, assert_like_fio, fio
from tests.system.fio.sample_files import FILES

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")

OURS = Path(__file__).resolve().parents[3] / "examples"
EXAMPLES = Path("/usr/share/doc/fio/examples")


def write_files(folder: Path) -> None:
    (folder / "common.inc").write_text("bs=16k ; from a file\n\n# nothing\nrw=randwrite\n")
    (folder / "more.inc").write_text("runtime=10\ninclude deeper.inc\n")
    (folder / "deeper.inc").write_text("time_based\n")


def dedented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_fios_parser(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    path = tmp_path / f"{name}.fio"
    path.write_text(dedented(FILES[name]))
    assert assert_like_fio(path)


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_means_the_same_to_fio(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    jobs = parse(dedented(FILES[name]), source=name, base=tmp_path, environ=ENVIRON)
    path = tmp_path / "written.fio"
    path.write_text(to_fio(jobs))
    assert load(path).jobs == jobs.jobs
    assert_like_fio(path)


# With several [global] sections fio's command has the options of the second at the job before it, and it does not
# quote a blank in a name.
SHOWN = sorted(FILES.keys() - {"globals", "substitution"})


@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_of_fio_and_of_iogauge_are_the_same_jobs(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.fio"
    path.write_text(dedented(FILES[name]))
    jobs = load(path, environ=ENVIRON)
    theirs = shlex.split(fio("--showcmd", str(path), cwd=tmp_path).stdout)
    assert theirs[0] == "fio"
    assert from_arguments(theirs[1:]).jobs == from_arguments(to_command(jobs)).jobs == jobs.jobs
    assert fio("--parse-only", *to_command(jobs), cwd=tmp_path).returncode == 0


def test_every_numeric_option_is_compared(tmp_path: Path) -> None:
    compared: set[str] = set()
    write_files(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / f"{name}.fio"
        path.write_text(dedented(text))
        compared |= assert_like_fio(path)
    assert (SCALARS.keys() | AMOUNTS.keys() | DIRECTIONS.keys()) <= compared


SUMMARIES = """
    [global]
    ioengine=null
    size=1m
    number_ios=2
    [fixed]
    rw=randread
    bs=8k,32k
    [range]
    rw=randwrite
    bsrange=4k-64k,8k:16k
    iodepth=16
    [split]
    stonewall
    rw=randrw
    bssplit=4k/30:16k/70,8k/50:64k/,32k
    [mixed]
    bs=16k
    bssplit=,4k/10:8k/90,
    new_group
"""
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20}


def in_bytes(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(\w+)", text)
    assert match, text
    return float(match[1]) * UNITS[match[2]]


def test_block_sizes_and_groups_are_those_of_fios_summary(tmp_path: Path) -> None:
    path = tmp_path / "summary.fio"
    path.write_text(dedented(SUMMARIES))
    shown = fio(str(path), cwd=tmp_path).stdout
    groups = 0
    for job in load(path).jobs:
        match = re.search(
            rf"^{job.name}: \(g=(\d+)\): rw=(\w+), bs=(.*), ioengine=(\w+), iodepth=(\d+)$", shown, re.M
        )
        assert match, shown
        groups += job.stonewall or job.new_group
        rw = {"readwrite": "rw"}.get(job.rw.value, job.rw.value)
        assert (int(match[1]), match[2], match[4], int(match[5])) == (groups, rw, job.ioengine, job.iodepth)
        theirs = [
            in_bytes(end)
            for low_high in re.findall(r"\([RWT]\) (\S+?)(?:,|$)", match[3])
            for end in low_high.split("-")
        ]
        sizes = (job.bs.read, job.bs.write, job.bs.trim)
        assert theirs == [end for size in sizes for end in (size.minimum_bytes, size.maximum_bytes)]


def test_options_are_those_of_fios_json(tmp_path: Path) -> None:
    path = tmp_path / "options.fio"
    path.write_text(dedented(SUMMARIES))
    shown = json.loads(fio("--output-format=json", str(path), cwd=tmp_path).stdout)
    jobs = load(path)
    assert jobs.global_options == shown["global options"]
    for mine, theirs in zip(jobs.options, shown["jobs"], strict=True):
        # fio leaves bare flags out.
        assert {name: value for name, value in mine.items() if value} == {
            **shown["global options"],
            **theirs["job options"],
        }


REFUSED_BY_BOTH = (
    "iodepht=4", "rw=ranread", "rw = randread", "direct", "direct=2", "iodepth=", "iodepth=0", "size=", "filename=",
    "bsrange=4k", "sync=2", "rwmixread=101", "percentage_random=120", "rate_process=sometimes", "hipri",
    "fixedbufs", "percentile_list=101", "percentile_list=a", "runtime",
    "random_distribution=zoned:50/50:60/50", "random_distribution=pareto:2", "random_distribution=zipf:1",
    "random_distribution=zipf:1.2:3", "bssplit=4k/x:z/50", "percentage_sequential=1", "buffer_compress_percentage=101",
)  # fmt: skip


@pytest.mark.parametrize("line", REFUSED_BY_BOTH)
def test_what_fio_refuses_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.fio"
    path.write_text(f"[job]\n{line}\n")
    with pytest.raises(IogaugeError) as caught:
        load(path)
    assert f"{path}:2: [job]" in str(caught.value)
    assert caught.value.hint
    assert fio("--parse-only", str(path), cwd=tmp_path).returncode != 0


TOGETHER = ("rate=1m\nrate_iops=5", "size=1k\nbs=4k", "rate=1m\nrate_min=2m")


@pytest.mark.parametrize("lines", TOGETHER)
def test_what_fio_refuses_together_is_refused(lines: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.fio"
    path.write_text(f"[job]\nioengine=null\n{lines}\n")
    with pytest.raises(IogaugeError, match=r"bad\.fio:"):
        load(path)
    assert fio(str(path), cwd=tmp_path).returncode != 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.fio")), ids=lambda path: path.name)
def test_fios_own_examples_agree_or_are_refused(path: Path) -> None:
    try:
        load(path, environ=ENVIRON)
    except IogaugeError:
        return
    assert_like_fio(path)


@pytest.mark.parametrize("path", sorted(OURS.glob("*.fio")), ids=lambda path: path.name)
def test_our_examples_mean_the_same_to_fio(path: Path) -> None:
    assert assert_like_fio(path)
