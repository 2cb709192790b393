"""Tenants: how many other loads can share a drive with a database before the database waits too long.

The tenant is a database: 8 KiB requests at random, 70 % reads, Poisson arrivals, at a rate that the drive serves easily
when the tenant is alone. One, two, four and eight others join it. First they clone images: each writes 1 MiB blocks in
order as fast as it can. Then they boot from what they wrote: each reads mostly at random, in mixed sizes and in bursts.

**Two phases, two steps.** Cloning and booting by the same number of others are two steps of one state group, since
booting reads what cloning wrote. If one is interrupted, both run again, and neither is lengthened by itself. They are
not one run, because a run is judged as a whole, and the tenant's response in each phase needs its own interval. The
drive idles for about a second between the two; the tenant's queue at the end of cloning is dropped.

**The suite judges** the tenant's response: from the intended start of a request to its completion. This is what its
users wait for, and only arrivals that do not wait for the drive show it.

**How many fit.** The limit is 1 ms. A number of others fits if the whole interval of the tenant's 99.9th percentile of
response lies below the limit. It does not fit if the whole interval lies above. If the limit lies within the interval,
the finding says that the runs cannot tell. On a slow drive the tenant comes near the limit alone: if ``MULTIPLE`` times
its percentile alone is above the limit, the finding says how many others fit within that instead.

The percentile alone decides which numbers are tried. If all eight seem to fit, the suite tries more, up to 64, until
they do not; then it halves the gap. Phases are judged separately, but every number is tried in both. Each of the others
has its own thread and its own part of the drive.

Caveats. The procedure is ours: we chose loads, sizes and the limit. The tenant's rate is a quarter of what it reaches
alone in a search of two seconds, so slow and fast drives get different rates; only series on the same drive compare.
With more others than CPUs, results include the generator's limits, and its warnings say so. On small targets clones
write 128 KiB at a time.

Source: the loads are ours; response against a schedule after Tene's "How NOT to measure latency".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from iogauge.errors import IogaugeError
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.figures import step_figures
from iogauge.store import Review
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers as words
from iogauge.text.option import call, option
from iogauge.workload.numbers import KIB, MIB, SECOND

TENANT = "tenant"
OTHERS = "others"
GRAIN = 128 * KIB
"""Parts of the target are multiples of this."""

SEARCH_RUNTIME_NS = 2 * SECOND
SEARCH_DEPTH = 16
SHARE = 0.25
"""The tenant's rate, as a share of what it reaches alone."""
DEPTH = 64
"""The tenant's most requests in flight; further requests wait, which their response includes."""
FIRST = (0, 1, 2, 4, 8)
BEYOND = (12, 16, 24, 32, 48, 64)
"""Numbers of others to try one after the other if all of ``FIRST`` fit."""
USUAL_BEYOND = 3
"""How many more numbers are usually tried: of ``BEYOND``, or between two of ``FIRST``."""
LIMIT_NS = 10**6
KEPT = 0.95
"""A tenant that gets less than this share of its requests has fallen behind."""
LIMIT_Q = 0.999
MULTIPLE = 2
"""A slow drive is judged by this many times the tenant's percentile alone, if that is above ``LIMIT_NS``."""
OWN = 4
"""The tenant's data takes one part in this many of the target; the others divide the rest."""
FEWEST_BYTES = 16 * MIB


