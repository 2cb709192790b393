"""Exporting a review: every suite becomes files of fio or DiskSpd, and steps without a counterpart are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.offline import PLAN, SCRIPTS, Program, export_steps, reasons
from iogauge.schema import Pace
from iogauge.store.review import load_manifest
from iogauge.suites import SUITES, suite_of
from tests import builders

TARGETS = {"file": "/tmp/drive{}.bin", "block": "/dev/nvme{}n1"}
CANNOT = {
    "wake-latency": r"DiskSpd waits whole milliseconds|thinktime_spin=\S+ has no counterpart",
    "commit-latency": r"fdatasync=1 has no counterpart",
    "stack-overhead": r"ioengine=null: DiskSpd needs a target",
    "pts-composite": r"bssplit=\S+ has no counterpart",
    "pts-write-saturation": r"DiskSpd ends only by time",
}
"""Why DiskSpd cannot run all steps of a suite."""


FILLS = r"ends with its bytes, .* over a known size"
"""Why DiskSpd cannot fill a drive that is used in full and whose size no job gives."""


@pytest.mark.parametrize(("kind", "pace"), [("file", "quick"), ("block", "full")])
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("program", SCRIPTS)
def test_every_suite_is_exported_except_what_diskspd_cannot_run(
    program: Program, suite: str, pace: Pace, kind: str, tmp_path: Path
) -> None:
    count = SUITES[suite].FEWEST_TARGETS
    targets = [
        builders.target(TARGETS[kind].format(n), kind=kind, size_bytes=10**12, model="Flash 9000")
        for n in range(count)
    ]
    manifest = new_manifest(
        [SUITES[suite]],
        targets,
        seed=1,
        command=(),
        machine=builders.manifest([]).machine,
        ceiling=None,
        pace=pace,
    )
    steps = [
        step for plan in manifest.plans for step in (*plan.steps, *([plan.search] if plan.search else []))
    ]
    allowed = [CANNOT[suite]] if suite in CANNOT else []
    allowed += [FILLS] if kind == "block" and suite.startswith("pts-") and pace == "full" else []
    impossible = suite == "pts-write-saturation" or (suite == "pts-composite" and len(allowed) == 2)
    if program == "diskspd" and impossible:
        with pytest.raises(IogaugeError, match="|".join(allowed)):
            export_steps(tmp_path / "jobs", manifest, program, suite_of)
        return
    written, held = export_steps(tmp_path / "jobs", manifest, program, suite_of)
    assert held == 0
    if program == "fio":
        assert written.impossible == {}
        assert set(written.files) == {"run.sh", *(f"{step.id}.fio" for step in steps)}
    for reason, hint, _ in reasons(written.impossible):
        assert any(re.search(pattern, reason) for pattern in allowed), reason
        assert hint
    if program == "diskspd" and suite in CANNOT:
        assert written.impossible
    exported = load_manifest(tmp_path / "jobs" / PLAN)
    assert exported.plans == manifest.plans
    assert {target.model for target in exported.targets} == {None}, "another machine has another drive there"
    assert exported.machine.hostname == "not known"
