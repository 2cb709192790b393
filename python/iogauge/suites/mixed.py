"""Mixed reads and writes: how rate and latency change from all reads to all writes, in steps of 10 %.

The procedure of the reviews of 2017: four threads at depth 4 issue 4 KiB requests at random. On 3D XPoint the rate
forms a shallow bathtub; on flash it drops as garbage collection sets in.

Caveats. The reviews state neither the length of a step nor what was written before. Here every step is an independent
job file of equal length, reads first, on the drive in its current state; later steps read what earlier steps wrote. The
latency judged is that of reads and writes together; ``reader-under-writers`` judges reads alone.

Source: AnandTech's reviews of the P4800X (April 2017) and of Optane Memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, SuitePlan
from iogauge.stats.extremes import all_tied, decided, ties, undecided
from iogauge.stats.figure import Figure
from iogauge.stats.figures import ratio
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers, too_short

JOB = "mix"
THREADS, DEPTH = 4, 4
SHARES = tuple(range(100, -1, -10))
"""Reads in percent, in the reviews' order."""


class Mixed(Suite):
    """See the module's text."""

    NAME = "mixed"
    TITLE = "Mixed reads and writes"
    SOURCE = "AnandTech's reviews of the P4800X (April 2017) and of Optane Memory"
    AXIS = Axis(name="share of reads", unit="%")
    MEASURED_JOB = JOB
    JUDGED = "I/O"

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan eleven steps of 4 KiB random requests by 4 threads at depth 4, from all reads to all writes."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        steps = (
            load.step(
                f"reads-{share}",
                share,
                {JOB: {"rw": "randrw", "rwmixread": share, "numjobs": THREADS, "iodepth": DEPTH}},
                bs="4k",
            )
            for share in SHARES
        )
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return which mixes have the highest and the lowest rate, and how far these are apart."""
        rates = {step.plan.at: step.figures.iops_figure for step in result.positions if step.figures.ios}
        return (extremes_of(rates),) if len(rates) > 1 else ()


def extremes_of(rates: Mapping[float, Figure]) -> str:
    """Return a sentence about the mixes with the most and the fewest IOPS; ``rates`` are by share of reads, percent."""
    known = decided(rates)
    if len(known) < 2:
        return f"which mix gives the most {too_short.UNDECIDED}"
    left_out = too_short.left_out("the rate at", [f"{at:g} %" for at in undecided(rates)])
    most, least = (choose(known, key=lambda at: known[at].value) for choose in (max, min))
    if all_tied(known):
        return (
            "as far as these runs can tell, the rate does not depend on the mix: "
            f"{_rate(known[least])} at {least:g} % reads to {_rate(known[most])} at {most:g} %{left_out}"
        )
    share = ratio(known[least], known[most])
    return (
        f"the rate is highest at {most:g} % reads, {_alone(known[most])} IOPS{_ties(known, most)}, "
        f"and lowest at {least:g} %, {_alone(known[least])} IOPS{_ties(known, least)}: "
        f"{numbers.ranged(share.value, share.low, share.high, numbers.percent)} of the highest{left_out}"
    )


def _rate(estimate: Figure) -> str:
    return numbers.estimated(estimate, lambda value, digits: f"{numbers.rate(value, digits)} IOPS")


def _alone(estimate: Figure) -> str:
    return numbers.in_digits(estimate.value, estimate.low, estimate.high, numbers.rate)[0]


def _ties(rates: Mapping[float, Figure], extreme: float) -> str:
    """Return a clause that names the steps whose rate may equal that at an extreme; empty if there are none."""
    others = [f"{at:g} %" for at in ties(rates, extreme) if at != extreme]
    return f" (no clear difference from {', '.join(others)})" if others else ""
