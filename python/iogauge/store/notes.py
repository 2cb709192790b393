"""A user's notes on a saved review: the file ``notes.md`` in its directory, free text with tags.

A tag is a word that begins with ``#`` and a letter: ``#firmware-1.2``. Case does not tell tags apart. The notes are no
part of what was measured: no checksum covers them, and a user may write the file by any means. So reading them never
fails: a file that is missing, of another kind, or not text counts as far as it can be read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.store import durable
from iogauge.store.names import MANIFEST, NOTES

MOST_BYTES = 64 << 10
"""What follows in a longer file is not read."""
MOST_TAGS = 100

_TAG = re.compile(r"(?<!\S)#([^\W\d_](?:[\w.-]{0,62}\w)?)")


@dataclass(frozen=True)
class Notes:
    """The notes on a review; empty: there are none."""

    text: str = ""
    tags: tuple[str, ...] = ()
    """In lower case, each once, in the order of the text."""


def tags_of(text: str) -> tuple[str, ...]:
    """Return the tags in a text.

    >>> tags_of("# Title\\nnew #Firmware-1.2, see #NVMe. Not C#, not #1, not a#b; #nvme again")
    ('firmware-1.2', 'nvme')
    """
    return tuple(dict.fromkeys(match.lower() for match in _TAG.findall(text)))[:MOST_TAGS]


def read_notes(directory: Path) -> Notes:
    """Return the notes on the review in a directory."""
    try:
        # A review may come from a stranger: a pipe would never end, and a link may lead anywhere.
        descriptor = os.open(directory / NOTES, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Notes()
    try:
        data = os.read(descriptor, MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return Notes()
    finally:
        os.close(descriptor)
    text = data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return Notes(text, tags_of(text))


def editable_notes(directory: Path, *, most_bytes: int = MOST_BYTES) -> tuple[str, str]:
    """Return the text of the notes on a review, and its version, which another text does not have.

    Raises IogaugeError if a text that replaces this one would lose what is in the file: it is longer than
    ``most_bytes``, not UTF-8, or not a file.
    """
    path = directory / NOTES
    text = read_notes(directory).text
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return "", version_of("")
    except OSError:
        status = None
    if status is None or not stat.S_ISREG(status.st_mode):
        why = "not a file that can be read"
    elif status.st_size > most_bytes:
        why = f"{status.st_size:,} bytes, and at most {most_bytes:,} can be edited here"
    elif "\N{REPLACEMENT CHARACTER}" in text or len(text.encode()) != status.st_size:
        why = "not UTF-8"
    else:
        return text, version_of(text)
    raise IogaugeError(f"{path}: {why}", hint="edit the file itself")


def version_of(text: str) -> str:
    """Return the version of a text.

    >>> version_of("a") == version_of("a") != version_of("b")
    True
    """
    return hashlib.sha256(text.encode()).hexdigest()


def check_notes(text: str, *, most_bytes: int = MOST_BYTES) -> None:
    """Raise UsageError if a text is longer than notes may be, or cannot be written as UTF-8."""
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:
        raise UsageError("notes: not UTF-8", hint="write them as UTF-8") from None
    if size_bytes > most_bytes:
        raise UsageError(
            f"notes: {size_bytes:,} bytes, and at most {most_bytes:,} are kept",
            hint="shorten them, or keep the long text in a file of its own",
        )


def write_notes(directory: Path, text: str) -> None:
    """Replace the notes on the review in a directory atomically; an empty text removes them.

    Raises UsageError as ``check_notes``, and IogaugeError if there is no review or its directory cannot be written.
    """
    check_notes(text)
    if not (directory / MANIFEST).is_file():
        raise IogaugeError(f"{directory}: not a saved review", hint="name the directory of a review")
    path = directory / NOTES
    if not text.strip():
        with durable.explained("remove", path):
            path.unlink(missing_ok=True)
        return
    with durable.replacing(path, explain=partial(durable.explained, "write", path)) as file:
        file.write(text.encode())
