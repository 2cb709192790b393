"""Every example runs, end to end by the command: without a drive, and on a file by its own engine.

Only sizes and times are cut down; what is asked for, how, and what comes of it is the example's own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from iogauge import cli, workload
from iogauge.cli.terminal import status
from iogauge.schema import Amount, EngineKind, Job, JobFile

FOLDER = Path(__file__).resolve().parents[3] / "examples"
EXAMPLES = sorted(FOLDER.glob("**/*.fio"))
SIZE_BYTES = 4 << 20
RUNTIME_NS = 60_000_000
RAMP_NS = 10_000_000

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def cut_down(job_file: JobFile, *, times: int = 1, **fields: object) -> JobFile:
    """The same jobs on a few megabytes and for a blink, or ``times`` as long; ``fields`` of every job besides."""

    def small(job: Job) -> Job:
        ramp_ns = RAMP_NS if job.ramp_time_ns else 0
        size = Amount(size_bytes=SIZE_BYTES)
        return job.model_copy(
            update={"size": size, "runtime_ns": times * RUNTIME_NS, "ramp_time_ns": ramp_ns, **fields}
        )

    return job_file.model_copy(update={"jobs": tuple(map(small, job_file.jobs))})


def measured(job_file: JobFile, folder: Path) -> list[dict[str, Any]]:
    """Run the jobs by the command line, and return those of its JSON."""
    path, output = folder / "example.fio", folder / "result.json"
    path.write_text(workload.to_fio(job_file))
    arguments = ["run", str(path), "--no-ceiling", "--output-format=json+", f"--output={output}"]
    assert cli.main(arguments) == status.OK
    jobs: list[dict[str, Any]] = json.loads(output.read_text())["jobs"]
    return jobs


def assert_does_its_work(job_file: JobFile, folder: Path, **fields: object) -> None:
    """Run the jobs, for longer where a busy machine gives one no turn, and check that each did its part."""
    expected = {(job.name, direction.value) for job in job_file.jobs for direction in job.rw.directions}
    for times in (1, 10, 100):
        results = measured(cut_down(job_file, times=times, **fields), folder)
        assert {result["jobname"] for result in results} == {job.name for job in job_file.jobs}
        idle = {(name, way) for name, way in expected if not total(results, name, way)}
        if not idle:
            return
    assert idle == set()


def total(results: list[dict[str, Any]], name: str, way: str) -> int:
    """How many requests of a direction a job completed."""
    return sum(result[way]["total_ios"] for result in results if result["jobname"] == name)


def engine_of(path: Path, target: Path) -> str:
    return workload.load(path, environ={"TARGET": str(target)}).jobs[0].ioengine.value


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to be made; logs and results are written beside it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "target.bin"


def test_there_are_examples() -> None:
    assert EXAMPLES


@each_example
def test_an_example_runs_without_a_drive(path: Path, target: Path) -> None:
    of_io_uring = {"fixedbufs": False, "registerfiles": False}
    job_file = workload.load(path, environ={"TARGET": str(target)})
    assert_does_its_work(job_file, target.parent, ioengine=EngineKind.NULL, **of_io_uring)
    assert not target.exists()


@each_example
def test_an_example_runs_on_a_file(path: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The plainest job of the example's engine: what this machine does not take, no example can do on it.
    probe = [f"--filename={target}", "--rw=write", "--bs=512", "--size=4m", "--direct=1", "--number_ios=1"]
    if cli.main(["run", "--name=probe", f"--ioengine={engine_of(path, target)}", *probe, "--no-ceiling"]):
        pytest.skip(capsys.readouterr().err.strip())
    assert_does_its_work(workload.load(path, environ={"TARGET": str(target)}), target.parent)
    assert target.stat().st_size == SIZE_BYTES


@each_example
def test_an_example_says_what_it_is_and_how_to_run_it(path: Path) -> None:
    opening = path.read_text().partition("\n[")[0]
    assert opening.startswith("; ")
    assert re.search(rf"^;   TARGET=\S+ iogauge run examples/{re.escape(path.name)}$", opening, re.MULTILINE)


@each_example
def test_an_example_that_writes_warns_of_it(path: Path, target: Path) -> None:
    jobs = workload.load(path, environ={"TARGET": str(target)}).jobs
    assert any(job.rw.writes for job in jobs) == ("OVERWRITES the target" in path.read_text())


def test_the_list_of_examples_is_complete() -> None:
    listed = re.findall(r"\]\(([^)]+\.fio)\)", (FOLDER / "README.md").read_text())
    assert sorted(listed) == [str(path.relative_to(FOLDER)) for path in EXAMPLES]
