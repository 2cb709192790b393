"""Write pressure: how long a read waits while eight writers push harder and harder.

The procedure of the application note that made the chart famous (methods.md section 1, WP-1 to WP-3): one job reads
8 KiB at random and at queue depth 1, eight write 8 KiB at random at depth 8 and at a fixed rate each, and the rate
grows from step to step. Only the reader is judged. ``full`` is the published script: seven steps of a minute, each
an independent job file. ``quick`` is the same load for seconds, between nothing and what the target takes.

Caveats. The note's figure says 4K, its script 8K: the script counts. Its label of 500 MB/s is 8 x 62,500 KiB/s, which
is 512 MB/s: labels are kept, and figures show what was achieved. The note plots the mean although tails were
collected: here is both. Neither note nor script preconditions the drive, so flash that is new or was trimmed
shows less pressure than flash in steady state; and eight threads at depth 8 need CPU that the reader needs too:
mind the warnings about the generator.

One line is not the script's: ``new_group`` reports the reader by itself, and changes nothing in the load. The logs
that the script asks for are written where a step's job file is run by itself; a review has its intervals instead,
as long as ``log_avg_msec`` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from iogauge.schema import Axis, RunRecord, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.figures import step_figures
from iogauge.suites.suite import (
    QUICK_PERCENTILES,
    QUICK_RAMP_NS,
    QUICK_RUNTIME_NS,
    Asked,
    Suite,
    caveats,
    job_text,
    nothing_written,
    seed_of,
    time_text,
)
from iogauge.workload.numbers import size_text
from iogauge.workload.patterns import file_text

READER = "reader"
WRITER = "pressure"
WRITERS = 8

PUBLISHED_MBps = range(100, 800, 100)
PUBLISHED_RUNTIME_NS = 60 * 10**9
PUBLISHED_PERCENTILES = "99:99.9:99.99:99.999:99.9999:99.99999:99.999999:99.9999999"

SEARCH_RUNTIME_NS = 2 * 10**9
QUICK_STEPS = 8
QUICK_SHARE = 0.95
"""Quick pressures stay below this share of what the search found: beyond, writers wait and the rate is not theirs."""

_STEPS_OF_TEN = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


class WritePressure(Suite):
    """See the module's text."""

    NAME = "write-pressure"
    TITLE = "Write pressure"
    QUANTILES = (0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999, 0.99999999, 0.999999999)

    def plan(self, asked: Asked) -> SuitePlan:
        """Read latency at QD1 while eight writers push harder and harder.

        Source: methods.md WP-1. ``full`` gives the seven published steps; ``quick`` a search, and ``refine`` the steps.
        """
        full = asked.pace == "full"
        empty = SuitePlan(
            suite=self.NAME,
            title=self.TITLE,
            source="methods.md WP-1 to WP-3",
            axis=Axis(name="write pressure", unit="MB/s"),
            reader=READER,
            pressure=WRITER,
            steps=(),
            size_bytes=self.size_bytes(asked),
            runtime_ns=asked.runtime_ns or (PUBLISHED_RUNTIME_NS if full else QUICK_RUNTIME_NS),
            ramp_ns=0 if full else QUICK_RAMP_NS,
            notes=tuple(_notes(asked)),
        )
        load = _Load.of(empty, asked.target, seed=asked.seed)
        if full:
            published = [load.step(at, rate=f"{at * 1000 // WRITERS}k") for at in PUBLISHED_MBps]
            return empty.model_copy(update={"steps": tuple(published)})
        search = replace(load, runtime_ns=SEARCH_RUNTIME_NS).step(0, rate="", step_id="search")
        return empty.model_copy(update={"search": search})

    def refine(self, plan: SuitePlan, found: RunRecord, *, target: TargetFacts, seed: int) -> SuitePlan:
        """Return the quick plan with its steps, spread evenly from no pressure to almost what the search achieved.

        Raises:
            IogaugeError: nothing was written during the search.
        """
        limit_Bps = step_figures(found, (), reader=READER, pressure=WRITER).pressure_Bps
        if limit_Bps <= 0:
            raise nothing_written(bs="8k")
        load = _Load.of(plan, target, seed=seed)
        pressed = [
            load.step(at, rate=f"{round(at * 10**6 / WRITERS)}") for at in pressures_MBps(limit_Bps / 1e6)
        ]
        note = (
            f"Steps are scaled to a search of {SEARCH_RUNTIME_NS / 1e9:.0f} s in which the target took "
            f"{limit_Bps / 1e6:.4g} MB/s of writes. Where a cache absorbs writes at first, it takes less for longer."
        )
        steps = (load.step(0, rate=None), *pressed)
        return plan.model_copy(update={"steps": steps, "notes": (*plan.notes, note)})