@dataclass(frozen=True)
class Neighbour:
    """The load of the others in one phase."""

    series: str
    key: str
    noun: str

    def options(self, part_bytes: int) -> dict[str, object]:
        """Return the job options of one of the others, on its own part of the target."""
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
    OVERLOADS = True
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
        """Plan a search for the rate that the tenant reaches alone.

        Raises IogaugeError: the target is too small for all tenants.
        """
        note = "Latency is the response: from the intended start of a tenant's request to its completion."
        empty = self.empty(request, notes=[note])
        room = empty.size_bytes or request.target.size_bytes
        if room < FEWEST_BYTES:
            raise IogaugeError(
                f"{self.NAME} divides its target among {max(BEYOND) + 1} tenants, and {words.size(room)} is too small",
                hint=f"use {FEWEST_BYTES >> 20} MiB or more ({option('size')}), or another target",
            )
        load = replace(StepTemplate.of(empty), runtime_ns=SEARCH_RUNTIME_NS)
        search = load.step("search", 0, {TENANT: {**_database(room), "iodepth": SEARCH_DEPTH}})
        return empty.model_copy(update={"search": search})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with the first steps, at the tenant's rate.

        Raises IogaugeError: hardly a request of the tenant completed during the search.
        """
        alone = step_figures(search, (), measured_job=TENANT, load_jobs=None).iops
        if alone < 2 / SHARE:
            raise IogaugeError(
                "hardly a request completed during the search for the tenant's rate",
                hint=f"first run a job with rw=randrw, bs=8k and direct=1 on the target alone: {call('run', 'JOBS')}",
            )
        rate = round(alone * SHARE)
        load = StepTemplate.of(plan)
        room = plan.size_bytes or request.target.size_bytes
        steps = _phases(load, FIRST, rate=rate, room=room)
        note = (
            f"The tenant requests {rate:,} IOPS, {100 * SHARE:g} % of what it reached alone in a search of "
            f"{SEARCH_RUNTIME_NS / SECOND:.0f} s. Others fit if {100 * LIMIT_Q:g} % of its requests complete within "
            f"{words.duration(LIMIT_NS)}. If {MULTIPLE} times its time alone is more, the finding is about that."
        )
        return plan.model_copy(update={"steps": steps, "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead:
        """Estimate the first steps, and the most steps that finding the numbers that fit may take."""
        load, room = StepTemplate.of(plan), plan.size_bytes or request.target.size_bytes
        tried = [_tried(fitting) for fitting in range(max(BEYOND) + 1)]
        longest = max((one | other for one in tried for other in tried), key=len)
        phases = partial(_phases, load, rate=0, room=room)
        return Ahead(phases(FIRST), phases(sorted(longest)), phases((*FIRST, *BEYOND[:USUAL_BEYOND])))

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return steps for the next numbers of others to try; none once each phase's number is found."""
        room = plan.size_bytes or review.manifest.target(plan.targets[0]).size_bytes
        load = StepTemplate.of(plan)
        mine = tuple(step for step in plan.steps if step.repeat == repeat)
        steps = SuiteResult(review, plan.model_copy(update={"steps": mine})).positions
        rate = _rate(steps[0].runs[0].record)
        candidates = {
            next_number(_fitting_by_value([step for step in steps if step.plan.series == others.series]))
            for others in NEIGHBOURS
        }
        counts = sorted(count for count in candidates if count is not None)
        return _phases(load, counts, rate=rate, room=room)

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return for each phase how many others fit."""
        by_series = result.by_series()
        return tuple(
            sentence
            for others in NEIGHBOURS
            if (steps := by_series.get(others.series))
            and (sentence := how_many_fit(others, _tails(steps), behind=_behind(steps)))
        )


Tails = Mapping[int, Figure | None]
"""The tenant's percentile beside each number of others; ``None`` if it completed nothing."""


def how_many_fit(others: Neighbour, tails: Tails, *, behind: Collection[int] = ()) -> str:
    """Return a finding about how many of the others fit; empty if the tenant was not measured alone.

    A number fits if the whole interval of its tail lies below the limit. It does not fit if the interval lies above, or
    if the tenant fell ``behind`` its rate: its requests then wait longer with every second.
    """
    if tails.get(0) is None:
        return ""
    limit_ns = _limit_ns(tails)
    fits = {count: count not in behind and _fits(tail, limit_ns) for count, tail in sorted(tails.items())}
    most, too_many = _most({count: fit for count, fit in fits.items() if fit is not None})
    undecided = [
        count for count, fit in fits.items() if fit is None and most < count < (too_many or math.inf)
    ]
    counts = [count for count in (most, *undecided[:1], too_many) if count]
    if not counts:
        return ""
    evidence = words.listed([f"{_time(tails[count])} beside {count}" for count in counts])
    within, limit = "", f"the limit is {words.duration(limit_ns)}"
    if limit_ns > LIMIT_NS:
        within = f"within {MULTIPLE} times the tenant's time alone, "
        limit = f"that is {words.duration(limit_ns)}, above the limit of {words.duration(LIMIT_NS)}"
    return (
        f"{within}{_verdict(others, most, too_many, undecided)}: {100 * LIMIT_Q:g} % of the tenant's requests complete "
        f"within {evidence}; {limit}"
    )


