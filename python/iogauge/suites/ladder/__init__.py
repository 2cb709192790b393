"""Ladder: what each tuning of the machine is worth, in microseconds of latency.

Two loads, those of the table of tunings in Intel's evaluation guide: 4 KiB random reads one at a time, polled for, and
4 KiB random writes by four workers at depth 4. Each runs on every rung of a ladder: on stock, the machine as it is, and
with the settings of one rung after the other. By default the rungs are the guide's: governor, irqbalance, interrupts'
affinity, two ways of a fixed clock. Each rung keeps the settings of those below it and is compared with the one below;
or, one at a time, it has its own alone and is compared with stock.

Every repeat is a block: it runs each rung once, in random order, each after the same idle time. So drift affects
all rungs alike, and a rung's effect is its difference within blocks (``stats.effects``). Six blocks are the fewest that
can establish one. Stock runs twice in every block, under two names: if these differ (A/A), rungs may differ by
chance.

A rung that this machine cannot set is named with the reason, and not run. Those above it are compared with the next
rung below. Settings hold only during a step, its idle time included, and are undone after it.

In front of a drive model the rungs are machine models, fitted to the guide's figures. There is none for a setting
alone.

Caveats. The guide polled with pvsync2 and hipri; since Linux 5.19 that no longer polls. The suite uses io_uring, with
hipri on a block device that polls; otherwise an interrupt ends each read, and rungs about interrupts and sleep are
worth more. Reads come before writes in each block, so that few reads follow writes. The guide's figures are fio's clat:
the same for polled reads, but for writes they begin after the submission, so writes are judged by clat.

Source: Intel's evaluation guide for the P4800X, table 7; the procedure of blocks is ours (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from iogauge import catalog
from iogauge.catalog.ladders import AGAIN, STOCK, load_ladder, step_name
from iogauge.catalog.published import Point, points
from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Kind, Rung, StepPlan, SuitePlan, TargetFacts
from iogauge.suites.ladder import effects as ladder_effects
from iogauge.suites.suite import LadderRequest, Pace, StepTemplate, Suite, SuiteRequest, time_text
from iogauge.workload.numbers import SECOND
from iogauge.workload.options.patterns import file_text

JOB = "load"
TABLE = "Intel evaluation guide Table 7"
"""The source of the published points, as they name it."""

NOT_MEASURED = " was not measured: "
"""In the note on a rung, before the reason."""

SETTLE_NS: Mapping[Pace, int] = {"quick": SECOND, "standard": 5 * SECOND, "full": 30 * SECOND}
"""Idle time before each step, with the settings of its rung. A drive model needs none."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One of the two loads, in the words of the published points."""

    key: str
    series: str
    noun: str
    """What one of its requests is called."""
    read_percent: int
    kind: Kind
    """The latency that the publication states."""
    options: Mapping[str, object]

    @property
    def depth(self) -> tuple[int, int]:
        """Threads, and the depth of each."""
        return (1, 1) if self.read_percent else (4, 4)


READS = Workload(
    key="reads",
    series="4 KiB random reads, one at a time",
    noun="read",
    read_percent=100,
    kind=Kind.LAT,
    options={"rw": "randread", "iodepth": 1},
)
WRITES = Workload(
    key="writes",
    series="4 KiB random writes, 4 x 4",
    noun="write",
    read_percent=0,
    kind=Kind.CLAT,
    options={"rw": "randwrite", "iodepth": 4, "numjobs": 4, "iodepth_batch": 1},
)


class LadderSuite(Suite):
    """See the module's text."""

    NAME = "ladder"
    TITLE = "What each tuning is worth"
    SOURCE = "Intel's evaluation guide for the P4800X, table 7"
    AXIS = Axis(name="rung", unit="rung")
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    TUNES = True
    SHUFFLED = True
    QUANTILES = ladder_effects.QUANTILES
    # Long enough for a million reads one at a time: the table has the 99.999th percentile.
    MODELLED_NS = 10 * SECOND
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 3 * SECOND,
        "standard": 20 * SECOND,
        "full": 120 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan both loads on every rung that the machine can set, and on stock under two names."""
        wanted = request.ladder or LadderRequest(ladder=load_ladder())
        modelled = request.target.modelled is not None
        rungs = tuple(_rungs(wanted, modelled=modelled))
        loads = (READS,) if wanted.reads_only else (READS, WRITES)
        empty = self.empty(_behind_rungs(request), notes=_notes(request, wanted))
        template = StepTemplate.of(empty)
        paths = [_path(request.target, rung) for rung in rungs]
        steps = tuple(
            _step(template, load, number, rung, path, request)
            for load in loads
            for (number, rung), path in zip(enumerate(rungs), paths, strict=True)
        )
        others = tuple(dict.fromkeys(path for path in paths if path != request.target.path))
        return empty.model_copy(update={"steps": steps, "compared_with": others})

    def runtime_ns(self, request: SuiteRequest) -> int:
        """Return the measured part of a step; on a drive model it is the same at every pace."""
        if request.target.modelled:
            return request.runtime_ns or self.MODELLED_NS
        return super().runtime_ns(request)

    def published(self, step: StepPlan, /) -> tuple[Point, ...]:
        """Return the guide's figures for a step's rung and load.

        >>> rung = Rung(name="stock", published="linux-stock")
        >>> step = StepPlan(id="", series=READS.series, at=0, job_file="", seed=0, state_group="", rung=rung)
        >>> [point.value for point in LadderSuite().published(step) if point.metric == "lat_mean"]
        [8.43]
        """
        load = READS if step.series == READS.series else WRITES
        return tuple(
            point
            for point in points()
            if step.rung is not None
            and TABLE in point.source
            and point.host == step.rung.published
            and point.read_percent == load.read_percent
            and (point.threads, point.depth) == load.depth
        )

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return what each rung is worth, whether A/A differs, and both beside the published figures."""
        return ladder_effects.conclude(
            result, self.published, {READS.series: READS.noun, WRITES.series: WRITES.noun}
        )


