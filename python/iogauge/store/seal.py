"""Checksums of a step's files, so that a changed byte is never taken for a measurement.

A sealed directory has a ``SHA256SUMS`` that ``sha256sum --check`` reads too. Parquet's own checks do not cover its
footer, and its readers may fail in any way on a damaged one; so a file is compared before it is parsed.

This module does not protect against someone who means to deceive: the sums lie beside what they cover.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store.durable import explained

SUMS = "SHA256SUMS"


def seal(directory: Path) -> None:
    """Write the checksums of every file in a directory into it."""
    with explained("write", directory / SUMS):
        lines = [f"{_digest(file)}  {file.name}\n" for file in sorted(directory.iterdir())]
        (directory / SUMS).write_text("".join(lines))


def check_seal(path: Path) -> None:
    """Compare a file with the checksum that was taken when its step was saved.

    Raises:
        IogaugeError: the file or its checksum is missing, or they do not agree.
    """
    with explained("read", path):
        found = _digest(path)
    with explained("read", path.parent / SUMS):
        sums = (path.parent / SUMS).read_bytes()
    if f"{found}  {path.name}\n".encode() not in sums.splitlines(keepends=True):
        raise damaged(path, f"it does not agree with the checksum in {SUMS}")


def damaged(path: Path, why: str) -> IogaugeError:
    """Return the error for a file that iogauge did not leave as it is now."""
    return IogaugeError(
        f"{path}: damaged: {' '.join(why.split())}",
        hint="iogauge leaves no such file: restore it from a copy; or, where it is part of a step, delete the "
        "step's directory and run the step again with --resume",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
