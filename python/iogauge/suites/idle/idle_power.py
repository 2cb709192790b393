"""Idle power: what a drive draws without work, kept awake (PWR-1) and left alone (PWR-2).

- **Active idle (PWR-1)**: one 4 KiB read every 20 ms (more often where the drive declares that it sleeps sooner). It
  keeps the drive from going to sleep and is hardly any work.
- **Left idle (PWR-2)**: one read, then nothing until the drive is in its deepest state: twice the longest idle time
  that it declares, and at least 5 s (quick), 30 s (standard) or a minute (full). Power counts from then on. One more
  read ends the step; it shows what waking takes.

Power comes from all that can be read: a meter (``--meter COMMAND``, a command that prints watts), the drive's own SMART
log (NVMe drives that measure their power), and the machine's counters: RAPL and sensors of hwmon. Those are the
computer's power and not the drive's, and are named so. A drive model has the energy that it computed. Where nothing is
read, the suite says so, and shows what the drive declares.

Just before the last read the drive is asked for its state (Get Features 02h, or CHECK POWER MODE of a SATA drive). The
question may wake it, so it comes after the measured part.

Caveats. PWR-1 is published without power management; iogauge changes no setting here. Reads keep a drive out of the
states of APST, but a link may sleep between two reads. The findings name the command that switches this off. A step has
a reading a second, and an interval needs ten.

Source: AnandTech's reviews of the P4800X and of the Optane Memory (April 2017): active idle power without power
management, and idle power in SATA Slumber or the deepest NVMe state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, IdleState, StepPlan, SuitePlan
from iogauge.suites.idle import powers
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

JOB = "reader"
AWAKE, LEFT = "active idle (PWR-1)", "left idle (PWR-2)"
READ_EVERY_NS = 20_000_000
TAIL_NS = 5 * SECOND
"""The longest time after the measured part, in which the drive is asked and woken."""


class IdlePower(Suite):
    """See the module's text."""

    NAME = "idle-power"
    TITLE = "Idle power"
    SOURCE = "AnandTech's reviews of the P4800X and the Optane Memory (April 2017)"
    AXIS = Axis(name="state", unit="")
    MEASURED_JOB = JOB
    IDLE_STATES = True
    UNDISTURBED = True
    METERED = True
    QUANTILES = (0.5,)
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 15 * SECOND,
        "standard": 60 * SECOND,
        "full": 600 * SECOND,
    }
    # Until the drive is in its deepest state.
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 5 * SECOND,
        "standard": 30 * SECOND,
        "full": 60 * SECOND,
    }
    MODELLED_NS = 600 * SECOND

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan a step that keeps the drive awake and one that leaves it alone."""
        empty = self.empty(request)
        states = request.idle_states.states if request.idle_states else ()
        unknown = request.idle_states.unknown if request.idle_states else ()
        changes = request.idle_states.changes if request.idle_states else ()
        notes = [*empty.notes, *(f"{numbers.capitalised(reason)}." for reason in unknown)]
        notes += [f"For PWR-1 without power management: {change}" for change in changes]
        steps = tuple(_steps(StepTemplate.of(empty), [state for state in states if state.enabled]))
        return empty.model_copy(update={"steps": steps, "idle_states": states, "notes": tuple(notes)})

    def runtime_ns(self, request: SuiteRequest) -> int:
        """Return the measured part; in virtual time long enough for the time before the drive sleeps not to count."""
        virtual = all(target.modelled for target in request.targets)
        return request.runtime_ns or (self.MODELLED_NS if virtual else self.RUNTIME_NS[request.pace])

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the power of both steps, what the drive declares, and what was published of drives."""
        runs = {
            position.plan.label: [run.record for run in position.runs]
            for position in sorted(result.positions, key=lambda position: position.at)
        }
        return replace(
            super().conclude(result),
            findings=tuple(powers.findings(runs, result.plan.idle_states, awake=AWAKE, left=LEFT)),
            tables=tuple(powers.tables(runs, result.plan.idle_states)),
        )


def _steps(load: StepTemplate, states: list[IdleState]) -> Iterator[StepPlan]:
    sooner = [state.after_ns // 2 for state in states if state.after_ns]
    every_ns = max(min([READ_EVERY_NS, *sooner]), 1000)
    longest = max(((state.after_ns or 0) + (state.entry_ns or 0) for state in states), default=0)
    settled = replace(load, ramp_ns=max(load.ramp_ns, 2 * longest))
    tail_ns = min(max(load.runtime_ns // 2, 20_000_000), TAIL_NS)
    yield _step(load, 1, AWAKE, gap_ns=every_ns, tail_ns=tail_ns)
    yield _step(settled, 2, LEFT, gap_ns=None, tail_ns=tail_ns)


def _step(load: StepTemplate, at: int, label: str, *, gap_ns: int | None, tail_ns: int) -> StepPlan:
    """Return a step that reads after every gap; None: at its begin, and in the middle of its tail."""
    end_ns = load.ramp_ns + load.runtime_ns
    gap_ns = end_ns + tail_ns // 2 if gap_ns is None else gap_ns
    longer = replace(load, runtime_ns=load.runtime_ns + tail_ns)
    step = longer.step(
        "awake" if at == 1 else "left",
        at,
        {JOB: {"rw": "randread", "thinktime": f"{gap_ns // 1000}us"}},
        label=label,
        bs="4k",
        percentile_list="50",
    )
    return step.model_copy(update={"power_ns": (load.ramp_ns, end_ns)})
