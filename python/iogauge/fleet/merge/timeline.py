"""When a host's step was measured, in intervals, and which of its rows belong to the measured job.

An interval's place is its stage and its number in it. A host that started later than others by whole intervals has its
places moved by as many, so that equal places are the same time on the controller's clock. As ``stats/moments.py`` does,
a slice of less than half an interval belongs to its neighbour: every request stays in some interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
_ALL = 1 << 8
"""Row groups whose small columns are read at once: a million rows."""
_PLACE = ("stage", "row", "index", "ramp")
"""The columns that say to which interval a row belongs."""


@dataclass(frozen=True)
class Timeline:
    """The measured intervals of one step on one host."""

    step: HostStep
    selection: Selection
    interval_ns: int
    places: Places
    """For each of its slices, as they are saved, the place of the interval that it belongs to."""
    of_rows: NDArray[np.int32]
    """For each row of the step's file the index of its slice, or -1 where it is not measured."""

    def moved(self, intervals: int) -> Timeline:
        """Return it as of a host that started so many intervals after the first."""
        return replace(self, places=self.places + intervals)

    def rows(self, slots: Places) -> NDArray[np.int32]:
        """Return the slot of each row of the step's file, or -1.

        ``slots`` are the places of the wanted intervals, ascending; a slot is an index into them.
        """
        wanted = np.searchsorted(slots, self.places)
        wanted = np.where(slots[np.minimum(wanted, len(slots) - 1)] == self.places, wanted, -1)
        # The last one is what an index of -1 means.
        return np.append(wanted, -1).astype(np.int32)[self.of_rows]


@dataclass(frozen=True)
class Slices:
    """The measured slices of one step on one host, as they are saved: in the order of their places."""

    step: HostStep
    selection: Selection
    interval_ns: int
    own: Places
    begin_ns: Places
    end_ns: Places
    of_rows: NDArray[np.int32]
    """For each row of the step's file the index of its slice, or -1 where it is not measured."""


def read_slices(step: HostStep) -> Slices:
    """Return the measured slices of a complete step. Raises IogaugeError if one of its files is damaged."""
    check_file(step.directory / RECORD)
    record = read_object(step.directory / RECORD, RunRecord, upgraded_record)
    selection = Selection.of(record, step.measured_job, direction=step.direction)
    path = step.directory / INTERVALS
    check_file(path)
    parts = [
        np.stack([*_own(batch, selection), _numbers(batch, "start_ns"), _numbers(batch, "end_ns")])
        for batch in (read((*_PLACE, "start_ns", "end_ns")) for _, read in batches(path, groups=_ALL))
    ]
    own, measured, starts, ends = np.concatenate([np.empty((4, 0), dtype=np.int64), *parts], axis=1)
    rows = np.flatnonzero(measured)
    of_rows = np.full(len(own), -1, dtype=np.int32)
    own, first, of_rows[rows] = np.unique(own[rows], return_index=True, return_inverse=True)
    begin, end = starts[rows][first], ends[rows][first]
    np.minimum.at(begin, of_rows[rows], starts[rows])
    np.maximum.at(end, of_rows[rows], ends[rows])
    return Slices(step, selection, record.plan.interval_ns, own, begin, end, of_rows)


def read_timeline(step: HostStep) -> Timeline:
    """Return the timeline of a complete step. Raises IogaugeError if one of its files is damaged."""
    slices = read_slices(step)
    short = slices.end_ns - slices.begin_ns < SHORT * slices.interval_ns
    places = _joined(slices.own, short)
    return Timeline(step, slices.selection, slices.interval_ns, places, slices.of_rows)


Columns = Callable[[tuple[str, ...]], pa.RecordBatch]


def batches(path: Path, *, groups: int) -> Iterator[tuple[slice, Columns]]:
    """Yield some row groups of a step's file at a time: which rows of it they are, and a function that reads columns.

    Raises IogaugeError if it cannot be read.
    """
    try:
        with explained("read", path), pq.ParquetFile(path) as file:
            end = 0
            for first in range(0, file.num_row_groups, groups):
                here = list(range(first, min(first + groups, file.num_row_groups)))

                def read(names: tuple[str, ...], here: list[int] = here) -> pa.RecordBatch:
                    table = file.read_row_groups(here, columns=list(names), use_threads=False)
                    return table.combine_chunks().to_batches()[0]

                start, end = end, end + sum(file.metadata.row_group(group).num_rows for group in here)
                yield slice(start, end), read
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
