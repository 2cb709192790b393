"""Stores a review in one directory, which stays readable after a kill at any instant.

Layout::

    DIR/manifest.json                 what was planned, on which targets, with which seed; carries its own checksum
    DIR/audits.json                   the settings of machine and drives when it began; carries its own checksum
    DIR/steps/ID/record.json          the run of step ID, without its histograms
    DIR/steps/ID/totals.parquet       its totals, histograms included
    DIR/steps/ID/intervals.parquet    the same per interval
    DIR/steps/ID/SHA256SUMS           checksums of these files
    DIR/computed.json                 figures computed of the steps: a cache
    DIR/stopped/ID/                   the same for a run that ended early

A step is written in ``steps/.ID.tmp``, synced, and renamed. A step is complete if ``steps/ID`` exists; no second record
could disagree.

This module runs and judges nothing, and knows no suite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION, Audit, Interval, Manifest, RunRecord, StoredAudits
from iogauge.store import durable
from iogauge.store.checksums import check_file, with_checksum, write_checksums
from iogauge.store.computed import Computed
from iogauge.store.durable import explained, goes_on
from iogauge.store.names import AUDITS, INTERVALS, LOCK, MANIFEST, RECORD, TOTALS
from iogauge.store.objects import read_checked, read_object, understood, write_checked
from iogauge.store.tables import IntervalFile, read_intervals, read_totals, write_totals
from iogauge.store.versions import upgraded, upgraded_record
from iogauge.text.option import call, option

T = TypeVar("T")

_STEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Review:
    """A saved review. Readers need no lock; a writer holds ``lock()``."""

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
                hint="name the directory of a review that iogauge saved, or start a new review",
            )
        return cls(path, load_manifest(path / MANIFEST))

    def lock(self) -> AbstractContextManager[None]:
        """Lock the review against other writers. The kernel releases the lock when this process ends.

        Raises:
            IogaugeError: another process holds it.
        """
        return durable.locked(self.path / LOCK, busy=f"{self.path}: another iogauge is writing this review")

    def save_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest atomically, in the current version of the schema."""
        self.manifest = manifest.model_copy(update={"schema_version": SCHEMA_VERSION})
        durable.replace_file(self.path / MANIFEST, manifest_bytes(self.manifest), then=goes_on())

    def audits(self) -> tuple[Audit, ...]:
        """Return the audits from when the review began: the machine's, then one for each drive that a step used.

        None for a review of drive models, or one that an older iogauge saved. Raises IogaugeError if they are damaged.
        """
        path = self.path / AUDITS
        return read_checked(path, StoredAudits).audits if path.exists() else ()

    def save_audits(self, audits: tuple[Audit, ...]) -> None:
        """Replace the audits atomically.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished.
        """
        write_checked(self.path / AUDITS, StoredAudits(audits=audits))

    def completed(self) -> tuple[str, ...]:
        """Return the ids of the complete steps, plan by plan."""
        return tuple(step.id for step in self.manifest.steps if self.has(step.id))

    def has(self, step_id: str) -> bool:
        """Return whether a step, or a search, is complete."""
        return self.step_path(step_id).is_dir()

    def step_path(self, step_id: str) -> Path:
        """Return the directory of a complete step."""
        if not _STEP_ID.fullmatch(step_id):
            raise IogaugeError(
                f"{step_id!r}: not a step's name",
                hint="a step's name has letters, digits, '.', '_' and '-', and starts with a letter or digit",
            )
        return self.path / "steps" / step_id

    def begin(self, step_id: str) -> StepWriter:
        """Return the writer of one step: a context manager, to be used under ``lock()``.

        Raises:
            IogaugeError: the step is complete already.
        """
        final = self.step_path(step_id)
        if final.exists():
            raise IogaugeError(
                f"{final}: this step is complete already", hint="discard it before running it again"
            )
        return StepWriter(final, stopped=self.path / "stopped" / step_id)

    def discard(self, step_id: str) -> None:
        """Discard a complete step, because the steps that it depends on must run again."""
        durable.withdraw_directory(self.step_path(step_id))

    def record(self, step_id: str) -> RunRecord:
        """Return the run of a complete step, with its totals and their histograms.

        Raises:
            IogaugeError: the step is not complete, or one of its files is damaged.
        """
        folder = self._complete_folder(step_id)
        check_file(folder / RECORD)
        record = read_object(folder / RECORD, RunRecord, upgraded_record)
        rows = understood(folder / TOTALS, lambda: read_totals(folder / TOTALS))
        return record.model_copy(update={"result": record.result.model_copy(update={"rows": rows})})

    def intervals(self, step_id: str) -> Iterator[Interval]:
        """Yield the intervals of a complete step in the order in which they came, with few in memory at a time.

        Raises:
            IogaugeError: the step is not complete, or its file is damaged.
        """
        path = self._complete_folder(step_id) / INTERVALS
        intervals = read_intervals(path)
        while (interval := understood(path, lambda: next(intervals, None))) is not None:
            yield interval

    def computed(self, code: str) -> Computed:
        """Return the answers that this ``code`` computed of the steps."""
        if code not in self._computed:
            self._computed[code] = Computed(self.path, code=code)
        return self._computed[code]

    def keep_computed(self) -> None:
        """Save the computed answers for the next reader, if the directory can be written."""
        for computed in self._computed.values():
            computed.save()

    def _complete_folder(self, step_id: str) -> Path:
        folder = self.step_path(step_id)
        if not folder.is_dir():
            raise IogaugeError(
                f"{self.path}: step {step_id} is not complete",
                hint=f"complete it: {self.manifest.completed_by(str(self.path))}",
            )
        return folder