def pressures_MBps(limit_MBps: float) -> list[float]:
    """Return evenly spaced round pressures, at most ``QUICK_STEPS``, up to nearly what the target takes.

    >>> pressures_MBps(800)
    [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    >>> pressures_MBps(2.2)
    [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    """
    top = limit_MBps * QUICK_SHARE
    power = 10.0 ** math.floor(math.log10(top / QUICK_STEPS))
    step = next(
        each * scale
        for scale in (power, 10 * power)
        for each in _STEPS_OF_TEN
        if math.floor(top / (each * scale)) <= QUICK_STEPS
    )
    return [round(step * count, 9) for count in range(1, math.floor(top / step) + 1)]


@dataclass(frozen=True, kw_only=True)
class _Load:
    """What all steps of a review have in common."""

    path: str
    size_bytes: int | None
    runtime_ns: int
    ramp_ns: int
    percentiles: str
    seed: int

    @classmethod
    def of(cls, plan: SuitePlan, target: TargetFacts, *, seed: int) -> _Load:
        return cls(
            path=target.path,
            size_bytes=plan.size_bytes,
            runtime_ns=plan.runtime_ns,
            ramp_ns=plan.ramp_ns,
            percentiles=QUICK_PERCENTILES if plan.ramp_ns else PUBLISHED_PERCENTILES,
            seed=seed,
        )

    def step(self, at: float, *, rate: str | None, step_id: str = "") -> StepPlan:
        """Return one step. ``rate`` is each writer's in fio's notation; empty: no limit; None: no writers."""
        step_id = step_id or f"{WRITER}-{at:g}"
        common = {
            "filename": file_text(self.path),
            "size": size_text(self.size_bytes) if self.size_bytes else None,
            "ioengine": "libaio",
            "thread": 1,
            "direct": 1,
            "bs": "8k",
            "group_reporting": 1,
            "norandommap": 1,
            "randrepeat": 0,
            "refill_buffers": 1,
            "gtod_reduce": 0,
            "time_based": 1,
            "runtime": time_text(self.runtime_ns),
            "ramp_time": time_text(self.ramp_ns) if self.ramp_ns else None,
            "log_avg_msec": 500,
            "percentile_list": self.percentiles,
        }
        writers = {
            "rw": "randwrite",
            "iodepth": 8,
            "numjobs": WRITERS,
            "rate": f",{rate}" if rate else None,
            "write_bw_log": step_id,
        }
        reader = {"new_group": 1, "rw": "randread", "iodepth": 1, "write_lat_log": step_id}
        jobs = {READER: reader} if rate is None else {WRITER: writers, READER: reader}
        return StepPlan(
            id=step_id,
            at=at,
            job_file=job_text(global_=common, **jobs),
            seed=seed_of(self.seed, step_id),
            state_group=step_id,  # each step is an independent file: the note merges them only in its chart
        )


def _notes(asked: Asked) -> Iterator[str]:
    if asked.pace == "full":
        yield "Labels are the published ones: 500 stands for 8 x 62,500 KiB/s, which is 512 MB/s."
        if asked.runtime_ns and asked.runtime_ns != PUBLISHED_RUNTIME_NS:
            yield f"Steps run for {asked.runtime_ns / 1e9:g} s instead of the published 60 s."
    yield from caveats(asked.target)
