"""Does a drive read as fast when half of the reads go to a small part of it? A suite of one's own.

    iogauge review model:p4800x --suite examples/suite_of_ones_own.py

The file defines one subclass of ``Suite``. What it names at its head is shown and stored; ``plan`` gives the steps,
each a complete fio job file; ``findings`` says what came of them, in sentences. Nothing else is needed: the review is
saved step by step, resumed and reported as by any suite that iogauge brings.

It reads only.
"""

from __future__ import annotations

from iogauge.suites import Asked, Axis, Common, Suite, SuitePlan, SuiteResult, ratio, times

READER = "reader"


class HotSpot(Suite):
    """4 KiB random reads at depth 8, a growing share of them from a twentieth of the target."""

    NAME = "hot-spot"
    TITLE = "A hot spot"
    SOURCE = "examples/suite_of_ones_own.py"
    AXIS = Axis(name="share of reads from a twentieth of the target", unit="%")
    READER = READER

    def plan(self, asked: Asked) -> SuitePlan:
        """Five steps, from reads that go everywhere to reads that nearly all go to one place."""
        empty = self.empty(asked)
        load = Common.of(empty)
        steps = [
            load.step(
                f"hot-{share}",
                share,
                {READER: {"rw": "randread", "random_distribution": f"zoned:{share}/5:{100 - share}/95"}},
                bs="4k",
                iodepth=8,
            )
            for share in (5, 25, 50, 75, 95)
        ]
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Compare the first step with the last one."""
        means = [position.figures.mean for position in result.positions if position.figures.mean is not None]
        if len(means) < 2:
            return ()
        change = ratio(means[-1], means[0])
        return (
            f"the hottest reads take {times(change.value, change.low, change.high)} as long as even ones",
        )
