"""Looks at a host before its review begins: what it is, and whether it can run its review.

Targets meet the same refusals as when the review begins. But nothing is created and nothing is written: where a file
is still to be made, only its directory is looked at.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import iogauge
from iogauge import execution
from iogauge.errors import IogaugeError
from iogauge.fleet.host.drives import drives_of
from iogauge.fleet.host.messages import HostFacts, HostRequest, Refusal, Space
from iogauge.fleet.host.options import options_of
from iogauge.fleet.host.places import STILL_RUNNING, HostPlace
from iogauge.fleet.host.space import seconds_of, spaces_of
from iogauge.library import plan as library
from iogauge.machine.audit import audits_of
from iogauge.machine.facts import machine_facts
from iogauge.reviews.manifest import only_reads
from iogauge.reviews.runner import remaining
from iogauge.schema import Manifest
from iogauge.store import Review
from iogauge.suites import suite_of
from iogauge.target import TargetRefused, is_model, open_target
from iogauge.text.option import command_line


def facts_of(request: HostRequest, place: HostPlace) -> HostFacts:
    """Return what a host is, with all reasons why it cannot run its review. Raises no error for those."""
    refused: list[Refusal] = []
    planned: library.Plan | None = None
    complete: frozenset[str] = frozenset()
    missing: int | None = None
    with ExitStack() as stack:
        if request.for_command:
            stack.enter_context(command_line())
        try:
            planned = library.plan(request.targets, **options_of(request))
            if place.is_running:
                refused.append(
                    Refusal(text=STILL_RUNNING, hint="resume the fleet once that has ended", in_use=True)
                )
            else:
                _refuse(planned.manifest, request)
        except IogaugeError as error:
            refused.append(_refusal(error))
        try:
            complete, missing = _saved(place)
        except IogaugeError as error:
            refused.append(_refusal(error))
        targets = planned.manifest.targets if planned else ()
        spaces: tuple[Space, ...] = ()
        try:
            spaces = spaces_of(place.directory, planned, targets, complete)
        except IogaugeError as error:
            refused.append(_refusal(error))
    return HostFacts(
        version=iogauge.__version__,
        machine=machine_facts(),
        audits=audits_of(targets),
        targets=targets,
        drives=drives_of(target.path for target in targets),
        only_reads=planned is not None and only_reads(planned.manifest),
        expected_s=planned.likely_s if planned else 0,
        longest_step_s=max(map(seconds_of, planned.steps), default=0) if planned else 0,
        free_bytes=spaces[0].free_bytes if spaces else 0,
        spaces=spaces,
        complete_steps=len(complete),
        missing_steps=missing,
        refused=tuple(refused),
    )


def _refuse(manifest: Manifest, request: HostRequest) -> None:
    """Raise IogaugeError for a target that the review may not use as it is to."""
    for path in {path for plan in manifest.plans for path in plan.targets}:
        execution.refuse_files(path, by=manifest.purge_by)
        if is_model(path):
            continue
        if not os.path.lexists(path):
            folder = Path(path).parent
            if not os.access(folder, os.W_OK | os.X_OK):
                raise TargetRefused(
                    f"{path}: there is no such file, and it cannot be made",
                    hint=f"make {folder}, or let its user write there"
                    if folder.exists()
                    else f"make the directory {folder} first",
                )
            continue
        try:
            open_target(path, write=True, destroy=request.destroy).close()
        except TargetRefused:
            if not only_reads(manifest):
                raise
            open_target(path, write=False, destroy=request.destroy).close()
    for path in {
        path for plan in manifest.plans if any(step.purge for step in plan.steps) for path in plan.targets
    }:
        execution.check_purge(path, destroy=request.destroy, by=manifest.purge_by)


def _saved(place: HostPlace) -> tuple[frozenset[str], int | None]:
    """Return which steps are saved, and how many are missing; None: nothing is saved."""
    if not place.has_review:
        return frozenset(), None
    saved = Review.open(place.review)
    return frozenset(saved.completed()), remaining(saved, suite_of)


def _refusal(error: IogaugeError) -> Refusal:
    return Refusal(text=str(error), hint=error.hint or "")
