"""When a host's step was measured, in intervals, and which of its rows belong to the measured job.

An interval's place is its stage and its number in it. A host that started later than others by whole intervals has its
places moved by as many, so that equal places are the same time on the controller's clock. As ``stats/moments.py`` does,
a slice of less than half an interval belongs to its neighbour: every request stays in some interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from iogauge.errors import IogaugeError
from iogauge.fleet.merge.steps import HostStep
from iogauge.schema import RunRecord
from iogauge.stats.moments import SHORT
from iogauge.stats.selection import Selection
from iogauge.store.checksums import check_file, damaged
from iogauge.store.durable import explained
from iogauge.store.names import INTERVALS, RECORD
from iogauge.store.objects import read_object
from iogauge.store.versions import upgraded_record

Places = NDArray[np.int64]

_STAGE = 1 << 40
"""Places of one stage: no run has so many intervals."""
_ALL = 1 << 10
"""Row groups whose small columns are read at once: a million rows."""
PLACE = ("stage", "row", "index", "ramp")
"""The columns that say to which interval a row belongs."""


@dataclass(frozen=True)
class Timeline:
    """The measured intervals of one step on one host."""

    step: HostStep
    selection: Selection
    interval_ns: int
    own: Places
    """The places of its slices as they are saved, ascending."""
    places: Places
    """Of each of them the place of the interval that it belongs to."""

    def moved(self, intervals: int) -> Timeline:
        """Return it as of a host that started so many intervals after the first."""
        return Timeline(self.step, self.selection, self.interval_ns, self.own, self.places + intervals)

    def rows(self, batch: pa.RecordBatch, slots: Places) -> NDArray[np.int32]:
        """Return the slot of each row of a batch, or -1.

        ``slots`` are the places of the wanted intervals, ascending; a slot is an index into them.
        """
        wanted = np.searchsorted(slots, self.places)
        wanted = np.where(slots[np.minimum(wanted, len(slots) - 1)] == self.places, wanted, -1)
        own, measured = _own(batch, self.selection)
        at = np.minimum(np.searchsorted(self.own, own), len(self.own) - 1)
        inside = measured & (self.own[at] == own)
        return np.where(inside, wanted[at], -1).astype(np.int32)


def read_timeline(step: HostStep) -> Timeline:
    """Return the timeline of a complete step. Raises IogaugeError if one of its files is damaged."""
    check_file(step.directory / RECORD)
    record = read_object(step.directory / RECORD, RunRecord, upgraded_record)
    selection = Selection.of(record, step.measured_job, direction=step.direction)
    path = step.directory / INTERVALS
    check_file(path)
    parts = [
        np.stack([own, _numbers(batch, "start_ns"), _numbers(batch, "end_ns")])[:, measured]
        for _, batch in batches(path, (*PLACE, "start_ns", "end_ns"), groups=_ALL)
        for own, measured in [_own(batch, selection)]
    ]
    own, starts, ends = np.concatenate([np.empty((3, 0), dtype=np.int64), *parts], axis=1)
    own, first, inverse = np.unique(own, return_index=True, return_inverse=True)
    begin, end = starts[first], ends[first]
    np.minimum.at(begin, inverse, starts)
    np.maximum.at(end, inverse, ends)
    interval_ns = record.plan.interval_ns
    return Timeline(step, selection, interval_ns, own, _joined(own, end - begin < SHORT * interval_ns))


Columns = Callable[[tuple[str, ...]], pa.RecordBatch]


def batches(path: Path, columns: tuple[str, ...], *, groups: int) -> Iterator[tuple[Columns, pa.RecordBatch]]:
    """Yield some row groups of a step's file at a time: these columns of them, and a function that reads others.

    Raises IogaugeError if it cannot be read.
    """
    try:
        with explained("read", path), pq.ParquetFile(path) as file:
            for first in range(0, file.num_row_groups, groups):
                here = list(range(first, min(first + groups, file.num_row_groups)))

                def read(names: tuple[str, ...], here: list[int] = here) -> pa.RecordBatch:
                    table = file.read_row_groups(here, columns=list(names), use_threads=False)
                    return table.combine_chunks().to_batches()[0]

                yield read, read(columns)
    except (pa.ArrowException, KeyError) as error:
        raise damaged(path, str(error)) from error


def stage_and_start(places: Places, interval_ns: int) -> tuple[Places, Places]:
    """Return the stage of each place, and its start in that stage, ns."""
    return places // _STAGE, places % _STAGE * interval_ns


def check_lengths(timelines: list[Timeline]) -> None:
    """Refuse hosts whose intervals differ in length: they cannot be aligned. Raises IogaugeError."""
    if len({timeline.interval_ns for timeline in timelines}) > 1:
        first, other = next(
            (timelines[0], timeline)
            for timeline in timelines
            if timeline.interval_ns != timelines[0].interval_ns
        )
        raise IogaugeError(
            f"the intervals of {other.step.host} last {other.interval_ns} ns, those of {first.step.host} "
            f"{first.interval_ns} ns",
            hint="give the step the same log_avg_msec on all hosts, and run it again",
        )


def _own(batch: pa.RecordBatch, selection: Selection) -> tuple[Places, NDArray[np.bool_]]:
    """Return the place of each row, and whether it is of the measured job and not of the ramp."""
    stage, row = _numbers(batch, "stage"), _numbers(batch, "row")
    measured = ~batch.column("ramp").to_numpy(zero_copy_only=False)
    of_job = np.zeros(len(stage), dtype=np.bool_)
    for wanted_stage, wanted_row in selection.rows:
        of_job |= (stage == wanted_stage) & (row == wanted_row)
    return stage * _STAGE + _numbers(batch, "index"), measured & of_job


def _joined(own: Places, short: NDArray[np.bool_]) -> Places:
    """Return the place that each slice belongs to: its own, or, of a short one, the one before or after it."""
    places = own.copy()
    for at in np.flatnonzero(short):
        neighbours = [other for other in (at - 1, at + 1) if 0 <= other < len(own)]
        same_stage = [other for other in neighbours if own[other] // _STAGE == own[at] // _STAGE]
        if same_stage:
            places[at] = places[same_stage[0]]
    return places


def _numbers(batch: pa.RecordBatch, name: str) -> Places:
    return batch.column(name).to_numpy().astype(np.int64)