class StepWriter:
    """Writes one step, which is invisible until ``finish``. Without ``finish``, nothing is left of it."""

    def __init__(self, final: Path, *, stopped: Path) -> None:
        self._final = final
        self._stopped = stopped
        self._temporary = final.with_name(f".{final.name}.tmp")
        self._intervals: IntervalFile | None = None

    def __enter__(self) -> Self:
        with explained("write", self._temporary, then=goes_on()):
            durable.remove_tree(self._temporary)  # of a run that was killed
            self._temporary.mkdir()
        try:
            self._intervals = IntervalFile(self._temporary / INTERVALS)
        except IogaugeError:
            self._clear(quietly=True)
            raise
        return self

    def interval(self, interval: Interval) -> None:
        """Add an interval.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished.
        """
        self._file().write(interval)

    def finish(self, record: RunRecord) -> None:
        """Save the record of the run; the step is then complete.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished. The step is then not complete.
        """
        self._save(record, self._final)

    def finish_stopped(self, record: RunRecord) -> None:
        """Keep a run that ended early under ``stopped/``, where it never counts as complete."""
        with explained("write", self._stopped, then=goes_on()):
            self._stopped.parent.mkdir(exist_ok=True)
            durable.remove_tree(self._stopped)
        self._save(record, self._stopped)

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if self._intervals is not None:
            self._intervals.abandon()
            self._intervals = None
        self._clear(quietly=kind is not None)

    def _clear(self, *, quietly: bool) -> None:
        """Remove what was not published. ``quietly``: another error is on its way, so ignore errors of this."""
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
        with explained("write", place, then=goes_on()), durable.create_file(place) as file:
            file.write(bare.model_dump_json().encode() + b"\n")
        write_checksums(self._temporary)
        durable.publish_directory(self._temporary, final)

    def _file(self) -> IntervalFile:
        if self._intervals is None:
            raise RuntimeError("a StepWriter is used inside its with statement, and finished once")
        return self._intervals


def refuse_occupied(path: Path) -> None:
    """Raise IogaugeError if a new review cannot use this path: it is not empty, or no directory."""
    with explained("create", path):
        if not path.exists():
            return
        # A create that was killed leaves these behind; they can be used again.
        strangers = {entry.name for entry in path.iterdir()} - {"steps", LOCK, f".{MANIFEST}.tmp"}
        if strangers or any(path.glob("steps/*")):
            raise IogaugeError(
                f"{path}: the directory is not empty",
                hint=f"choose another with {option('output')}, or continue a review that was started there: "
                f"{call('review', resume=path)}",
            )


def load_manifest(path: Path) -> Manifest:
    """Read a manifest of any version. Raises IogaugeError if it is damaged or too new."""
    return read_checked(path, Manifest, upgraded)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the content of a manifest's file, in the current version of the schema."""
    manifest = manifest.model_copy(update={"schema_version": SCHEMA_VERSION})
    return with_checksum(manifest.model_dump_json(indent=2))
