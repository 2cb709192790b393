"""Made-up hosts of a fleet, saved by the real stores: one step of reads and writes, second by second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iogauge.fleet.saved import Fleet, open_fleet
from iogauge.schema import (
    Direction,
    FleetHost,
    FleetManifest,
    FleetMode,
    HostOutcome,
    Interval,
    Job,
    JobFile,
    Kind,
    Rw,
    Start,
    Tally,
)
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from tests import builders

SECOND_NS = 10**9
STEP = "at-0300"
BROKEN = b"no histogram"
JOBS = JobFile(
    jobs=(Job(name="pressure", rw=Rw.RANDWRITE), Job(name="reader", rw=Rw.RANDREAD)),
    source=STEP,
    options=({}, {}),
)

Seconds = Sequence[Sequence[int]]
"""The latencies of the reads of each second, ns."""


def host(name: str, *, outcome: HostOutcome = HostOutcome.DONE, **labels: str) -> FleetHost:
    """Return a host of a fleet."""
    return FleetHost(name=name, targets=("/dev/sda",), seed=1, outcome=outcome, labels=labels)


def at(name: str, slot: str) -> FleetHost:
    """Return a host whose drive sits in a slot."""
    return host(name).model_copy(update={"slots": {"/dev/sda": slot}})


def start(name: str, planned_ns: int, *, late_ns: int | None = 0, bound_ns: int = 5) -> Start:
    """Return the start of the step on a host; ``late_ns`` None: it is unknown."""
    achieved_ns = None if late_ns is None else planned_ns + late_ns
    return Start(host=name, step=STEP, planned_ns=planned_ns, achieved_ns=achieved_ns, bound_ns=bound_ns)


def fleet(
    path: Path,
    reads: Mapping[FleetHost, Seconds | Sequence[Interval]] | Sequence[tuple[FleetHost, Any]],
    *,
    mode: FleetMode = FleetMode.TOGETHER,
    starts: Sequence[Start] = (),
    models: Mapping[str, str] | None = None,
    **fields: Any,
) -> Fleet:
    """Save a fleet of hosts with their reads; None: nothing of a host was saved; empty: its step is not complete."""
    hosts = list(reads)
    manifest = FleetManifest(
        id="f", created="2026-01-01T00:00:00Z", mode=mode, seed=1, hosts=tuple(one for one, _ in hosts)
    )
    store = FleetStore.create(path, manifest)
    store.append(*starts)
    for one, seconds in hosts:
        if seconds is not None:
            intervals = seconds if seconds and isinstance(seconds[0], Interval) else of_seconds(seconds)
            model = (models or {}).get(one.name, "Flash 9000")
            save(store.host_directory(one.name), intervals, model=model, **fields)
    return open_fleet(path)


def of_seconds(seconds: Seconds) -> list[Interval]:
    """Return intervals in which the reader reads, and another job writes."""
    return [
        made
        for index, values in enumerate(seconds)
        for made in (
            builders.interval(index, {Direction.WRITE: builders.tally([7_000])}, row=0),
            builders.interval(index, {Direction.READ: builders.tally(values)}, row=1),
        )
    ]


def save(
    path: Path, intervals: Sequence[Interval], *, model: str, interval_ns: int = SECOND_NS, **step: Any
) -> None:
    """Save the review of a host; without intervals, its step is not complete."""
    target = builders.target("/dev/sda", kind="block", model=model, firmware=f"{model[-1]}.1")
    plan = builders.step(STEP, 300, interval_ns=interval_ns, **step)
    review = Review.create(path, builders.manifest([plan], target=target))
    if not intervals:
        return
    with review.lock(), review.begin(STEP) as writer:
        for interval in intervals:
            writer.interval(interval)
        rows = tuple(
            builders.row(name, {direction: _total(intervals, direction)}, index=row)
            for row, name, direction in ((0, "pressure", Direction.WRITE), (1, "reader", Direction.READ))
        )
        record = builders.record(rows, jobs=JOBS, target_facts=target)
        plan_of_run = record.plan.model_copy(update={"interval_ns": interval_ns})
        writer.finish(record.model_copy(update={"plan": plan_of_run}))


def _total(intervals: Sequence[Interval], direction: Direction) -> Tally:
    tallies = [made.tallies[direction] for made in intervals if direction in made.tallies and not made.ramp]
    merged = Histogram.merge(
        Histogram.decode(tally.histograms[Kind.LAT], tally.exact.get(Kind.LAT))
        for tally in tallies
        if tally.histograms[Kind.LAT] != BROKEN
    )
    return builders.tally(
        ios=sum(tally.ios for tally in tallies),
        bytes=sum(tally.bytes for tally in tallies),
        histograms={Kind.LAT: merged.encoded()},
        exact={Kind.LAT: merged.exact} if merged.exact else {},
    )
