"""Bringing drives into a known state before other suites measure them: ``--state fresh``, ``filled`` and the like.

``fresh`` is a purge. ``filled`` is a purge, then all of the target written twice in order, then a pause in which flash
settles. ``preconditioned`` has between fill and pause 4 KiB at random, round by round until the rate is steady by
SNIA's two criteria. That is for flash, whose answers depend on what was written to it. 3D XPoint has no such state, but
it refreshes itself for hours after it was long without power; disks and memory have neither. Where it is not known what
stores the data, it is treated as flash, which costs time and writes but spoils nothing.

A review of several blocks does all of it before each, where the block before wrote: SNIA begins each test with a purge.

Caveats. How long a drive has been powered is not known here, so that 3D XPoint is refreshed is said, not seen. Within a
block, what one suite writes is there when the next begins; suites that purge by themselves (``pts-*``) leave theirs.

Source: SNIA PTS 2.0.2, preconditioning; Intel's evaluation guide (powered for three hours); fiovisualizer (five minutes
to settle).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites.snia.common import PERCENTILES, Jobs, Procedure, fill_step, pace_notes, state_notes
from iogauge.suites.snia.writes import writing_cells
from iogauge.suites.suite import Ahead, Pace, StepTemplate, SuiteRequest, begins, time_text
from iogauge.target.media import media_of
from iogauge.workload.numbers import SECOND

SETTLES_NS: dict[Pace, int] = {"quick": 5 * SECOND, "standard": 60 * SECOND, "full": 300 * SECOND}
"""How long the drive is left alone at the end."""
_GROUP = "state"


class Precondition(Procedure):
    """See the module's text."""

    NAME = "precondition"
    TITLE = "Preparation"
    SOURCE = "SNIA PTS 2.0.2; Intel's evaluation guide; fiovisualizer"
    FOLLOWED = "4 KiB random writes"
    JUDGED = "write"
    GROUPS: ClassVar[Mapping[str, str]] = {_GROUP: ""}

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """A purge; where the drive has a state that writes bring about, what brings it about."""
        media = media_of(request.target)
        if request.target.modelled or (request.state != "fresh" and media not in ("flash", None)):
            return self.empty(request, notes=_left_out(request)).model_copy(update={"prepares": True})
        if request.state == "fresh":
            empty = self.empty(request, notes=state_notes(request))
            steps: tuple[StepPlan, ...] = (_look(StepTemplate.of(empty), "purge", "purge", purge=True),)
            return empty.model_copy(update={"steps": steps, "prepares": True})
        if request.state == "filled":
            empty = self.empty(request, notes=self.notes(request))
            steps = (fill_step(StepTemplate.of(empty), _GROUP), *self.after(empty, (), request))
            return empty.model_copy(update={"steps": steps, "prepares": True})
        return super().plan(request).model_copy(update={"prepares": True})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Return what follows, where it is preconditioned."""
        return super().ahead(plan, request) if plan.steps and request.state == "preconditioned" else Ahead()

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return what follows, where it is preconditioned."""
        if not plan.steps or review.manifest.state != "preconditioned":
            return ()
        return super().more(plan, review, repeat=repeat)

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target is prepared: what other suites may use, which is all of it."""
        return request.size_bytes

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """What counts, and as much of the same as keeps rounds apart."""
        return writing_cells(request.pace, self.runtime_ns(request))

    def shown(self, _rounds: Sequence[RunRecord], _series: str, _title: str) -> tuple[()]:
        """Nothing beside the tracked rate."""
        return ()

    def after(
        self, plan: SuitePlan, _window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """A pause, and a look at one block."""
        pause_ns = SETTLES_NS[request.pace]
        label = f"left alone for {pause_ns / 1e9:g} s"
        return (_look(StepTemplate.of(plan), "settle", label, startdelay=time_text(pause_ns)),)

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield what is not as it was published, and what is not known."""
        if request.state == "preconditioned":
            yield from pace_notes(request, cell_ns=self.runtime_ns(request))
        yield from state_notes(request)
        if media_of(request.target) is None:
            yield "What stores the data is not known: it is treated as flash."


def _look(
    load: StepTemplate, step_id: str, label: str, *, purge: bool = False, startdelay: str | None = None
) -> StepPlan:
    """Return a step that reads one block, which a step needs in order to be one."""
    return load.step(
        step_id,
        0,
        {"look": {"rw": "read", "bs": "4k", "number_ios": 1, "startdelay": startdelay}},
        label=label,
        state_group=_GROUP,
        purge=purge,
        judged=False,
        time_based=None,
        runtime=None,
        percentile_list=PERCENTILES,
    )


def _left_out(request: SuiteRequest) -> Iterator[str]:
    if model := request.target.modelled:
        state = (
            f"{begins(model.begun_as)}. There"
            if model.begun_as
            else "The modelled drive has no such state: there"
        )
        yield f"{state} is nothing to prepare."
        return
    media = media_of(request.target)
    if media == "3D XPoint":
        yield "3D XPoint is not filled: what was written before does not change what it does."
    else:
        yield f"Nothing is written before: a {media} has no state that depends on it."
