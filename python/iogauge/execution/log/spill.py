"""The spill: a file with every request of a run, kept until logs are made of it.

The core appends requests during the run (crates/engine/src/run/spill). The jobs and the plan come first, so that logs
can be made even if the run is killed. The format is compact and private: another version of the format is refused.
This module does not choose the file's directory and makes no logs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION, JobFile, Model, RunPlan
from iogauge.store.durable import explained, new_file
from iogauge.store.outputs import refuse_name
from iogauge.text.option import call

LOG_RECORD = np.dtype(
    [
        ("intended_ns", "<u8"),
        ("ready_ns", "<u8"),
        ("start_ns", "<u8"),
        ("issued_ns", "<u8"),
        ("done_ns", "<u8"),
        ("offset_bytes", "<u8"),
        ("length_bytes", "<u4"),
        ("result", "<i4"),
        ("worker", "<u4"),
        ("row", "<u4"),
        ("target", "<u2"),
        ("priority", "<u2"),
        ("direction", "u1"),
        ("ramp", "u1"),
        ("stage", "<u2"),
    ]
)
"""A request in the core's layout: ``LogRecord`` in crates/core/src/log_record.rs. Times since the stage began."""

NO_INSTANT = np.iinfo(np.uint64).max
"""An unknown ``issued_ns``."""

CODE_VERSION = 2
"""Version of the core's encoding of requests (crates/core/src/log_code.rs): raise it with every change."""

_MAGIC = b"iogauge spill\n\x00\x01"
_READ = 1 << 17
"""Requests that are in memory at a time, about 10 MB."""


class Header(Model):
    """The run of the requests in a spill."""

    schema_version: int = SCHEMA_VERSION
    code_version: int = CODE_VERSION
    jobs: JobFile
    plan: RunPlan
    directory: str
    """The run's directory, to which names of logs are relative."""
    request_log: str | None
    """The path of a Parquet file of the requests; None: the user wants none."""


class Outcome(Model):
    """The core's report at the end: ``Spilled`` in crates/engine/src/run/spill."""

    kept: int
    failure: str | None


class Spill:
    """The spill at ``path``, made by ``create`` or left behind by a run."""

    def __init__(self, path: Path, *, request_log: Path | None = None, directory: Path = Path()) -> None:
        self.path = path
        self.kept = 0
        """Requests in the spill; known once its run is over."""
        self.failure: str | None = None
        """Why requests are missing, if they could not be written."""
        self.damage: str | None = None
        """The damage at which ``records`` ended before the end of the file."""
        self._request_log = request_log
        self._directory = directory
        self._file: IO[bytes] | None = None
        self._position = 0

    @classmethod
    def create(cls, directory: Path, *, request_log: Path | None) -> Spill:
        """Make an empty file with a new name, from which ``request_log`` will be made. Raises IogaugeError.

        Relative paths are relative to the current directory, so its name must be UTF-8.
        """
        with explained("read", Path()):
            here = Path.cwd()
        refuse_name(here)
        with explained("create a spill of requests", directory):
            path, file = new_file(directory, prefix="iogauge-", suffix=".spill")
        spill = cls(path, request_log=request_log, directory=here)
        spill._file = file
        return spill

    def begin(self, jobs: JobFile, plan: RunPlan) -> int:
        """Write the header, once. Return the descriptor to which the core appends requests."""
        header = Header(
            jobs=jobs,
            plan=plan,
            directory=str(self._directory),
            request_log=None if self._request_log is None else str(self._request_log),
        )
        text = header.model_dump_json().encode()
        if self._file is None:
            raise ValueError(f"{self.path} was not created here")
        with explained("write", self.path):
            self._file.write(_MAGIC + struct.pack("<I", len(text)) + text)
            self._file.flush()
        return self._file.fileno()

    def ended(self, outcome: str | None) -> None:
        """Read the core's report at the end of the run."""
        report = (
            Outcome.model_validate_json(outcome) if outcome else Outcome(kept=0, failure="the run failed")
        )
        self.kept, self.failure = report.kept, report.failure

    def header(self) -> Header:
        """Read the header. Raises IogaugeError if this is not a spill, or one of another version."""
        text = self._header_text()
        try:
            fields = json.loads(text)
            versions = [fields.get(name) for name in ("schema_version", "code_version")]
            if versions != [SCHEMA_VERSION, CODE_VERSION]:
                raise IogaugeError(
                    f"{self.path}: another version of iogauge wrote this spill of requests",
                    hint=f"make its logs with that version: {call('recover', self.path)}",
                )
            return Header.model_validate_json(text)
        except (ValueError, AttributeError, RecursionError) as error:
            raise IogaugeError(
                f"{self.path}: not a spill of requests",
                hint="name an iogauge-*.spill that a run has left behind",
            ) from error

    def _header_text(self) -> bytes:
        with explained("read", self.path), self.path.open("rb") as file:
            magic, length = file.read(len(_MAGIC)), file.read(4)
            return file.read(*struct.unpack("<I", length)) if magic == _MAGIC and len(length) == 4 else b""

    def _begin_bytes(self) -> int:
        """Return the offset of the first request."""
        return len(_MAGIC) + 4 + len(self._header_text())

    def records(self) -> Iterator[NDArray[np.void]]:
        """Yield all requests, piece by piece, as arrays of ``LOG_RECORD``; those of one worker are in order.

        They end where the file is damaged, and ``damage`` then says how. Raises IogaugeError if it cannot be read.
        """
        with explained("read", self.path):
            reader = _core.SpillReader(self.path, self._begin_bytes())
        while True:
            try:
                with explained("read", self.path):
                    data = reader.read(_READ)
            except ValueError as damage:
                self.damage = str(damage)
                return
            if not data:
                return
            self._position = reader.position()
            yield np.frombuffer(data, dtype=LOG_RECORD)

    def has_requests(self) -> bool:
        """Return whether the spill may have requests. It has none if it was removed, or if its run never began."""
        try:
            return self.path.stat().st_size > self._begin_bytes()
        except FileNotFoundError:
            return False
        except (IogaugeError, OSError):
            return True  # it cannot be read now, and may be the only copy of the log

    def read_share(self) -> float:
        """Return the share of the file that ``records`` has read, in [0, 1]."""
        return self._position / max(self.path.stat().st_size, 1)

    def close(self) -> None:
        """Close the file without removing it."""
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        """Remove the file."""
        self.close()
        self.path.unlink(missing_ok=True)
