"""Writes and checks checksums of a review's files, so that a changed byte is never taken for a measurement.

A step's directory has a ``SHA256SUMS``, which ``sha256sum --check`` also reads. Parquet's own checks do not cover its
footer, and its readers can fail in any way on a damaged one, so a file is checked before it is parsed. The manifest and
the figures are replaced while a review grows: they are JSON with its own checksum, since two files cannot be replaced
at one instant.

Checksums do not protect against deliberate changes: they lie beside the files that they cover.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.store.durable import create_file, explained
from iogauge.text.option import option

SUMS = "SHA256SUMS"
_CHECKSUM = "sha256"
_END = b"\n}"


def write_checksums(directory: Path) -> None:
    """Write the checksums of all files of a directory into it."""
    with explained("write", directory / SUMS):
        lines = [f"{_digest(file)}  {file.name}\n" for file in sorted(directory.iterdir())]
        with create_file(directory / SUMS) as sums:
            sums.write("".join(lines).encode())


def check_file(path: Path) -> None:
    """Check a file against the checksum from when its step was saved.

    Raises:
        IogaugeError: the file or its checksum is missing, or they do not agree.
    """
    with explained("read", path):
        digest = _digest(path)
    with explained("read", path.parent / SUMS):
        sums = (path.parent / SUMS).read_bytes()
    if f"{digest}  {path.name}\n".encode() not in sums.splitlines(keepends=True):
        raise damaged(path, f"it does not agree with the checksum in {SUMS}")


def with_checksum(text: str) -> bytes:
    r"""Return the JSON text of an object, as pydantic indents it, with its checksum as the last field.

    >>> with_checksum('{\n  "seed": 1\n}').decode().splitlines()[:2]
    ['{', '  "seed": 1,']
    """
    return text.encode().removesuffix(_END) + _last_field(hashlib.sha256(text.encode()).hexdigest())


def check_object(path: Path, data: bytes, fields: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Check a JSON object's text against the checksum among its fields, and return the other fields.

    Raises IogaugeError: they do not agree, or there is none where one is required.
    """
    if _CHECKSUM not in fields:
        if required:
            raise damaged(path, f"its field {_CHECKSUM}, the checksum of all others, is missing")
        return fields
    last = _last_field(fields[_CHECKSUM])
    text = data.removesuffix(last) + _END
    if not data.endswith(last) or hashlib.sha256(text).hexdigest() != fields[_CHECKSUM]:
        raise damaged(path, f"it does not agree with the checksum in its field {_CHECKSUM}")
    return {name: value for name, value in fields.items() if name != _CHECKSUM}


def _last_field(digest: object) -> bytes:
    return f',\n  "{_CHECKSUM}": "{digest}"'.encode() + _END + b"\n"


def damaged(path: Path, why: str) -> IogaugeError:
    """Return the error of a file that changed since iogauge wrote it."""
    return IogaugeError(
        f"{path}: damaged: {' '.join(why.split())}",
        hint="iogauge leaves no such file: restore it from a copy; or, where it is part of a step, delete the "
        f"step's directory and run the step again with {option('resume')}",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
