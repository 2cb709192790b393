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


def test_names_of_suites_and_quantiles_are_checked(tmp_path: Path) -> None:
    saved = iogauge.review(
        "model:p4800x", suites="queue-depth", runtime="100ms", output=tmp_path / "saved", seed=1
    )
    assert [suite.plan.suite for suite in iogauge.open_review(saved, suites="queue-depth")] == ["queue-depth"]
    position = saved.suite("queue-depth").positions[0]
    for q in (0, 1, 99, -1):
        with pytest.raises(iogauge.IogaugeError, match="must be above 0 and below 1"):
            position.figures.quantile(q)
    for seed in (-1, 1.5, 2**64):
        with pytest.raises(iogauge.UsageError, match=r"seed .*: must be a whole number"):
            iogauge.run(WRITE, target="model:p4800x", seed=seed)
    comparison = iogauge.compare(saved, "published", suites="queue-depth")
    assert comparison.findings
    assert set(comparison.findings) <= {
        finding for entry in comparison.to_dict() for finding in entry["findings"]
    }
    table = comparison.to_arrow()
    assert table.num_rows == sum(len(entry["figures"]) for entry in comparison.to_dict()) > 0
