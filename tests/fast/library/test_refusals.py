"""Refusals name what their reader has: the arguments of the library, or the options of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge.cli import main

OPTION = re.compile(r"(?<![\w-])--[a-z]")
WRITE = "[w]\nrw=write\nsize=1m\n"


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What is refused, and its hint."""
    with pytest.raises(iogauge.IogaugeError) as caught:
        call(*arguments, **options)
    return f"{caught.value} {caught.value.hint}"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_bytes(b"x" * 2**20)
    return path


def test_the_library_names_its_arguments(precious: Path, tmp_path: Path) -> None:
    refusals = {
        refused(iogauge.run, WRITE, target=precious): f"destroy=['{precious}']",
        refused(iogauge.run, WRITE, target="model:ram", readonly=True): "leave out readonly=True",
        refused(iogauge.run, WRITE, target="model:ram", fail_if=["x"]): "fail_if 'x'",
        refused(iogauge.review): "resume='DIRECTORY'",
        refused(iogauge.review, ["a", "a"]): "see repeats",
        refused(iogauge.review, "model:ram", resume="x", pace="full"): "targets, pace cannot be",
        refused(iogauge.review, "model:ram", until_supported=2): "until_supported=0.99999",
        refused(iogauge.plan, "/dev/elsewhere", program="fio"): "size='100g'",
        refused(iogauge.review, "model:ram", output=precious.parent): f"iogauge.review(resume='{tmp_path}')",
    }
    for text, words in refusals.items():
        assert words in text
        assert not OPTION.search(text)


def test_the_command_line_names_its_options(precious: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name=w", "--rw=write", "--size=1m", f"--filename={precious}"]) == 1
    assert f"--destroy {precious}" in capsys.readouterr().err
    assert main(["review", "model:ram", "--resume=x", "--pace=full"]) == 2
    assert (
        "--resume continues a review as it was planned: TARGET, --pace cannot be" in capsys.readouterr().err
    )
    # Afterwards the process is the library's again.
    assert "destroy=[" in refused(iogauge.run, WRITE, target=precious)


def test_a_single_name_need_not_be_in_a_list(tmp_path: Path) -> None:
    drive = tmp_path / "drive.bin"
    drive.write_bytes(bytes(1 << 20))
    jobs = ["--name=x", f"--filename={drive}", "--rw=write", "--bs=4k", "--size=1m", "--number_ios=4"]
    with pytest.raises(iogauge.IogaugeError, match="exists"):
        iogauge.run(jobs, destroy="x", ceiling=False)
    assert iogauge.run(jobs, destroy=str(drive), section="x", fail_if="write.max > 1s", ceiling=False)
