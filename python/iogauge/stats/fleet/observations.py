"""What is known of a fleet's drives: one row for each drive, position and batch of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DriveObservations:
    """Columns of equal length. Names are free words; an empty one says that the thing is not known.

    Rows of one drive and position are in the order of time. ``mean_ns``, ``tail_ns`` (nanoseconds) and ``iops``
    (requests a second) must be positive, or ValueError is raised, as for columns of different lengths and for a drive
    that appears with two hosts, models, firmwares or slots.
    """

    drive: Sequence[str]
    """A name that no other drive of the fleet has, such as a serial number."""
    host: Sequence[str]
    model: Sequence[str]
    firmware: Sequence[str]
    slot: Sequence[str]
    """Where in its host the drive sits; equal names on different hosts mean the same place."""
    position: Sequence[str]
    """What was measured: a step and a direction. Only rows of one position are compared."""
    batch: NDArray[np.int64]
    """The number of the batch in its position. Batches of one number were measured at the same time, if the hosts ran
    together."""
    iops: Floats
    mean_ns: Floats
    tail_ns: Floats
    """A high quantile of the batch's latency (``batches.TAIL``); NaN where it has too few requests for one."""

    def __post_init__(self) -> None:
        columns = (self.host, self.model, self.firmware, self.slot, self.position, self.batch, self.iops)
        lengths = {len(column) for column in (*columns, self.mean_ns, self.tail_ns)}
        if lengths != {len(self.drive)}:
            raise ValueError("the columns of the observations differ in length")
        for name, column in (("mean_ns", self.mean_ns), ("iops", self.iops)):
            if not bool(np.all(np.isfinite(column) & (np.asarray(column) > 0))):
                raise ValueError(f"{name} of an observation is not positive and finite")
        if not bool(np.all(np.isnan(self.tail_ns) | (np.isfinite(self.tail_ns) & (self.tail_ns > 0)))):
            raise ValueError("tail_ns of an observation is not positive")
        for names in (self.host, self.model, self.firmware, self.slot):
            pairs = set(zip(self.drive, names, strict=True))
            if len(pairs) > len(self.drives):
                raise ValueError("a drive has two hosts, models, firmwares or slots")

    @cached_property
    def drives(self) -> tuple[str, ...]:
        """The drives by name."""
        return tuple(sorted(set(self.drive)))

    @cached_property
    def positions(self) -> tuple[str, ...]:
        """The positions, in the order of their first rows."""
        return tuple(dict.fromkeys(self.position))

    @cached_property
    def drive_of_row(self) -> Places:
        """The place of each row's drive in ``drives``."""
        places = {name: place for place, name in enumerate(self.drives)}
        return np.array([places[name] for name in self.drive], dtype=np.intp)

    @cached_property
    def position_of_row(self) -> Places:
        """The place of each row's position in ``positions``."""
        places = {name: place for place, name in enumerate(self.positions)}
        return np.array([places[name] for name in self.position], dtype=np.intp)

    def of_drives(self, column: Sequence[str]) -> tuple[str, ...]:
        """Return a column of names with one entry for each of ``drives``."""
        by_drive = dict(zip(self.drive, column, strict=True))
        return tuple(by_drive[name] for name in self.drives)
