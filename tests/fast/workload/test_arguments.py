"""Jobs from a command line, as fio reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.workload import from_arguments


def names_and_sizes(*arguments: str) -> list[tuple[str, int, bool]]:
    jobs = from_arguments(arguments, environ={}).jobs
    return [(job.name, job.bs.read.minimum_bytes, job.stonewall) for job in jobs]


def refusal(*arguments: str) -> IogaugeError:
    with pytest.raises(IogaugeError) as caught:
        from_arguments(arguments, environ={})
    assert caught.value.hint
    return caught.value


def test_options_before_the_first_job_are_defaults_for_all() -> None:
    assert names_and_sizes("--bs=8k", "--name=a", "--name=b", "--bs=16k", "--name=c") == [
        ("a", 8192, False), ("b", 16384, False), ("c", 8192, False),
    ]  # fmt: skip


def test_a_global_name_adds_defaults() -> None:
    assert names_and_sizes("--name=a", "--name=global", "--bs=8k", "--name=b") == [
        ("a", 4096, False),
        ("b", 8192, False),
    ]


def test_a_value_can_be_the_next_argument() -> None:
    job = from_arguments(["-name", "a", "--rw", "randwrite", "-bs", "8k", "--thread", "--size", "1m"]).jobs[0]
    assert (job.rw, job.bs.write.minimum_bytes, job.thread) == ("randwrite", 8192, True)


def test_the_engine_can_come_after_its_options() -> None:
    assert from_arguments(["--name=a", "--hipri", "--ioengine=io_uring"]).jobs[0].hipri


def test_variables_are_left_to_the_shell() -> None:
    assert "numjobs=$ncpus" in str(refusal("--name=a", "--numjobs=$ncpus"))


def test_job_files_come_after_the_jobs_and_wait_for_each_other(tmp_path: Path) -> None:
    first, second = tmp_path / "1.fio", tmp_path / "2.fio"
    first.write_text("[global]\ndirect=1\n[f1]\n[f2]\n")
    second.write_text("[global]\nrw=write\n[s1]\n[s2]\n")
    jobs = from_arguments([str(first), "--bs=8k", "--name=c", str(second)])
    assert [(job.name, job.bs.read.minimum_bytes, job.direct, job.stonewall) for job in jobs.jobs] == [
        ("c", 8192, False, False), ("f1", 8192, True, False), ("f2", 8192, True, False),
        ("s1", 4096, False, True), ("s2", 4096, False, False),
    ]  # fmt: skip
    assert jobs.source == "command line"


def test_a_job_file_alone_is_the_source(tmp_path: Path) -> None:
    path = tmp_path / "a.fio"
    path.write_text("[a]\nrw=randread\n")
    assert from_arguments([str(path)]).source == str(path)
    assert from_arguments(["--", str(path)]).jobs == from_arguments([str(path)]).jobs


def test_options_in_effect_are_stored() -> None:
    jobs = from_arguments(["--bs=8k", "--name=a", "--rw", "read", "--thread"])
    assert jobs.options == ({"bs": "8k", "rw": "read", "thread": ""},)
    assert jobs.global_options == {"bs": "8k"}


ERRORS = {
    ("--name=a", "--iodepht=4"): "argument 2: [a] --iodepht=4: is not an option",
    ("--name=a", "--iodepth=0"): "argument 2: [a] --iodepth=0: must be at least 1",
    ("--iodepth=0",): "argument 1: --iodepth=0: must be at least 1",
    ("--name=a", "--rw"): "argument 2: --rw: needs a value",
    ("--name=", "--rw=read"): "argument 1: --name=: needs a value",
    (
        "--name=a",
        "--unit_base=1",
    ): "argument 2: [a] --unit_base=1: fio's unit_base is supported only as unit_base=",
    ("--name=a", "--debug=parse"): "argument 2: [a] --debug=parse: is an option of fio's command line",
    ("--name=a", "--bs", "x"): "argument 2: [a] --bs x: is not a whole number",
    ("--name=a", "--description=a\nb"): "argument 2: --description=a\\nb: the value is not one line",
    ("no-such.fio",): "no-such.fio: No such file",
    ("--rw=read",): "command line: there is no job",
    (): "command line: there is no job",
    ("--name=a",) * 4097: "argument 4097: [a]: there are more than 4096 jobs",
    ("x",) * 10_001: "command line: there are too many arguments",
}


@pytest.mark.parametrize("arguments", ERRORS, ids=lambda arguments: " ".join(arguments[:3]) or "none")
def test_errors_name_the_argument(arguments: tuple[str, ...]) -> None:
    assert str(refusal(*arguments)).startswith(ERRORS[arguments])