def _verdict(others: Neighbour, most: int, too_many: int | None, undecided: Sequence[int]) -> str:
    """Say which numbers of others fit, which do not, and for which the intervals are too wide."""
    unknown = ""
    if undecided:
        numbers = words.listed([str(count) for count in undecided])
        unknown = f"; these runs cannot tell whether {numbers} {'does' if numbers == '1' else 'do'}"
    if not most and too_many and unknown:
        return f"{words.counted(too_many, others.noun)} {_do(too_many)} not fit{unknown}"
    if not most:
        return f"no {others.noun} fits" if too_many else f"these runs cannot tell how many {others.noun}s fit"
    fit = f"{words.counted(most, others.noun)} {'fits' if most == 1 else 'fit'}"
    if too_many:
        return f"{fit}, {too_many} {_do(too_many)} not{unknown}"
    return f"{fit}{unknown}" if unknown else f"all {fit}; more were not tried"


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _time(tail: Figure | None) -> str:
    return "no measured time" if tail is None else words.estimated(tail, words.duration)


def _behind(steps: Iterable[Position]) -> frozenset[int]:
    """Return the numbers of others beside which the tenant got less than ``KEPT`` of its requested rate."""
    return frozenset(
        int(step.plan.at) for step in steps if step.figures.iops < KEPT * _rate(step.runs[0].record)
    )


def _tails(steps: Iterable[Position]) -> Tails:
    return {int(step.plan.at): step.figures.quantile(LIMIT_Q) for step in steps}


def _limit_ns(tails: Tails) -> float:
    """Return the most that the percentile may be: the limit, or on a slow drive ``MULTIPLE`` times the time alone."""
    alone = tails.get(0)
    return max(LIMIT_NS, MULTIPLE * alone.value if alone else 0.0)


def _fits(tail: Figure | None, limit_ns: float) -> bool | None:
    """Return whether a percentile is below the limit; ``None`` if the limit lies within its interval."""
    if tail is None or (tail.low is not None and tail.low > limit_ns):
        return False
    return True if tail.high is not None and tail.high < limit_ns else None


def _fitting_by_value(steps: Iterable[Position]) -> dict[int, bool]:
    """Return for each number of others whether they fit by the value alone, which decides what to try next."""
    tails = _tails(steps)
    limit_ns = _limit_ns(tails)
    return {count: bool(tail and tail.value < limit_ns) for count, tail in tails.items()}


def _most(fits: Mapping[int, bool]) -> tuple[int, int | None]:
    """Return the most others that fit, and the fewest that do not; ``None``: all fit."""
    too_many = min((count for count, fit in fits.items() if not fit), default=None)
    most = max((count for count, fit in fits.items() if fit and count < (too_many or math.inf)), default=0)
    return most, too_many


def next_number(fits: Mapping[int, bool]) -> int | None:
    """Return how many others to try next; None: the number is found, or all numbers that can be tried fit.

    >>> next_number({0: True, 1: True, 2: True, 4: True, 8: True})
    12
    >>> next_number({0: True, 4: True, 8: False}), next_number({0: True, 4: True, 6: True, 7: False, 8: False})
    (6, None)
    """
    if not fits:
        return None
    most, too_many = _most(fits)
    if too_many is None:
        return next((count for count in BEYOND if count > most), None)
    return (most + too_many) // 2 if too_many - most > 1 else None


def _tried(fitting: int) -> frozenset[int]:
    """Return the numbers that a search tries if ``fitting`` others fit."""
    fits = {count: count <= fitting for count in FIRST}
    while (count := next_number(fits)) is not None:
        fits[count] = count <= fitting
    return frozenset(fits)


def _phases(load: StepTemplate, counts: Iterable[int], *, rate: int, room: int) -> tuple[StepPlan, ...]:
    """Return both phases' steps for each number of others."""
    return tuple(
        _step(load, others, count, rate=rate, room=room) for count in counts for others in NEIGHBOURS
    )


def _database(room: int) -> dict[str, object]:
    own = room // OWN // (8 * KIB) * (8 * KIB)
    return {"rw": "randrw", "rwmixread": 70, "bs": "8k", "size": own}


def _step(load: StepTemplate, others: Neighbour, count: int, *, rate: int, room: int) -> StepPlan:
    """Return one step; a ``rate`` of 0 does not limit the tenant."""
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
    load_jobs: dict[str, object] = {
        **others.options(part),
        "numjobs": count,
        "offset": offset,
        "offset_increment": part,
        "size": part,
    }
    jobs = {OTHERS: load_jobs, TENANT: tenant} if count else {TENANT: tenant}
    # Without others the second phase reads nothing that the first wrote, so the steps are independent.
    group = f"{OTHERS}-{count}" if count else ""
    return load.step(f"{others.key}-{count}", count, jobs, series=others.series, state_group=group)


def _rate(record: RunRecord) -> int:
    """Return the tenant's requested rate in a step, IOPS."""
    job = next(job for job in record.jobs.jobs if job.name == TENANT)
    return job.rate_iops.read + job.rate_iops.write
