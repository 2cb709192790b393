"""A saved fleet, as a script or a notebook reads it. Reading it needs no Dask."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.fleet.merge.steps import HostStep, steps_of
from iogauge.schema import FleetEvent, FleetHost, FleetManifest
from iogauge.store.fleet import FleetStore

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.fleet.merge.group import MergedGroup
    from iogauge.fleet.merge.skew import Skew
    from iogauge.library.reading.saved import Review
    from iogauge.stats.fleet.findings import SlowDrives


def open_fleet(directory: str | PathLike[str]) -> Fleet:
    """Open a saved fleet. Nothing is measured; figures are computed when they are read.

    Args:
        directory: where it is saved. A fleet that is not complete has what was fetched of its hosts.

    Raises IogaugeError if there is no fleet, or it is damaged or newer.
    """
    return Fleet(FleetStore.open(Path(directory)))


class Fleet:
    """A saved review on many hosts. It stands for its directory wherever a path is taken."""

    def __init__(self, store: FleetStore) -> None:
        self._store = store

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<Fleet {fspath(self)}: {len(self.hosts)} hosts>"

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._store.path

    @property
    def manifest(self) -> FleetManifest:
        """Its hosts, options and seed."""
        return self._store.manifest

    @property
    def hosts(self) -> tuple[FleetHost, ...]:
        """Its hosts, with what became of each."""
        return self.manifest.hosts

    @property
    def events(self) -> tuple[FleetEvent, ...]:
        """What happened while it ran."""
        return self._store.events()

    def review(self, host: str) -> Review:
        """Open the review of a host.

        Raises IogaugeError if there is no such host, nothing of it was saved, or its review is damaged.
        """
        from iogauge.library.reading.saved import open_review

        return open_review(self._store.host_directory(host))

    @cached_property
    def host_steps(self) -> tuple[HostStep, ...]:
        """The judged steps of all hosts, host by host. Raises IogaugeError if a review's manifest is damaged."""
        return tuple(step for host in self.hosts for step in steps_of(self._store, host))

    @property
    def steps(self) -> tuple[str, ...]:
        """The ids of all judged steps that any host has planned, in the order of their plans."""
        return tuple(dict.fromkeys(step.id for step in self.host_steps))

    def merged(self, step: str, *, by: str | None = None) -> list[MergedGroup]:
        """Return a step of all hosts merged: figures over time and in all, by the groups' names.

        Args:
            step: its id, one of ``steps``.
            by: ``host``, ``model``, ``firmware``, ``slot`` or a label, whose values are the groups; None: one group of
                all hosts.

        Raises:
            UsageError: the fleet has no such step, or no such label.
            IogaugeError: a file is damaged, or the hosts' intervals differ in length.
        """
        from iogauge.fleet.merge.merged import merge

        by_host = {own.host: own for own in self.host_steps if own.id == step}
        if not by_host:
            raise UsageError(
                f"{self.path}: no host has a step {step!r}",
                hint=f"its steps: {', '.join(self.steps) or 'none'}",
            )
        saved = {own.host for own in self.host_steps}
        hosts = [host for host in self.hosts if host.name in by_host or host.name not in saved]
        starts = {start.host: start for start in self._store.starts() if start.step == step}
        return merge(hosts, self.manifest.mode, by_host, starts, by=by)

    def skew(self) -> Skew:
        """Return how far each host started each step from the planned instant, on the controller's clock."""
        from iogauge.fleet.merge.skew import skew

        return skew(self._store.starts())

    def slow_drives(self, *, rate: float = 0.05) -> SlowDrives:
        """Return which drives, hosts, slots, firmwares and models are slow beside their peers.

        Args:
            rate: the false discovery rate of all findings together, between 0 and 1.

        Raises:
            UsageError: ``rate`` is not between 0 and 1.
            IogaugeError: a file is damaged.
        """
        from iogauge.fleet.judge import judge

        if not 0 < rate < 1:
            raise UsageError(f"rate {rate:g}: must be above 0 and below 1", hint="for 5 % write 0.05")
        return judge(self._store, rate=rate)

    def table(self) -> pa.Table:
        """Return all figures: a row for each host, target, step, direction and figure.

        Raises IogaugeError if a file is damaged.
        """
        from iogauge.fleet.merge.table import figures_of_fleet

        return figures_of_fleet(self._store)
