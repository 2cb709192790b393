"""Every suite runs on every kind of target that needs no root: drive models, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.suites import DEFAULT, SUITES
from tests.suite_runs import (
    RUNTIME,
    announced,
    assert_as_announced,
    assert_whole,
    cut_down,
    reviewed,
    reviewed_whole,
)

WRITES, TIME = 3.0, 1.25
"""The factors within which the likely writes and the likely time of a review come true."""
TIMES = {"find": 2.0, "reader-under-writers": 2.0, "tenants": 2.0, "idle-power": 2.5}
"""The same for the time of suites whose number of steps follows from results; and of one in which the drive takes as
long to wake as a shortened step."""

RUNTIMES = {"find": "250ms"}
"""Where a drive's pauses decide: long enough to hold one."""

LONG = {"pts-composite", "pts-host-idle-recovery", "pts-iops", "tenants"}
"""Suites of many steps: slow on 3D XPoint, and left to a release on flash, where they take longer."""

SLOW = pytest.mark.slow

ON_FILES = {"commit-latency", "mixed", "pts-write-saturation", "quick", "write-pressure"}
"""Suites that run on files among the quick tests: requests of every kind, a search, repeats of a round. The others
run in real time: those of the default review are slow tests, the rest is left to a release."""
ON_FLASH = {"burst-credit", "idle-power", "mixed", "pts-write-saturation", "wake-latency", "write-pressure"}
"""Suites that run on flash among the quick tests: those whose steps or figures are others there."""


WITH_FINDINGS = sorted(set(SUITES) - {"write-pressure"})
"""Suites with findings; write pressure has only its growth."""


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Shorten the suites, and run in an empty directory."""
    cut_down(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return two small files that take direct I/O."""
    folder = tmp_path_factory.mktemp("targets")
    paths = [str(folder / name) for name in ("one.bin", "other.bin")]
    for path in paths:
        fill = ["--name=fill", f"--filename={path}", "--rw=write", "--bs=1m", "--size=32m", "--direct=1"]
        if main(["run", *fill, "--ioengine=libaio", "--no-ceiling"]):
            pytest.skip("this file system takes no direct I/O")
    return paths


@pytest.mark.parametrize(
    ("drive", "suite"),
    [
        *(pytest.param("p4800x", suite, marks=SLOW if suite in LONG else ()) for suite in SUITES),
        *(
            pytest.param(
                "960evo-250g",
                suite,
                marks=() if suite in ON_FLASH else pytest.mark.release if suite in LONG else SLOW,
            )
            for suite in SUITES
        ),
    ],
)
def test_on_a_drive_model(
    drive: str,
    suite: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    targets = [f"model:{drive}", "model:ram@anandtech-linux"]
    runtime = RUNTIMES.get(suite, RUNTIME)
    before = announced(suite, targets, monkeypatch, runtime=runtime)
    plan = reviewed(suite, targets, tmp_path / "r", capsys, f"--runtime={runtime}")
    assert_whole(plan)
    assert_as_announced(tmp_path / "r")
    before.assert_held(tmp_path / "r", time=TIMES.get(suite, TIME), writes=WRITES)
    assert bool(plan["findings"]) == (suite in WITH_FINDINGS)


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(
            suite, marks=() if suite in ON_FILES else SLOW if suite in DEFAULT else pytest.mark.release
        )
        for suite in SUITES
    ],
)
def test_on_a_file(suite: str, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reviewed_whole(suite, files, tmp_path, capsys, "--size=32m")
