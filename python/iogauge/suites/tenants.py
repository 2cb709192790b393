"""Tenants: how many others a database can live beside, before what it waits is no longer what it was promised.

What the readers of such reviews ask of drives in shared machines. One tenant is a database: 8 KiB at random, 70 %
reads, requests that come when they come (Poisson), at a rate that the drive holds with ease when nobody else is there.
Beside it come one, two, four and eight others, which first clone images, each writing 1 MiB blocks in order as fast as
it can, and then boot from what they wrote, each reading mostly at random, in mixed sizes and in bursts.

**Two phases, two steps.** So many others clone and the same boot right after: two steps of one state group, in this
order, since the second finds the drive as the first left it; where one is interrupted, both begin again, and neither is
made longer by itself. They are not one run, because the tenant's response is to be known in each phase by itself, with
its interval, in tables, charts and comparisons: a run is judged as a whole. Between the two nobody does anything for
about a second, the tenant neither: what it still owed at the end of the cloning is not carried into the booting.

**What is judged** is the tenant's response: from when a request wanted to be made to when it was done. Its users wait
for that, and a rate that does not wait for the drive is what shows it.

**How many fit.** A number of others fits where the tenant's 99.9th percentile of response stays below a millisecond; on
a target that is slow when it is alone, below ``MULTIPLE`` times what it is then. Its whole interval must lie below; a
number does not fit where all of it lies above, and cannot be told where the limit lies within. Which numbers are tried
goes by the percentile alone: where all eight seem to fit, more come in, up to 64, until they do not; where some number
did not, the steps after that halve what lies between. Phases are judged apart, and a number that one of them asks for
is tried in both. Others are whole tenants: each has a thread and a part of the drive of its own.

Overhead and caveats. Nothing is published of such a procedure: loads, sizes and the limit are ours, and stated. The
tenant's rate is a quarter of what it reaches alone in a search of two seconds, so slow and fast drives are asked for
different rates, and only the same drive's series compare. Every other is a thread: with more of them than CPUs the
generator is part of what is measured, and its warnings say when. On small targets clones write 128 KiB at a time.

Source: the loads are ours; response against a schedule as Tene's "How NOT to measure latency" asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from iogauge.errors import IogaugeError
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import step_figures
from iogauge.stats.quantiles import Estimate
from iogauge.store import Review
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers as words
from iogauge.workload.numbers import KIB, MIB, SECOND

TENANT = "tenant"
OTHERS = "others"
GRAIN = 128 * KIB
"""What parts of the target are multiples of."""

SEARCH_RUNTIME_NS = 2 * SECOND
SEARCH_DEPTH = 16
SHARE = 0.25
"""Of what the tenant reaches alone, it asks for so much."""
DEPTH = 64
"""Requests that the tenant has in flight at most: what exceeds it waits, and its response counts that."""
FIRST = (0, 1, 2, 4, 8)
BEYOND = (12, 16, 24, 32, 48, 64)
"""Tried one after the other where all of the first fit."""
LIMIT_NS = 10**6
KEPT = 0.95
"""Share of its requests below which a tenant has fallen behind."""
LIMIT_Q = 0.999
MULTIPLE = 2
"""Times the tenant's percentile alone: the limit where that is above ``LIMIT_NS``."""
OWN = 4
"""The tenant's data takes one part in so many of the target; the others divide the rest."""
FEWEST_BYTES = 16 * MIB


@dataclass(frozen=True)
class Neighbour:
    """What the others do in one phase."""

    series: str
    key: str
    noun: str

    def options(self, part_bytes: int) -> dict[str, object]:
        """Return the job options of one of them on its own part of the target."""
        if self.key == "boots":
            return {
                "rw": "randrw",
                "rwmixread": 90,
                "bssplit": "4k/40:8k/10:16k/20:32k/15:64k/15",
                "iodepth": 8,
                "thinktime": "10ms",
                "thinktime_blocks": 64,
            }
        return {"rw": "write", "bs": MIB if part_bytes >= 16 * MIB else GRAIN, "iodepth": 1}


NEIGHBOURS = (
    Neighbour("beside others that clone images", "clones", "image clone"),
    Neighbour("beside others that boot", "boots", "booting machine"),
)


