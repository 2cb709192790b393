"""Which hosts may start which step, and when after each other. Pure: no clock, no network.

A host waits before each of its steps. Once every live host waits, those at the earliest step are released; the others
go on waiting. Hosts with the same plan so start every step together, and a host that resumes behind the others first
runs the steps that it misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A host may start a step, ``delay_ns`` after the instant at which the first host may."""

    host: str
    step: str
    delay_ns: int


class Barrier:
    """Holds each host before its next step until all live hosts are there."""

    def __init__(self, hosts: Sequence[str], *, stagger_ns: int = 0) -> None:
        """``hosts``: by name, in the order in which they start; ``stagger_ns``: between one host and the next."""
        self._delays = {host: index * stagger_ns for index, host in enumerate(hosts)}
        self._live = set(hosts)
        self._plans: dict[str, dict[str, int]] = {host: {} for host in hosts}
        self._waiting: dict[str, str] = {}

    @property
    def live(self) -> frozenset[str]:
        """Return the hosts that have not ended."""
        return frozenset(self._live)

    @property
    def waiting(self) -> dict[str, str]:
        """Return the step before which each host waits, for hosts that wait."""
        return dict(self._waiting)

    def planned(self, host: str, steps: Iterable[str]) -> None:
        """Note the steps of a host, in its order; they replace those known before."""
        self._plans[host] = {step: place for place, step in enumerate(steps)}

    def waits(self, host: str, step: str) -> None:
        """Note that a host waits before a step. It is ignored of a host that has ended."""
        if host in self._live:
            self._waiting[host] = step

    def ended(self, host: str) -> None:
        """Note that a host needs no more releases: it is done, failed or lost. The others do not wait for it."""
        self._live.discard(host)
        self._waiting.pop(host, None)

    @property
    def is_full(self) -> bool:
        """Whether every live host waits, and there is one."""
        return bool(self._live) and self._live == self._waiting.keys()

    def release(self) -> tuple[Release, ...]:
        """Return the hosts that may start now, in the order of the fleet; none while a live host does not wait."""
        if not self.is_full:
            return ()
        first = min((host for host in self._delays if host in self._waiting), key=self._place)
        step = self._waiting[first]
        hosts = [host for host in self._delays if self._waiting.get(host) == step]
        for host in hosts:
            del self._waiting[host]
        soonest_ns = self._delays[hosts[0]]
        return tuple(Release(host, step, self._delays[host] - soonest_ns) for host in hosts)

    def _place(self, host: str) -> int:
        """Return the place of the step before which a host waits; steps that follow from a search come last."""
        plan = self._plans[host]
        return plan.get(self._waiting[host], len(plan))


class Lead:
    """How long before a start its hosts hear of it: longer once a host began late."""

    LATE_NS = 200_000_000
    """A host that is this late was not ready, or heard too late. Less is a busy CPU, which no lead mends; a longer
    lead only makes the host's clock less certain at its end.
    """
    MOST_NS = 30_000_000_000

    def __init__(self, first_ns: int) -> None:
        self.ns = first_ns

    def started(self, late_ns: int) -> None:
        """Note how late a host began."""
        if late_ns > self.LATE_NS:
            self.ns = min(self.MOST_NS, max(self.ns * 2, self.ns + 2 * late_ns))
