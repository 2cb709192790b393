"""Merges a step of many hosts, group by group: exact counts, and percentiles of the merged histograms over time.

First the intervals of every host are read without their histograms; then it is known in which of them all hosts of a
group were running, and only those are merged. Hosts are streamed, one at a time for each CPU.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from iogauge.errors import UsageError
from iogauge.fleet.merge.group import QUANTILES, Course, MergedGroup, Moments
from iogauge.fleet.merge.steps import HostStep
from iogauge.fleet.merge.timeline import Timeline, check_lengths, read_timeline, stage_and_start
from iogauge.fleet.merge.window import MOST_INTERVALS, Window
from iogauge.schema import Direction, FleetHost, FleetMode, Start
from iogauge.stats.histogram import Histogram

_DRIVE = ("model", "firmware")
SLOT = "slot"
"""Where a drive sits; a label of this name says it of the only drive of a host."""


def merge(
    hosts: Sequence[FleetHost],
    mode: FleetMode,
    steps: Mapping[str, HostStep],
    starts: Mapping[str, Start],
    *,
    by: str | None = None,
) -> list[MergedGroup]:
    """Return the groups of a step in the order of their names.

    Args:
        hosts: those that have the step or, if nothing of them was saved, may have it.
        mode: when they started.
        steps: the step of each host, by its name.
        starts: its starts, by host, as far as they are known.
        by: what the hosts of a group have in common: ``host``, ``model``, ``firmware``, ``slot`` (of the drive that the
            step is about) or a label; None: one group.

    Raises:
        IogaugeError: a file is damaged, or the hosts' intervals differ in length.
        UsageError: no host has such a label.
    """
    _check_label(hosts, by)
    complete = {name: step for name, step in steps.items() if step.complete}
    apart = _apart(mode, starts, complete)
    first_ns = min(
        (_start(starts[name]) for name in complete if name in starts and name not in apart), default=0
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        merged = [step for name, step in complete.items() if name not in apart]
        timelines = {
            timeline.step.host: timeline
            for timeline in _aligned(mode, list(pool.map(read_timeline, merged)), starts, first_ns)
        }
        check_lengths(list(timelines.values()))
        groups = [
            _Group(name, members, timelines, apart)
            for name, members in sorted(_grouped(hosts, steps, by).items())
        ]
        additions = [
            pool.submit(window.add, timeline)
            for group in groups
            for window in group.windows
            for timeline in group.timelines
        ]
        try:
            for addition in additions:
                addition.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [group.merged(_aligned_within(mode, group.timelines, starts, first_ns)) for group in groups]


@dataclass
class _Group:
    """The hosts of a group, and the intervals in which any of them and all of them were running."""

    name: str
    hosts: Sequence[str]
    read: Mapping[str, Timeline]
    all_apart: frozenset[str]
    timelines: list[Timeline] = field(init=False)
    windows: list[Window] = field(init=False)

    def __post_init__(self) -> None:
        self.timelines = [self.read[host] for host in self.hosts if host in self.read]
        running = [np.unique(timeline.places) for timeline in self.timelines]
        empty = np.empty(0, dtype=np.int64)
        self._places, self._running = np.unique(np.concatenate([empty, *running]), return_counts=True)
        self._included = np.asarray(self._running == len(self.timelines), dtype=np.bool_)
        slots = self._places[self._included]
        self.windows = [
            Window(slots[first : first + MOST_INTERVALS], hosts=len(self.timelines))
            for first in range(0, len(slots), MOST_INTERVALS)
        ]

    def merged(self, aligned_within_ns: int | None) -> MergedGroup:
        """Return the group, after all hosts were added to its windows."""
        interval_ns = self.timelines[0].interval_ns if self.timelines else 0
        stage, start_ns = stage_and_start(self._places, interval_ns)
        directions = sorted(frozenset().union(*(it.selection.directions for it in self.timelines)))
        return MergedGroup(
            name=self.name,
            hosts=tuple(timeline.step.host for timeline in self.timelines),
            missing=tuple(
                host for host in self.hosts if host not in self.read and host not in self.all_apart
            ),
            apart=tuple(host for host in self.hosts if host in self.all_apart),
            interval_ns=interval_ns,
            aligned_within_ns=aligned_within_ns,
            moments=Moments(
                stage=stage,
                start_ns=start_ns,
                hosts_running=self._running,
                included=self._included,
                directions={direction: self._course(direction) for direction in directions},
            ),
            total={
                direction: Histogram.merge(
                    window.summed[direction].total for window in self.windows if direction in window.summed
                )
                for direction in directions
            },
            requests={
                direction: {
                    timeline.step.host: sum(
                        window.requests[timeline.step.host].get(direction, 0) for window in self.windows
                    )
                    for timeline in self.timelines
                }
                for direction in directions
            },
        )

    def _course(self, direction: Direction) -> Course:
        ios, size, *quantiles = (np.full(len(self._places), np.nan) for _ in range(2 + len(QUANTILES)))
        for window in self.windows:
            at = np.searchsorted(self._places, window.slots)
            if direction not in window.summed:
                ios[at] = size[at] = 0
                continue
            summed = window.summed[direction]
            ios[at], size[at] = summed.ios, summed.bytes
            for place, values in enumerate(quantiles):
                values[at] = summed.quantiles_ns[:, place]
        return Course(ios=ios, bytes=size, quantiles_ns=dict(zip(QUANTILES, quantiles, strict=True)))


def _check_label(hosts: Iterable[FleetHost], by: str | None) -> None:
    labels = sorted({label for host in hosts for label in (*host.labels, *([SLOT] if host.slots else []))})
    if by is not None and by not in ("host", *_DRIVE, *labels):
        raise UsageError(
            f"no host of this fleet has a label {by!r}",
            hint=f"its hosts have {', '.join(('host', *_DRIVE, *labels))}",
        )


def _grouped(
    hosts: Iterable[FleetHost], steps: Mapping[str, HostStep], by: str | None
) -> dict[str, list[str]]:
    """Return the names of the hosts of each group, in the fleet's order.

    A host of which nothing was saved is in every group by model or firmware, since it can have any.
    """
    groups: dict[str, list[str]] = {}
    names: dict[str, str | None] = {host.name: _group_of(host, steps.get(host.name), by) for host in hosts}
    for group in dict.fromkeys(names.values()):
        if group is not None or set(names.values()) == {None}:
            members = [name for name, own in names.items() if own in (group, None)]
            groups[group or ""] = members
    return groups


def _group_of(host: FleetHost, step: HostStep | None, by: str | None) -> str | None:
    """Return the name of a host's group; None: it is unknown."""
    if by == "host":
        return host.name
    if by in _DRIVE:
        return None if step is None else getattr(step, by)
    if by == SLOT and host.slots:
        return None if step is None else host.slots.get(step.target, "")
    return host.labels.get(by, "") if by else ""


