"""Preparation: bring a drive into the state of ``--state`` before other suites measure it.

- ``fresh``: a purge.
- ``filled``: a purge, all of the target written twice in order, and a pause in which flash settles.
- ``preconditioned``: as ``filled``, with rounds of 4 KiB random writes before the pause, until the rate is steady by
  SNIA's two criteria.

Only flash has a state that depends on what was written to it. 3D XPoint has none, but refreshes itself for hours after
a long time without power; disks and memory have neither. If iogauge does not know what stores the data, it treats the
drive as flash, which costs time and writes but does no harm.

A review of several blocks prepares the drive before every block that follows writes: SNIA begins each test with a
purge.

Caveats. iogauge cannot tell how long a drive has been powered, so a note asks the user to see to it. Within a block, a
suite starts on what the suite before it wrote; suites that purge by themselves (``pts-*``) leave what they write.

Source: SNIA PTS 2.0.2, preconditioning; Intel's evaluation guide (powered for three hours); fiovisualizer (five minutes
to settle).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites.snia.common import PERCENTILES, fill_step, pace_notes, state_notes
from iogauge.suites.snia.writes import WriteRounds
from iogauge.suites.suite import Ahead, Pace, StepTemplate, SuiteRequest, begins, time_text
from iogauge.target.media import media_of
from iogauge.workload.numbers import SECOND

SETTLES_NS: dict[Pace, int] = {"quick": 5 * SECOND, "standard": 60 * SECOND, "full": 300 * SECOND}
"""The pause at the end."""
_GROUP = "state"


class Precondition(WriteRounds):
    """See the module's text."""

    NAME = "precondition"
    TITLE = "Preparation"
    SOURCE = "SNIA PTS 2.0.2; Intel's evaluation guide; fiovisualizer"
    GROUPS: ClassVar[Mapping[str, str]] = {_GROUP: ""}

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the steps of the requested state; none if the drive has no such state."""
        media = media_of(request.target)
        if request.target.modelled or (request.state != "fresh" and media not in ("flash", None)):
            return self.empty(request, notes=_left_out(request)).model_copy(update={"prepares": True})
        if request.state == "fresh":
            empty = self.empty(request, notes=state_notes(request))
            steps: tuple[StepPlan, ...] = (_look(StepTemplate.of(empty), "purge", "purge", purge=True),)
            return empty.model_copy(update={"steps": steps, "prepares": True})
        if request.state == "filled":
            empty = self.empty(request, notes=self.notes(request))
            steps = (fill_step(StepTemplate.of(empty), _GROUP), *self.final_steps(empty, (), request))
            return empty.model_copy(update={"steps": steps, "prepares": True})
        return super().plan(request).model_copy(update={"prepares": True})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Estimate the rounds of a preconditioning; nothing follows in other states."""
        return super().ahead(plan, request) if plan.steps and request.state == "preconditioned" else Ahead()

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return the next round of a preconditioning; nothing follows in other states."""
        if not plan.steps or review.manifest.state != "preconditioned":
            return ()
        return super().more(plan, review, repeat=repeat)

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target is prepared: what other suites may use, which is all of it."""
        return request.size_bytes

    def final_steps(
        self, plan: SuitePlan, _window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """Return a pause that ends with the read of one block."""
        pause_ns = SETTLES_NS[request.pace]
        label = f"left alone for {pause_ns / 1e9:g} s"
        return (_look(StepTemplate.of(plan), "settle", label, startdelay=time_text(pause_ns)),)

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the preparation differs from the specification, and what is unknown."""
        if request.state == "preconditioned":
            yield from pace_notes(request, cell_ns=self.runtime_ns(request))
        yield from state_notes(request)
        if media_of(request.target) is None:
            yield "What stores the data is unknown: the drive is treated as flash."


def _look(
    load: StepTemplate, step_id: str, label: str, *, purge: bool = False, startdelay: str | None = None
) -> StepPlan:
    """Return a step that reads one block, since a step must issue something."""
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
        yield "3D XPoint is not filled: its performance does not depend on what was written before."
    else:
        yield f"Nothing is written before: a {media} has no state that depends on writes."