def _rungs(wanted: LadderRequest, *, modelled: bool) -> Iterator[Rung]:
    """Yield stock under its two names and the rungs that can be set, from the bottom up."""
    stock = wanted.ladder.stock
    yield Rung(name=STOCK, published=stock)
    yield Rung(name=AGAIN, against=STOCK, published=stock)
    settings: dict[str, str | int] = {}
    below = STOCK
    for rung in wanted.ladder.rung:
        if _missing(wanted, rung.name, modelled=modelled):
            continue
        settings = {**({} if wanted.one_at_a_time else settings), **rung.settings}
        yield Rung(
            name=rung.name,
            # A machine model has its settings in it.
            settings={} if modelled else settings,
            against=STOCK if wanted.one_at_a_time else below,
            published=rung.machine,
        )
        below = rung.name


def _missing(wanted: LadderRequest, name: str, *, modelled: bool) -> str:
    """Return why a rung cannot be set; empty: it can."""
    if modelled:
        machine = next(rung.machine for rung in wanted.ladder.rung if rung.name == name)
        return "" if machine else "no machine model stands for it"
    return wanted.missing.get(name, "")


def _notes(request: SuiteRequest, wanted: LadderRequest) -> Iterator[str]:
    modelled = request.target.modelled is not None
    for rung in wanted.ladder.rung:
        if why := _missing(wanted, rung.name, modelled=modelled):
            yield f"{rung.name}{NOT_MEASURED}{why}"
    if modelled and wanted.one_at_a_time:
        yield (
            "Each rung's machine model was fitted to a row of the guide, which does not say whether the row keeps the "
            "settings of those above it: no model has one setting alone."
        )
    if not modelled and not _polled(request.target):
        yield (
            "Reads were not polled for: an interrupt ends each. Only an NVMe drive with poll queues can be polled "
            "(nvme.poll_queues=1 on the kernel's command line)."
            if request.target.kind == "block"
            else "Reads were not polled for: an interrupt ends each. Only a block device can be polled."
        )


def _behind_rungs(request: SuiteRequest) -> SuiteRequest:
    """Return the request with a target that names no machine model of its own, since every rung has another."""
    if request.target.modelled is None:
        return request
    modelled = request.target.modelled.model_copy(update={"machine_title": "the machine model of each rung"})
    return replace(request, targets=(request.target.model_copy(update={"modelled": modelled}),))


def _path(target: TargetFacts, rung: Rung) -> str:
    """Return where a rung's load goes: a drive model has another machine model in front of it on each rung."""
    if target.modelled is None or not rung.published:
        return target.path
    return f"{catalog.PREFIX}{catalog.split(target.path)[0]}@{rung.published}"


def _polled(target: TargetFacts) -> bool:
    # Not every file system polls for the requests of its files.
    return target.kind == "block" and target.polls is True


def _step(
    template: StepTemplate, load: Workload, number: int, rung: Rung, path: str, request: SuiteRequest
) -> StepPlan:
    engine: dict[str, object] = {}
    if request.target.modelled:
        # The machine models were fitted to the guide's engines.
        engine = {"ioengine": "pvsync2", "hipri": 1} if load is READS else {}
    elif load is READS:
        engine = {"ioengine": "io_uring", "hipri": 1 if _polled(request.target) else None}
    settle = None if request.target.modelled else time_text(SETTLE_NS[request.pace])
    return template.step(
        f"{load.key}-{step_name(rung.name)}",
        number,
        {JOB: {**load.options, **engine, "startdelay": settle}},
        series=load.series,
        label=rung.name,
        kind=load.kind,
        rung=rung,
        filename=file_text(path),
        bs="4k",
    )