def _apart(mode: FleetMode, starts: Mapping[str, Start], complete: Iterable[str]) -> frozenset[str]:
    """Return the hosts that were to start at another instant than most, in a fleet that starts together.

    If the start of any host is known, one whose start is not may have run at any time.
    """
    planned = {host: starts[host].planned_ns if host in starts else None for host in complete}
    known = Counter(instant for instant in planned.values() if instant is not None)
    if mode is not FleetMode.TOGETHER or not known:
        return frozenset()
    (usual, _), *_ = known.most_common(1)
    return frozenset(host for host, instant in planned.items() if instant != usual)


def _aligned(
    mode: FleetMode, timelines: list[Timeline], starts: Mapping[str, Start], first_ns: int
) -> list[Timeline]:
    """Return timelines whose places are the same time on the controller's clock.

    Each is moved by whole intervals, as far as its host started after ``first_ns``. Of staggered hosts, one whose start
    is unknown is left out. Independent hosts count from their own start, as do all if no start is known.
    """
    known = [timeline for timeline in timelines if timeline.step.host in starts]
    if mode is FleetMode.INDEPENDENT or (mode is FleetMode.TOGETHER and not known):
        return timelines
    return [
        timeline.moved(round((_start(starts[timeline.step.host]) - first_ns) / timeline.interval_ns))
        for timeline in known
    ]


def _aligned_within(
    mode: FleetMode, timelines: Sequence[Timeline], starts: Mapping[str, Start], first_ns: int
) -> int | None:
    """Return how far intervals of one place may be apart; None: it is unknown, or they were not to be the same time."""
    known = [starts[timeline.step.host] for timeline in timelines if timeline.step.host in starts]
    if mode is FleetMode.INDEPENDENT or not known or len(known) < len(timelines):
        return None
    if any(start.achieved_ns is None for start in known):
        return None
    interval_ns = timelines[0].interval_ns
    late = [_start(start) - first_ns for start in known]
    rest = [ns - round(ns / interval_ns) * interval_ns for ns in late]
    bound = max(start.bound_ns for start in known)
    return max(rest) - min(rest) + 2 * bound


def _start(start: Start) -> int:
    return start.planned_ns if start.achieved_ns is None else start.achieved_ns
