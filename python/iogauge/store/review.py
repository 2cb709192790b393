"""A review on disk: one directory that a kill at any instant leaves readable.

Layout::

    DIR/manifest.json                 what was planned, on which targets, with which seed; carries its own checksum
    DIR/steps/ID/record.json          the run of step ID, without its histograms
    DIR/steps/ID/totals.parquet       its totals, histograms included
    DIR/steps/ID/intervals.parquet    the same per interval
    DIR/steps/ID/requests.parquet     every request, where that was asked for
    DIR/steps/ID/SHA256SUMS           checksums of these files
    DIR/computed.json                 figures that were computed of the steps, for the next reader: a cache
    DIR/stopped/ID/                   the same for a run that did not get to its end

A step is written in ``steps/.ID.tmp``, synced, and renamed: that ``steps/ID`` exists is the only truth about its
completion, there is no second record of it that could disagree.

This module does not run anything, judge anything, or know one suite from another.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION, Interval, Manifest, RunRecord
from iogauge.store import durable
from iogauge.store.checksums import check_seal, seal, sealed_object
from iogauge.store.computed import Computed
from iogauge.store.durable import GOES_ON, explained
from iogauge.store.names import INTERVALS, MANIFEST, RECORD, REQUESTS, TOTALS
from iogauge.store.objects import read_object, read_sealed, understood
from iogauge.store.tables import IntervalFile, read_intervals, read_totals, write_totals
from iogauge.store.versions import upgraded

T = TypeVar("T")

_STEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LOCK = ".lock"


class Review:
    """A saved review. Reading needs no lock; whoever writes holds ``lock()``."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._computed: dict[str, Computed] = {}

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Review:
        """Make the directory of a new review.

        Args:
            path: a directory that does not exist yet, or is empty.
            manifest: saved at once.

        Raises:
            IogaugeError: there is something at ``path`` already, or it cannot be written.
        """
        path = Path(path)
        refuse_occupied(path)
        with explained("create", path):
            path.mkdir(parents=True, exist_ok=True)
            (path / "steps").mkdir(exist_ok=True)
            durable.sync_directory(path.absolute().parent)
        review = cls(path, manifest)
        review.save_manifest(manifest)
        return review

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a review for reading, or for going on with it.

        Raises:
            IogaugeError: there is no review at ``path``, or it is damaged, or a newer iogauge wrote it.
        """
        path = Path(path)
        if not (path / MANIFEST).is_file():
            raise IogaugeError(
                f"{path}: no {MANIFEST} here: not a saved review, or it was killed before it began",
                hint="name the directory that `iogauge review` printed, or start a new review",
            )
        return cls(path, load_manifest(path / MANIFEST))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the right to write, against other processes; the kernel lets go of it when this process ends.

        Raises:
            IogaugeError: another process holds it.
        """
        path = self.path / _LOCK
        with explained("lock", path):
            descriptor = durable.open_lock(path)
        try:
            with explained("lock", path):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise IogaugeError(
                        f"{self.path}: another iogauge is writing this review",
                        hint="wait until it has ended, or stop it",
                    ) from None
            yield
        finally:
            os.close(descriptor)

    def save_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest, atomically. What is written is of this version, whichever was read."""
        self.manifest = manifest.model_copy(update={"schema_version": SCHEMA_VERSION})
        durable.replace_file(self.path / MANIFEST, manifest_bytes(self.manifest), then=GOES_ON)

    def completed(self) -> tuple[str, ...]:
        """Return the ids of the steps that are whole on disk, plan by plan."""
        return tuple(step.id for step in self.manifest.steps if self.has(step.id))

    def has(self, step_id: str) -> bool:
        """Return whether a step, or a run beside the plan such as a search, is whole on disk."""
        return self.step_path(step_id).is_dir()

    def step_path(self, step_id: str) -> Path:
        """Return where a step lies once it is whole."""
        if not _STEP_ID.fullmatch(step_id):
            raise IogaugeError(
                f"{step_id!r}: not a step's name",
                hint="a step's name has letters, digits, '.', '_' and '-', and starts with a letter or digit",
            )
        return self.path / "steps" / step_id

    def begin(self, step_id: str) -> StepWriter:
        """Return the writer of one step; to be used as a context manager, under ``lock()``.

        Raises:
            IogaugeError: the step is complete already.
        """
        final = self.step_path(step_id)
        if final.exists():
            raise IogaugeError(
                f"{final}: this step is complete already", hint="take it back before running it again"
            )
        return StepWriter(final, stopped=self.path / "stopped" / step_id)

    def discard(self, step_id: str) -> None:
        """Take back a complete step, because what it depends on has to be done again."""
        durable.withdraw_directory(self.step_path(step_id))

    def record(self, step_id: str) -> RunRecord:
        """Return the run of a complete step, with its totals and their histograms.

        Raises:
            IogaugeError: the step is not complete, or one of its files is damaged.
        """
        folder = self._whole(step_id)
        check_seal(folder / RECORD)
        record = read_object(folder / RECORD, RunRecord)
        rows = understood(folder / TOTALS, lambda: read_totals(folder / TOTALS))
        return record.model_copy(update={"result": record.result.model_copy(update={"rows": rows})})

    def intervals(self, step_id: str) -> Iterator[Interval]:
        """Yield the intervals of a complete step, in the order in which they came, a few held at a time.

        Raises:
            IogaugeError: the step is not complete, or its file is damaged.
        """
        path = self._whole(step_id) / INTERVALS
        intervals = read_intervals(path)
        while (interval := understood(path, lambda: next(intervals, None))) is not None:
            yield interval

    def computed(self, code: str) -> Computed:
        """Return the answers that were computed of the steps, by this ``code``."""
        if code not in self._computed:
            self._computed[code] = Computed(self.path, code=code)
        return self._computed[code]

    def keep_computed(self) -> None:
        """Save what was computed of the steps, for the next reader, where the directory can be written."""
        for computed in self._computed.values():
            computed.save()

    def _whole(self, step_id: str) -> Path:
        folder = self.step_path(step_id)
        if not folder.is_dir():
            raise IogaugeError(
                f"{self.path}: step {step_id} is not complete",
                hint=f"complete it: {self.manifest.completed_by(str(self.path))}",
            )
        return folder


class StepWriter:
    """Writes one step, invisible until ``finish``. Leaving the context without it leaves no trace."""

    def __init__(self, final: Path, *, stopped: Path) -> None:
        self._final = final
        self._stopped = stopped
        self._temporary = final.with_name(f".{final.name}.tmp")
        self._intervals: IntervalFile | None = None

    def __enter__(self) -> Self:
        with explained("write", self._temporary, then=GOES_ON):
            durable.remove_tree(self._temporary)  # of a run that was killed
            self._temporary.mkdir()
        try:
            self._intervals = IntervalFile(self._temporary / INTERVALS)
        except IogaugeError:
            self._clear(quietly=True)
            raise
        return self

    @property
    def requests_path(self) -> Path:
        """Where the per-request log of this step is to be written, if there is one."""
        return self._temporary / REQUESTS

    def interval(self, interval: Interval) -> None:
        """Add an interval.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished.
        """
        self._file().write(interval)

    def finish(self, record: RunRecord) -> None:
        """Save the run that all the intervals were of; with this, the step is complete.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished. The step is then not complete.
        """
        self._save(record, self._final)

    def finish_stopped(self, record: RunRecord) -> None:
        """Keep a run that did not get to its end under ``stopped/``, where it never counts as complete."""
        with explained("write", self._stopped, then=GOES_ON):
            self._stopped.parent.mkdir(exist_ok=True)
            durable.remove_tree(self._stopped)
        self._save(record, self._stopped)

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if self._intervals is not None:
            self._intervals.abandon()
            self._intervals = None
        self._clear(quietly=kind is not None)

    def _clear(self, *, quietly: bool) -> None:
        """Remove what was not published. Quietly, where an error on its way says more than one of this would."""
        try:
            with explained("remove", self._temporary):
                durable.remove_tree(self._temporary)
        except IogaugeError:
            if not quietly:
                raise

    def _save(self, record: RunRecord, final: Path) -> None:
        self._file().close()
        self._intervals = None
        # Totals are stored once, in Parquet; record.json keeps the rows' names and times.
        rows = tuple(row.model_copy(update={"tallies": {}, "loop_gap": b""}) for row in record.result.rows)
        bare = record.model_copy(update={"result": record.result.model_copy(update={"rows": rows})})
        write_totals(self._temporary / TOTALS, record.result.rows)
        place = self._temporary / RECORD
        with explained("write", place, then=GOES_ON), durable.create_file(place) as file:
            file.write(bare.model_dump_json().encode() + b"\n")
        seal(self._temporary)
        durable.publish_directory(self._temporary, final)

    def _file(self) -> IntervalFile:
        if self._intervals is None:
            raise RuntimeError("a StepWriter is used inside its with statement, and finished once")
        return self._intervals


def refuse_occupied(path: Path) -> None:
    """Raise IogaugeError where a new review cannot have this directory, because there is something in it or not one."""
    with explained("create", path):
        if not path.exists():
            return
        # What a create that was killed can leave behind is ours to use again.
        strangers = {entry.name for entry in path.iterdir()} - {"steps", _LOCK, f".{MANIFEST}.tmp"}
        if strangers or any(path.glob("steps/*")):
            raise IogaugeError(
                f"{path}: the directory is not empty",
                hint="choose another with --output, or continue a review that was started there: iogauge review "
                f"--resume {shlex.quote(str(path))}",
            )


def load_manifest(path: Path) -> Manifest:
    """Return a manifest, whichever version wrote it. Raises IogaugeError: it is damaged, or a newer one wrote it."""
    return read_sealed(path, Manifest, upgraded)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the content of the file of a manifest, which is of this version whichever was read."""
    manifest = manifest.model_copy(update={"schema_version": SCHEMA_VERSION})
    return sealed_object(manifest.model_dump_json(indent=2))
