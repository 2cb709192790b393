"""Reads values of another program's file. Every value is checked, and an error names the wrong one."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.text.encodings import decoded

LARGEST_BYTES = 256 << 20
"""No result of either tool is larger."""
LARGEST = 2**63 - 1


def damaged(source: str, reason: str) -> IogaugeError:
    """Return the error of a damaged file."""
    return IogaugeError(
        f"{source}: {reason}", hint="the file is damaged or incomplete; copy it again, or run it again"
    )


def read_text(path: Path) -> str:
    """Return a file's text, by its byte order mark or else as UTF-8. Raises ``IogaugeError``."""
    try:
        if path.exists() and not (path.is_file() or path.is_fifo()):
            raise IogaugeError(f"{path}: is not a file", hint="name a result of fio or DiskSpd")
        if path.stat().st_size > LARGEST_BYTES:
            raise IogaugeError(
                f"{path}: is larger than a result of fio or DiskSpd", hint="name the result itself"
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IogaugeError(f"{path}: {reason}", hint="check the path") from None
    return decoded(data)


def number(value: Any, *, source: str, what: str) -> float:
    """Return a number that is finite and not negative. Raises ``IogaugeError``.

    >>> number("1.50", source="result.xml", what="TestTimeSeconds")
    1.5
    """
    try:
        parsed = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        parsed = math.nan
    if not (math.isfinite(parsed) and 0 <= parsed <= LARGEST):
        raise damaged(source, f"{what} is not a number of zero or more")
    return parsed


def integer(value: Any, *, source: str, what: str) -> int:
    """Return an integer of zero or more. Raises ``IogaugeError``."""
    parsed = number(value, source=source, what=what)
    try:
        exact = int(value)
    except (TypeError, ValueError):
        exact = -1
    if exact != parsed and not math.isclose(exact, parsed, rel_tol=1e-12, abs_tol=0):
        raise damaged(source, f"{what} is not a whole number")
    return exact


def fraction(percentile: str, *, source: str, what: str) -> float:
    """Return a percentile from 0 to 100, as it is written, as a fraction. Raises ``IogaugeError``.

    >>> fraction("99.9000", source="result.json", what="a percentile")
    0.999
    """
    try:
        q = float(Decimal(percentile).scaleb(-2))
    except ArithmeticError:
        q = math.nan
    if not 0 <= q <= 1:
        raise damaged(source, f"{what}, {percentile[:40]!r}, is not from 0 to 100")
    return q


def members(value: Any, *, source: str, what: str) -> dict[str, Any]:
    """Return an object of JSON. Raises ``IogaugeError``."""
    if not isinstance(value, dict):
        raise damaged(source, f"{what} is not an object")
    return value
