"""Reads a user's TOML with limits on size and nesting, so that a bad file costs no minutes and gives no traceback."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError

LARGEST_BYTES = 4 << 20
_MOST_PARTS = 64
"""Of a dotted key: what reads one takes the square of their number."""


def load_toml(path: Path, *, missing: str = "check the path") -> dict[str, Any]:
    """Return what a TOML file says; ``missing`` is the hint where there is none.

    Raises IogaugeError: it cannot be read, is too large or nested too deep, or is not TOML.
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
    except ValueError as error:  # of TOML, of UTF-8, or of a path that cannot be one
        raise IogaugeError(
            f"{str(path)!r}: not TOML: {error}", hint="correct it in the file; see https://toml.io"
        ) from None


def _dotted_parts(line: str) -> int:
    """Return how many parts the longest dotted key of a line may have."""
    most = run = 0
    for part in line.split("."):
        run = 0 if any(sign in part.strip() for sign in " =[]{},#") else run + 1
        most = max(most, run)
    return most