class Tenants(Suite):
    """See the module's text."""

    NAME = "tenants"
    TITLE = "Tenants"
    SOURCE = "ours, after what readers of such reviews ask of shared drives"
    AXIS = Axis(name="other tenants", unit="others")
    MEASURED_JOB = TENANT
    JUDGED = "request"
    LOAD_JOBS = OTHERS
    KIND = Kind.RESPONSE
    QUANTILES = (0.5, 0.99, LIMIT_Q, 0.9999)
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """One database beside more and more others. The search says what it reaches alone.

        Raises IogaugeError: the target has no room for so many.
        """
        judged = "Latency is response: from when the tenant's request was wanted to when it was done."
        empty = self.empty(request, notes=[judged])
        room = empty.size_bytes or request.target.size_bytes
        if room < FEWEST_BYTES:
            raise IogaugeError(
                f"{self.NAME} divides its target among {max(BEYOND) + 1} tenants, and {words.size(room)} are too few",
                hint=f"give it {FEWEST_BYTES >> 20} MiB or more",
            )
        load = replace(StepTemplate.of(empty), runtime_ns=SEARCH_RUNTIME_NS)
        search = load.step("search", 0, {TENANT: {**_database(room), "iodepth": SEARCH_DEPTH}})
        return empty.model_copy(update={"search": search})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with the tenant's rate and its first steps.

        Raises IogaugeError: the tenant did nothing during the search.
        """
        alone = step_figures(search, (), measured_job=TENANT, load_jobs=None).iops
        if alone < 2 / SHARE:
            raise IogaugeError(
                "hardly a request completed during the search for the tenant's rate",
                hint="try the target with a plain job first: iogauge run --name=db --rw=randrw --bs=8k --direct=1 ...",
            )
        rate = round(alone * SHARE)
        load = StepTemplate.of(plan)
        room = plan.size_bytes or request.target.size_bytes
        steps = _phases(load, FIRST, rate=rate, room=room)
        note = (
            f"The tenant asks for {rate:,} IOPS, {100 * SHARE:g} % of what it reached alone in a search of "
            f"{SEARCH_RUNTIME_NS / SECOND:.0f} s. Others fit as long as {100 * LIMIT_Q:g} % of its requests are "
            f"answered within {words.duration(LIMIT_NS)}, or within {MULTIPLE} times the tenant's time alone, where "
            "that is more."
        )
        return plan.model_copy(update={"steps": steps, "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead:
        """Return the first steps, and as many as it may take until it is known how many fit in each phase."""
        load, room = StepTemplate.of(plan), plan.size_bytes or request.target.size_bytes
        tried = [_tried(fitting) for fitting in range(max(BEYOND) + 1)]
        longest = max((one | other for one in tried for other in tried), key=len)
        return Ahead(
            _phases(load, FIRST, rate=0, room=room), _phases(load, sorted(longest), rate=0, room=room)
        )

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return the next numbers of others to try, until it is known how many fit in each phase."""
        room = plan.size_bytes or review.manifest.target(plan.targets[0]).size_bytes
        load = StepTemplate.of(plan)
        mine = tuple(step for step in plan.steps if step.repeat == repeat)
        steps = SuiteResult(review, plan.model_copy(update={"steps": mine})).positions
        rate = _rate(steps[0].runs[0].record)
        wanted = {
            next_number(_fitting_by_value([step for step in steps if step.plan.series == others.series]))
            for others in NEIGHBOURS
        }
        return _phases(load, sorted(many for many in wanted if many is not None), rate=rate, room=room)

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how many others fit under the limit, kind by kind."""
        by_series = result.by_series()
        return tuple(
            sentence
            for others in NEIGHBOURS
            if (steps := by_series.get(others.series))
            and (sentence := how_many_fit(others, _tails(steps), behind=_behind(steps)))
        )


Tails = Mapping[int, Estimate | None]
"""The tenant's percentile beside each number of others; ``None`` where it completed nothing."""


def how_many_fit(others: Neighbour, tails: Tails, *, behind: Collection[int] = ()) -> str:
    """Return how many of one kind fit, by the bounds of the intervals; empty where the tenant was not alone first.

    A number fits where the whole interval lies below the limit. It does not where the interval lies above, or where the
    tenant fell ``behind`` what it asked for: its requests then wait longer with every second.
    """
    if tails.get(0) is None:
        return ""
    limit_ns = _limit_ns(tails)
    fits = {many: many not in behind and _fits(tail, limit_ns) for many, tail in sorted(tails.items())}
    most, less = _most({many: fit for many, fit in fits.items() if fit is not None})
    open_numbers = [many for many, fit in fits.items() if fit is None and most < many < (less or math.inf)]
    shown = [many for many in (most, *open_numbers[:1], less) if many]
    evidence = ", ".join(f"{_time(tails[many])} beside {many}" for many in shown)
    return (
        f"{_verdict(others, most, less, open_numbers)}: {100 * LIMIT_Q:g} % of the tenant's requests are answered "
        f"within {evidence}, of {words.duration(limit_ns)} allowed"
    )


