"""Write pressure: how long a read waits while eight writers write faster and faster.

The procedure of Intel's application note of 2017, which made the chart famous: one job reads 8 KiB at random at queue
depth 1; eight jobs write 8 KiB at random at depth 8, each at a fixed rate that grows from step to step. The suite
judges only the reader. ``full`` is the published script: seven steps of a minute, each an independent job file.
``quick`` runs the same load for seconds, from no writes to nearly all that the target takes.

Caveats. The note's figure says 4K and its script 8K; the suite follows the script. The script's label of 500 MB/s is 8
x 62,500 KiB/s, which is 512 MB/s: the suite keeps the labels, and its figures show the achieved rates. The note plots
only the mean, although it collected tails; the suite shows both. Neither note nor script preconditions the drive, so
writes slow reads less on new or trimmed flash than on flash in steady state. Eight threads at depth 8 compete with the
reader for CPU: see the warnings about the generator.

One line is not the script's: ``new_group`` gives the reader its own row, and does not change the load. The script's
logs are written only if you run a step's job file by itself; a review stores intervals as long as ``log_avg_msec``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from iogauge.schema import Axis, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import step_figures
from iogauge.suites.suite import (
    QUICK_PERCENTILES,
    Ahead,
    StepTemplate,
    Suite,
    SuiteRequest,
    nothing_written,
)

READER = "reader"
WRITER = "pressure"
WRITERS = 8

PUBLISHED_MBps = range(100, 800, 100)
PUBLISHED_RUNTIME_NS = 60 * 10**9
PUBLISHED_PERCENTILES = "99:99.9:99.99:99.999:99.9999:99.99999:99.999999:99.9999999"

SEARCH_RUNTIME_NS = 2 * 10**9
QUICK_STEPS, FEWEST_STEPS = 8, 6
"""Most and fewest steps with writers at the scaled paces: neighbouring round numbers differ by 1.5x at most."""
QUICK_SHARE = 0.95
"""Scaled rates stay below this share of the search's rate: at higher rates writers wait and miss the requested rate."""

_STEPS_OF_TEN = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


class WritePressure(Suite):
    """See the module's text."""

    NAME = "write-pressure"
    TITLE = "Write pressure"
    SOURCE = "Intel's application note on read latency under write pressure (2017)"
    AXIS = Axis(name="write pressure", unit="MB/s")
    MEASURED_JOB = READER
    LOAD_JOBS = WRITER
    QUANTILES = (0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999, 0.99999999, 0.999999999)
    # The writers' requested rate bounds the simulation's work, so the published length is affordable.
    MODELLED_NS = PUBLISHED_RUNTIME_NS

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the seven published steps at full pace; at other paces a search, after which ``refine`` plans steps."""
        empty = self.empty(request, notes=_notes(request))
        load = StepTemplate.of(empty)
        if request.pace == "full":
            published = [_step(load, at, rate=f"{at * 1000 // WRITERS}k") for at in PUBLISHED_MBps]
            return empty.model_copy(update={"steps": tuple(published)})
        search = _step(replace(load, runtime_ns=SEARCH_RUNTIME_NS), 0, rate="", step_id="search")
        return empty.model_copy(update={"search": search})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with steps spread evenly from no writes to almost the rate of the search.

        Raises IogaugeError: no write completed during the search.
        """
        del request
        limit_Bps = step_figures(search, (), measured_job=READER, load_jobs=WRITER).pressure_Bps
        if limit_Bps <= 0:
            raise nothing_written(bs="8k")
        load = StepTemplate.of(plan)
        pressed = [
            _step(load, at, rate=f"{round(at * 10**6 / WRITERS)}") for at in pressures_MBps(limit_Bps / 1e6)
        ]
        note = (
            f"Steps are scaled to a search of {SEARCH_RUNTIME_NS / 1e9:.0f} s in which the target took "
            f"{limit_Bps / 1e6:.4g} MB/s of writes. If a cache absorbs writes at first, it takes fewer in longer steps."
        )
        steps = (_step(load, 0, rate=None), *pressed)
        return plan.model_copy(update={"steps": steps, "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, _request: SuiteRequest, /) -> Ahead:
        """Estimate the fewest and the most steps that a search can lead to, with writers without a limit."""
        if plan.search is None:
            return Ahead()
        load = StepTemplate.of(plan)
        pressed = tuple(_step(load, at, rate="") for at in range(1, QUICK_STEPS + 1))
        alone = _step(load, 0, rate=None)
        usual = (alone, *pressed[: (FEWEST_STEPS + QUICK_STEPS) // 2])
        # Write rates are evenly spaced up to nearly what the target takes: their mean is half of it.
        return Ahead((alone, *pressed[:FEWEST_STEPS]), (alone, *pressed), usual, load=0.5)


def pressures_MBps(limit_MBps: float) -> list[float]:
    """Return evenly spaced round write rates, at most ``QUICK_STEPS``, up to nearly what the target takes.

    >>> pressures_MBps(800)
    [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    >>> pressures_MBps(2.2)
    [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    """
    top = limit_MBps * QUICK_SHARE
    power = 10.0 ** math.floor(math.log10(top / QUICK_STEPS))
    step = next(
        mantissa * scale
        for scale in (power, 10 * power)
        for mantissa in _STEPS_OF_TEN
        if math.floor(top / (mantissa * scale)) <= QUICK_STEPS
    )
    return [round(step * count, 9) for count in range(1, math.floor(top / step) + 1)]


def _step(load: StepTemplate, at: float, *, rate: str | None, step_id: str = "") -> StepPlan:
    """Return one step. ``rate`` is each writer's in fio's notation; empty: no limit; None: no writers."""
    step_id = step_id or f"{WRITER}-{at:g}"
    writers: dict[str, object] = {
        "rw": "randwrite",
        "iodepth": 8,
        "numjobs": WRITERS,
        "rate": f",{rate}" if rate else None,
        "write_bw_log": step_id,
    }
    reader: dict[str, object] = {"new_group": 1, "rw": "randread", "iodepth": 1, "write_lat_log": step_id}
    jobs = {READER: reader} if rate is None else {WRITER: writers, READER: reader}
    return load.step(
        step_id,
        at,
        jobs,
        bs="8k",
        gtod_reduce=0,
        # The script's values, at full pace.
        log_avg_msec=None if load.ramp_ns else 500,
        percentile_list=QUICK_PERCENTILES if load.ramp_ns else PUBLISHED_PERCENTILES,
    )


def _notes(request: SuiteRequest) -> Iterator[str]:
    if request.pace == "full":
        yield "Labels are the published ones: 500 stands for 8 x 62,500 KiB/s, which is 512 MB/s."
        if request.runtime_ns and request.runtime_ns != PUBLISHED_RUNTIME_NS:
            yield f"Steps run for {request.runtime_ns / 1e9:g} s instead of the published 60 s."
