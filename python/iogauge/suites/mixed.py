"""Mixed reads and writes: what a drive does as writes take the place of reads, in steps of a tenth.

The procedure of the reviews of 2017: four threads at depth 4 issue 4 KiB at random, from nothing but reads to nothing
but writes. On 3D XPoint the rate makes a shallow bathtub, on flash it falls away as collection sets in.

Caveats. The reviews say neither how long a step takes nor what was written before; here every step is an independent
job file of equal length, reads first, on the drive as it is found, and what earlier steps wrote is there in later
ones. The latency judged is that of all requests, whichever way they go: a reader's alone is what
``reader-under-writers`` shows.

Source: methods.md MIX-1 (AnandTech's reviews of the P4800X and of Optane Memory).
"""

from __future__ import annotations

from iogauge.schema import Axis, SuitePlan
from iogauge.stats import words
from iogauge.suites.judgement import Judgement
from iogauge.suites.suite import QUICK_RAMP_NS, QUICK_RUNTIME_NS, Asked, Common, Suite, caveats

JOB = "mix"
THREADS, DEPTH = 4, 4
SHARES = tuple(range(100, -1, -10))
"""Reads in percent, in the order in which the reviews have them."""
FULL_RUNTIME_NS = 60 * 10**9


class Mixed(Suite):
    """See the module's text."""

    NAME = "mixed"
    TITLE = "Mixed reads and writes"

    def plan(self, asked: Asked) -> SuitePlan:
        """Rate and latency of 4 KiB at random, 4 threads at depth 4, from all reads to all writes.

        Source: methods.md MIX-1. Eleven steps, of a minute each at full pace.
        """
        full = asked.pace == "full"
        empty = SuitePlan(
            suite=self.NAME,
            title=self.TITLE,
            source="methods.md MIX-1",
            axis=Axis(name="share of reads", unit="%"),
            reader=JOB,
            judged="I/O",
            pressure=None,
            steps=(),
            size_bytes=self.size_bytes(asked),
            runtime_ns=asked.runtime_ns or (FULL_RUNTIME_NS if full else QUICK_RUNTIME_NS),
            ramp_ns=QUICK_RAMP_NS,
            notes=tuple(caveats(asked.target)),
        )
        load = Common.of(empty, asked.target, seed=asked.seed)
        steps = (
            load.step(
                f"{self.NAME}-{share}",
                share,
                {JOB: {"rw": "randrw", "rwmixread": share, "numjobs": THREADS, "iodepth": DEPTH}},
                bs="4k",
            )
            for share in SHARES
        )
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, judgement: Judgement, /) -> tuple[str, ...]:
        """Return where the rate is highest and lowest, and by how much."""
        rates = {step.plan.at: step.figures.iops for step in judgement.steps if step.figures.ios}
        if len(rates) < 2:
            return ()
        most, least = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
        return (
            f"most at {most:g} % reads, {rates[most]:,.0f} IOPS; least at {least:g} %, "
            f"{rates[least]:,.0f} IOPS: {words.percent(rates[least] / rates[most])} of it",
        )
