"""Your own suite: does a drive read as fast if most reads go to a small part of it?

    iogauge review model:p4800x --suite examples/own_suite.py

The file defines one subclass of ``Suite``. Its constants name the suite; ``plan`` returns the steps, each a complete
fio job file; ``findings`` returns conclusions in sentences. Nothing else is needed: the review is saved step by step,
resumed and reported like that of a built-in suite.

It only reads.
"""

from __future__ import annotations

from iogauge.suites import Axis, StepTemplate, Suite, SuitePlan, SuiteRequest, SuiteResult, ratio, times

JOB = "reader"


class HotSpot(Suite):
    """4 KiB random reads at depth 8, a growing share of them from a twentieth of the target."""

    NAME = "hot-spot"
    TITLE = "A hot spot"
    SOURCE = "examples/own_suite.py"
    AXIS = Axis(name="share of reads from a twentieth of the target", unit="%")
    MEASURED_JOB = JOB

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Return five steps, from reads of the whole target to reads of nearly one place alone."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        steps = [
            load.step(
                f"hot-{share}",
                share,
                {JOB: {"rw": "randread", "random_distribution": f"zoned:{share}/5:{100 - share}/95"}},
                bs="4k",
                iodepth=8,
            )
            for share in (5, 25, 50, 75, 95)
        ]
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Compare the mean latencies of the first step and the last one."""
        means = [position.figures.mean for position in result.positions if position.figures.mean is not None]
        if len(means) < 2:
            return ()
        change = ratio(means[-1], means[0])
        return (
            f"the hottest reads take {times(change.value, change.low, change.high)} as long as even ones",
        )
