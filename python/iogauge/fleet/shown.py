"""Fills the plain data that reports show (``report/fleet/view.py``) from a saved fleet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from iogauge.fleet.control.preflight import differences
from iogauge.fleet.host.messages import HostFacts
from iogauge.fleet.judge import judge
from iogauge.fleet.merge.group import Course, MergedGroup
from iogauge.fleet.merge.merged import SLOT
from iogauge.fleet.saved import Fleet
from iogauge.report.fleet.view import (
    Difference,
    Drive,
    Event,
    FleetView,
    Group,
    Host,
    Moment,
    Share,
    Slow,
    Standing,
    Start,
)
from iogauge.schema import ClockBatch, Direction
from iogauge.stats.fleet.findings import DrivePoint, Finding, Suspect
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from iogauge.store.names import MANIFEST

MOST_MOMENTS = 600
"""The most moments of a step and direction: more intervals than this are put together."""
_STANDINGS = {
    Suspect.MODEL: Standing.OF_MODEL,
    Suspect.FIRMWARE: Standing.OF_MODEL,
    Suspect.HOST: Standing.OF_HOST,
    Suspect.SLOT: Standing.OF_SLOT,
    Suspect.DRIVE: Standing.SLOW,
}


def view_of(fleet: Fleet, *, every_group: bool = False) -> FleetView:
    """Return what reports show of a saved fleet, judged now.

    ``every_group`` also merges the hosts by name, model, firmware and label, which reads every interval again for each.
    Raises IogaugeError if a file is damaged.
    """
    manifest, store = fleet.manifest, FleetStore.open(fleet.path)
    judged = judge(store)
    places = {host.name: place for place, host in enumerate(fleet.hosts)}
    groups: list[Group] = []
    moments: list[Moment] = []
    thinned = 1
    for step in fleet.steps:
        (group,) = fleet.merged(step)
        groups += _groups(group, "fleet", step)
        together = math.ceil(len(group.moments.start_ns) / MOST_MOMENTS) or 1
        thinned = max(thinned, together)
        moments += _moments(group, step, together)
    if every_group:
        groups += _grouped(fleet)
    return FleetView(
        path=str(fleet.path),
        created=manifest.created,
        mode=manifest.mode.value,
        options=manifest.options,
        hosts=tuple(_hosts(fleet, store)),
        drives=tuple(_drive(point) for point in sorted(judged.points, key=lambda it: places[it.host])),
        slow=tuple(map(_slow, judged.findings)),
        undecided=judged.cannot_tell,
        false_rate=judged.rate,
        detectable=judged.detectable,
        moments=tuple(moments),
        thinned=thinned,
        groups=tuple(groups),
        starts=tuple(
            Start(host=late.host, step=late.step, late_ns=late.late_ns, bound_ns=late.bound_ns)
            for late in fleet.skew().rows
        ),
        differences=_differences(store),
        events=tuple(
            Event(at=event.at, host=event.host, kind=event.kind, text=event.text) for event in fleet.events
        ),
    )


def _hosts(fleet: Fleet, store: FleetStore) -> Iterator[Host]:
    complete = Counter(step.host for step in fleet.host_steps if step.complete)
    clocks: dict[str, ClockBatch] = {batch.host: batch for batch in store.clock()}
    for host in fleet.hosts:
        clock = clocks.get(host.name)
        yield Host(
            name=host.name,
            outcome=host.outcome.value,
            why=host.why,
            targets=host.targets,
            labels=host.labels,
            kernel=host.kernel,
            cpu=host.cpu,
            version=host.version,
            steps=complete[host.name],
            offset_ns=None if clock is None else clock.offset_ns,
            bound_ns=None if clock is None else clock.bound_ns,
        )


def _drive(point: DrivePoint) -> Drive:
    return Drive(
        name=point.drive,
        host=point.host,
        model=point.model,
        firmware=point.firmware,
        slot=point.slot,
        slowness=point.latency_ratio,
        low=point.low,
        high=point.high,
        tail=point.tail_ratio,
        rate=point.iops_ratio,
        slow_share=point.slow_share,
        standing=_standing(point),
    )


def _standing(point: DrivePoint) -> Standing:
    if point.suspect is None:
        return Standing.NORMAL
    if point.suspect is Suspect.DRIVE and point.in_tail:
        return Standing.SLOW_TAIL
    return _STANDINGS[point.suspect]


def _slow(finding: Finding) -> Slow:
    # A drive without a serial number has its host in its name already.
    name = finding.name.removeprefix(f"{finding.host}:")
    return Slow(
        kind=finding.suspect.value,
        name=f"{name} of host {finding.host}" if finding.host else name,
        slowness=finding.ratio,
        low=finding.low,
        high=finding.high,
        drives=len(finding.drives),
        why=finding.why,
        at_times=finding.at_times,
        in_tail=finding.in_tail,
    )


def _grouped(fleet: Fleet) -> Iterator[Group]:
    """Yield the groups by each thing in which hosts differ."""
    labels = dict.fromkeys(label for host in fleet.hosts for label in host.labels)
    if any(host.slots for host in fleet.hosts):
        labels[SLOT] = None
    for by in ("model", "firmware", *labels, "host"):
        groups = [(step, group) for step in fleet.steps for group in fleet.merged(step, by=by)]
        if len({group.name for _, group in groups}) > 1:
            for step, group in groups:
                yield from _groups(group, by, step)


def _groups(group: MergedGroup, by: str, step: str) -> Iterator[Group]:
    """Yield the figures of a group, one for each direction.

    A direction without a request is left out, unless the group has none at all: that is to be seen.
    """
    lasted_s = int(group.moments.included.sum()) * group.interval_ns / 1e9
    is_empty = not any(histogram.count for histogram in group.total.values())
    for direction, histogram in group.total.items():
        if not histogram.count and not is_empty:
            continue
        p50_ns, p99_ns, p999_ns, p9999_ns = (_quantile(histogram, q) for q in (0.5, 0.99, 0.999, 0.9999))
        shares = (
            sorted((count, host) for host, count in group.requests[direction].items()) if lasted_s else []
        )
        yield Group(
            by=by,
            name=group.name or "all",
            step=step,
            direction=direction.value,
            hosts=len(group.hosts),
            missing=(*group.missing, *group.apart),
            requests=histogram.count,
            iops=histogram.count / lasted_s if lasted_s else None,
            mean_ns=_finite(histogram.mean),
            p50_ns=p50_ns,
            p99_ns=p99_ns,
            p999_ns=p999_ns,
            p9999_ns=p9999_ns,
            excluded_s=len(group.excluded_s) * group.interval_ns / 1e9,
            lowest=Share(host=shares[0][1], iops=shares[0][0] / lasted_s) if shares else None,
            highest=Share(host=shares[-1][1], iops=shares[-1][0] / lasted_s) if shares else None,
        )


def _quantile(histogram: Histogram, q: float) -> float | None:
    return float(histogram.quantile(q)) if histogram.supports(q) else None


def _moments(group: MergedGroup, step: str, together: int) -> Iterator[Moment]:
    """Yield the moments of a step, direction by direction; each stands for so many intervals ``together``."""
    for direction, course in group.moments.directions.items():
        if not group.total[direction].count:
            continue
        for first in range(0, len(group.moments.start_ns), together):
            yield _moment(group, step, direction, course, slice(first, first + together))


def _moment(group: MergedGroup, step: str, direction: Direction, course: Course, part: slice) -> Moment:
    ios, size = ([*map(float, values[part])] for values in (course.ios, course.bytes))
    seconds = len(ios) * group.interval_ns / 1e9
    # A part with an interval in which not all hosts ran has NaN, as has a quantile of too small a sample.
    p50_ns, p99_ns, p999_ns, p9999_ns = (
        max(
            (value for value in map(float, course.quantiles_ns[q][part]) if math.isfinite(value)),
            default=None,
        )
        for q in (0.5, 0.99, 0.999, 0.9999)
    )
    return Moment(
        step=step,
        direction=direction.value,
        start_s=_start_s(group, part.start),
        hosts_running=int(group.moments.hosts_running[part].min()),
        hosts=len(group.hosts),
        iops=_finite(sum(ios) / seconds),
        bytes_per_s=_finite(sum(size) / seconds),
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        p999_ns=p999_ns,
        p9999_ns=p9999_ns,
    )


def _start_s(group: MergedGroup, place: int) -> float:
    """Return when an interval starts: stages follow one another."""
    stages, starts_ns = group.moments.stage, group.moments.start_ns
    before_ns = sum(
        int(starts_ns[stages == stage].max()) + group.interval_ns
        for stage in range(int(stages[place]))
        if (stages == stage).any()
    )
    return (before_ns + int(starts_ns[place])) / 1e9


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _differences(store: FleetStore) -> tuple[Difference, ...]:
    """Return in what hosts differ by what their reviews saved, as it is compared before a fleet begins."""
    facts = {}
    for host in store.manifest.hosts:
        directory = store.host_directory(host.name)
        if (directory / MANIFEST).is_file():
            review = Review.open(directory)
            facts[host.name] = HostFacts(
                version=host.version,
                machine=review.manifest.machine,
                audits=review.audits(),
                targets=review.manifest.targets,
                free_bytes=0,
            )
    return differences(facts)