def _verdict(others: Neighbour, most: int, less: int | None, open_numbers: Sequence[int]) -> str:
    """Return in words which numbers fit, which do not, and of which that cannot be told."""
    unknown = f"; {words.listed([str(many) for many in open_numbers])} cannot be told" if open_numbers else ""
    if not most and less and unknown:
        return f"{words.counted(less, others.noun)} {_do(less)} not fit{unknown}"
    if not most:
        return f"no {others.noun} fits" if less else f"how many {others.noun}s fit cannot be told"
    fit = f"{words.counted(most, others.noun)} {'fits' if most == 1 else 'fit'}"
    if less:
        return f"{fit}, {less} {_do(less)} not{unknown}"
    return f"{fit}{unknown}" if unknown else f"all {fit}, more were not tried"


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _time(tail: Estimate | None) -> str:
    return "no measured time" if tail is None else words.estimated(tail, words.duration)


def _behind(steps: Iterable[Position]) -> frozenset[int]:
    """Return the numbers of others beside which the tenant did not get ``KEPT`` of the requests that it asked for."""
    return frozenset(
        int(step.plan.at) for step in steps if step.figures.iops < KEPT * _rate(step.runs[0].record)
    )


def _tails(steps: Iterable[Position]) -> Tails:
    return {int(step.plan.at): step.figures.quantile(LIMIT_Q) for step in steps}


def _limit_ns(tails: Tails) -> float:
    """Return the limit of the tenant's percentile, which follows from its percentile alone."""
    alone = tails.get(0)
    return max(LIMIT_NS, MULTIPLE * alone.value if alone else 0.0)


def _fits(tail: Estimate | None, limit_ns: float) -> bool | None:
    """Return whether a percentile is below the limit; ``None`` where its interval does not tell."""
    if tail is None or (tail.low is not None and tail.low > limit_ns):
        return False
    return True if tail.high is not None and tail.high < limit_ns else None


def _fitting_by_value(steps: Iterable[Position]) -> dict[int, bool]:
    """Return for each number of others whether they seem to fit: good enough to say which number to try next."""
    tails = _tails(steps)
    limit_ns = _limit_ns(tails)
    return {many: bool(tail and tail.value < limit_ns) for many, tail in tails.items()}


def _most(fits: Mapping[int, bool]) -> tuple[int, int | None]:
    """Return the most others that fit, and the least beyond them that do not; ``None``: none of them does not."""
    less = min((many for many, fit in fits.items() if not fit), default=None)
    most = max((many for many, fit in fits.items() if fit and (less is None or many < less)), default=0)
    return most, less


def next_number(fits: Mapping[int, bool]) -> int | None:
    """Return how many others to try next; None: it is known how many fit, or that more than can be tried do.

    >>> next_number({0: True, 1: True, 2: True, 4: True, 8: True})
    12
    >>> next_number({0: True, 4: True, 8: False}), next_number({0: True, 4: True, 6: True, 7: False, 8: False})
    (6, None)
    """
    if not fits:
        return None
    most, less = _most(fits)
    if less is None:
        return next((many for many in BEYOND if many > most), None)
    return (most + less) // 2 if less - most > 1 else None


def _tried(fitting: int) -> frozenset[int]:
    """Return the numbers that are tried where so many others fit."""
    fits = {many: many <= fitting for many in FIRST}
    while (many := next_number(fits)) is not None:
        fits[many] = many <= fitting
    return frozenset(fits)


def _phases(load: StepTemplate, numbers: Iterable[int], *, rate: int, room: int) -> tuple[StepPlan, ...]:
    """Return the steps of each number of others, phase by phase."""
    return tuple(_step(load, others, many, rate=rate, room=room) for many in numbers for others in NEIGHBOURS)


def _database(room: int) -> dict[str, object]:
    own = room // OWN // (8 * KIB) * (8 * KIB)
    return {"rw": "randrw", "rwmixread": 70, "bs": "8k", "size": own}


def _step(load: StepTemplate, others: Neighbour, many: int, *, rate: int, room: int) -> StepPlan:
    """Return one step; a tenant whose ``rate`` is 0 asks for as much as it can get."""
    offset = -(-room // OWN // GRAIN) * GRAIN
    part = (room - offset) // max(BEYOND) // GRAIN * GRAIN
    reads = max(round(0.7 * rate), 1)
    tenant: dict[str, object] = {
        "new_group": 1,
        **_database(room),
        "iodepth": DEPTH,
        "rate_iops": f"{reads},{max(rate - reads, 1)}" if rate else None,
        "rate_process": "poisson",
    }
    beside: dict[str, object] = {
        **others.options(part),
        "numjobs": many,
        "offset": offset,
        "offset_increment": part,
        "size": part,
    }
    jobs = {OTHERS: beside, TENANT: tenant} if many else {TENANT: tenant}
    # Nobody leaves anything behind for the tenant alone.
    group = f"{OTHERS}-{many}" if many else ""
    return load.step(f"{others.key}-{many}", many, jobs, series=others.series, state_group=group)


def _rate(record: RunRecord) -> int:
    """Return what the tenant of a step asked for, IOPS."""
    job = next(job for job in record.jobs.jobs if job.name == TENANT)
    return job.rate_iops.read + job.rate_iops.write
