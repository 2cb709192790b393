"""Reads a user's TOML with limits on size and nesting, so that no file takes minutes or ends in a traceback."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError

LARGEST_BYTES = 4 << 20
_MOST_PARTS = 64
"""The most parts of a dotted key: the time to read a key grows with the square of their number."""


def load_toml(path: Path, *, missing: str = "check the path") -> dict[str, Any]:
    """Return the content of a TOML file; ``missing`` is the hint if there is no such file.

    Raises ``IogaugeError`` if the file cannot be read, is too large, is nested too deep or is not TOML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise IogaugeError(f"{path}: is larger than {LARGEST_BYTES >> 20} MiB", hint="name a TOML file")
        text = data.decode("utf-8")
        if any(_dotted_parts(line) > _MOST_PARTS for line in text.splitlines()):
            raise IogaugeError(f"{path}: not TOML: nested too deep", hint="correct it in the file")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise IogaugeError(f"{path}: no such file", hint=missing) from None
    except OSError as error:
        raise IogaugeError(f"{path}: {error.strerror}", hint="name a file that can be read") from None
    except RecursionError:
        raise IogaugeError(f"{path}: not TOML: nested too deep", hint="correct it in the file") from None
    except ValueError as error:  # not TOML, not UTF-8, or not a possible path
        raise IogaugeError(
            f"{str(path)!r}: not TOML: {error}", hint="correct it in the file; see https://toml.io"
        ) from None


def _dotted_parts(line: str) -> int:
    """Return an upper bound on the number of parts of the longest dotted key of a line."""
    most = run = 0
    for part in line.split("."):
        run = 0 if any(sign in part.strip() for sign in " =[]{},#") else run + 1
        most = max(most, run)
    return most
