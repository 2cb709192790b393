"""Estimates the space that a review takes where the host keeps it, and where its files are made.

A review has, for each interval and row, a histogram of a few kilobytes, and for each step its record. The figures here
are above all that were measured for the published suites on drives, files and models (13 kB, 70 kB).
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from iogauge.fleet.host.drives import boot_id
from iogauge.fleet.host.messages import Space
from iogauge.library.plan import Plan
from iogauge.reviews.estimate import StepCost
from iogauge.schema import TargetFacts
from iogauge.store.durable import explained
from iogauge.target.layout import FREE_SHARE

_REVIEW_BYTES = 1_000_000
"""Of its manifest, audits and computed figures."""
_STEP_BYTES = 100_000
_INTERVAL_BYTES = 16_000
"""Of a row of an interval."""


def spaces_of(
    directory: Path, planned: Plan | None, targets: Iterable[TargetFacts], done: Collection[str]
) -> tuple[Space, ...]:
    """Return the space that a review takes on each filesystem: first where it is kept, then where its files are.

    ``planned``: None if the review cannot be planned; ``done``: the steps that are saved already. Raises IogaugeError
    for a place that cannot be looked at.
    """
    by_filesystem: dict[str, Space] = {}
    places = [(directory, _REVIEW_BYTES + (_steps_bytes(planned, done) if planned else 0))]
    places += [(Path(target.path), missing) for target in targets if (missing := _missing_bytes(target))]
    for path, needed_bytes in places:
        space = _space(path, needed_bytes)
        before = by_filesystem.get(space.filesystem)
        if before is not None:
            space = before.model_copy(update={"needed_bytes": before.needed_bytes + needed_bytes})
        by_filesystem[space.filesystem] = space
    return tuple(by_filesystem.values())


def _steps_bytes(planned: Plan, done: Collection[str]) -> int:
    may_lengthen = planned.manifest.until_supported is not None
    steps = (step for step in planned.cost.most if step.step.id not in done)
    return sum(_step_bytes(step, step.longest_s if may_lengthen else seconds_of(step)) for step in steps)


def seconds_of(step: StepCost) -> float:
    """Return how long a step's jobs run, without the seconds around them, as far as that is known."""
    return step.likely_s if step.at_least else step.expected_s


def _step_bytes(step: StepCost, seconds: float) -> int:
    rows = sum(
        line.startswith("[") and line.strip() != "[global]" for line in step.step.job_file.splitlines()
    )
    return _STEP_BYTES + rows * _INTERVAL_BYTES * (math.ceil(seconds * 1e9 / step.step.interval_ns) + 1)


def _missing_bytes(target: TargetFacts) -> int:
    """Return how much space a file still needs; 0 if it is not regular. A layout leaves a share of the space free."""
    if target.modelled is not None:
        return 0
    try:
        status = Path(target.path).stat()
    except OSError:
        return math.ceil(target.size_bytes / FREE_SHARE)
    occupied = status.st_blocks * 512
    if not stat.S_ISREG(status.st_mode) or occupied >= target.size_bytes:
        return 0
    return math.ceil((target.size_bytes - occupied) / FREE_SHARE)


def _space(path: Path, needed_bytes: int) -> Space:
    """Return the filesystem where a path is, or will be made. Raises IogaugeError if it cannot be looked at."""
    with explained("look at", path):
        there = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
        filesystem, device = os.statvfs(there), there.stat().st_dev
    return Space(
        filesystem=f"{boot_id()} {device}",
        path=str(there),
        free_bytes=filesystem.f_bavail * filesystem.f_frsize,
        needed_bytes=needed_bytes,
    )
