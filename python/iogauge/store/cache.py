"""Keeps texts that take long to make, such as drawn charts, for all reports of a user.

Each text is a file in $XDG_CACHE_HOME/iogauge (by default ~/.cache/iogauge), named by a digest of what it is made from.
The files can be deleted at any time. If the directory cannot be read or written, every text is made again.

Source: XDG Base Directory Specification.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store import durable
from iogauge.target.ledger import xdg_directory

MOST_FILES = 400
"""If there are more, those unused for longest are removed."""


def cached(source: str, make: Callable[[], str]) -> str:
    """Return the text that ``make`` makes from ``source``; it is called only if the cache does not have that text."""
    try:
        path = xdg_directory("XDG_CACHE_HOME", ".cache") / "iogauge" / _digest(source)
        return _read(path)
    except RuntimeError:  # The user has no home directory.
        return make()
    except (OSError, ValueError):
        text = make()
        _write(path, text)
        return text


def _read(path: Path) -> str:
    """Raises OSError if the cache does not have the file, ValueError if the file is damaged."""
    checksum, _, text = path.read_bytes().decode().partition("\n")
    if checksum != _digest(text):
        raise ValueError(f"{path} is damaged")
    with contextlib.suppress(OSError):  # A cache that can only be read is still useful.
        os.utime(path)
    return text


def _write(path: Path, text: str) -> None:
    explain = partial(durable.explained, "write", path)
    with contextlib.suppress(OSError, IogaugeError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with durable.replacing(path, explain=explain) as file:
            file.write(f"{_digest(text)}\n{text}".encode())
        _remove_unused(path.parent)


def _remove_unused(directory: Path) -> None:
    by_use = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in by_use[MOST_FILES:]:
        path.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
