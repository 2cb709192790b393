"""Transfer size: rate and latency of requests of 512 B to 1 MiB, aligned and not.

The reviews of 2017 link to such a page without showing it. Intel's guide warns that requests that are smaller than 4
KiB, or not aligned to 4 KiB, are slower. One asynchronous thread issues random requests at depth 1 and 32, reads and
then writes. Each load runs three times: aligned to the request's size, shifted by 512 B, and shifted by 2 KiB.

Caveats. We chose sizes and depths, since none are published. The suite leaves out requests that the target's logical
blocks do not allow, and a note says so. A write smaller than the drive's internal block makes the drive read first: it
takes longer and wears the drive more than its size suggests.

Source: AnandTech's review of the P4800X 750 GB; Intel's evaluation guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats.figures import ratio
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, SECOND

JOB = "load"
SIZES: dict[Pace, tuple[int, ...]] = {
    "quick": (512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB),
    "standard": (512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB),
    "full": tuple(512 << doubling for doubling in range(12)),
}
"""Bytes of a request."""
DEPTHS = (1, 32)
SHIFTS = (0, 512, 2 * KIB)
"""Bytes by which requests are shifted from their alignment."""


@dataclass(frozen=True)
class Sweep:
    """One load of the suite."""

    rw: str
    depth: int
    shift: int

    @property
    def series(self) -> str:
        """The name of its series."""
        shifted = f"shifted by {numbers.block(self.shift)}" if self.shift else "aligned"
        return f"{self.way}, depth {self.depth}, {shifted}"

    @property
    def way(self) -> str:
        """``reads`` or ``writes``."""
        return "reads" if self.rw == "randread" else "writes"

    @property
    def key(self) -> str:
        """The beginning of its steps' ids."""
        return f"{self.rw}-qd{self.depth}-shift{self.shift}"


SWEEPS = tuple(
    Sweep(rw, depth, shift) for rw, depth, shift in product(("randread", "randwrite"), DEPTHS, SHIFTS)
)


class TransferSize(Suite):
    """See the module's text."""

    NAME = "transfer-size"
    TITLE = "Transfer size"
    SOURCE = (
        "AnandTech's review of the P4800X 750 GB names the page and does not print it; "
        "alignment after Intel's evaluation guide"
    )
    AXIS = Axis(name="transfer size", unit="KiB")
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    # Shorter than other suites' steps, since there are twelve sweeps.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 2,
        "standard": 5 * SECOND,
        "full": 30 * SECOND,
    }
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 4,
        "standard": SECOND // 2,
        "full": 0,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan twelve sweeps over request sizes, aligned and shifted."""
        block = request.target.logical_block_bytes or 512
        empty = self.empty(request, notes=_notes(block))
        return empty.model_copy(
            update={"steps": tuple(_steps(StepTemplate.of(empty), SIZES[request.pace], block))}
        )

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how much longer shifted requests of 4 KiB take at depth 1."""
        means = {
            step.plan.series: step.figures.mean
            for step in result.positions
            if step.plan.at == 4 and step.figures.mean is not None
        }
        findings = []
        for sweep in SWEEPS:
            aligned, shifted = means.get(replace(sweep, shift=0).series), means.get(sweep.series)
            if sweep.depth == 1 and sweep.shift and aligned and shifted:
                slower = ratio(shifted, aligned)
                times = numbers.times(slower.value, slower.low, slower.high)
                shift = numbers.block(sweep.shift)
                findings.append(
                    f"4 KiB {sweep.way} at depth 1 take {times} as long shifted by {shift} as aligned"
                )
        return tuple(findings)


def _steps(load: StepTemplate, sizes: tuple[int, ...], block: int) -> Iterator[StepPlan]:
    for sweep in SWEEPS:
        for size in sizes:
            if size % block == 0 and sweep.shift % block == 0:
                options: dict[str, object] = {
                    "rw": sweep.rw,
                    "iodepth": sweep.depth,
                    "offset": sweep.shift or None,
                }
                step_id = f"{sweep.key}-{size}"
                yield load.step(step_id, size / KIB, {JOB: options}, series=sweep.series, bs=size)


def _notes(block: int) -> Iterator[str]:
    if block > SHIFTS[1]:
        yield f"The target's logical blocks are {numbers.block(block)}: smaller requests and shifts are left out."
