"""Reads and writes numbers, sizes and times in fio's notation.

With the default ``kb_base=1024``, ``k`` and ``kb`` mean 1024 and ``kib`` means 1000. fio keeps this reversal for old
job files. ``ki`` and ``mi`` are 1024 and 2**20, as in fio's code (its manual says otherwise).

fio reads the start of a malformed number and ignores the rest. If such a text has only one plausible meaning, that
meaning is used: ``runtime=1m30s`` (fio: one microsecond), ``runtime=0.5s`` (fio: no limit), ``bs=2*1024`` (fio: two
bytes). Others are refused (``size=1.5g``, one byte to fio; ``runtime=10sec``), and the hint says what to write.

Source: fio 3.33's parse.c.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from itertools import pairwise
from typing import Final

from iogauge.workload.expression import Number, evaluate
from iogauge.workload.problem import BadValue

LARGEST: Final = 2**63 - 1
US: Final = 1_000
"""Nanoseconds in a microsecond. All of fio's times are whole microseconds."""
SECOND: Final = 1_000_000_000
HOUR: Final = 3_600 * SECOND
KIB: Final = 1 << 10
MIB: Final = 1 << 20

_LONGEST = 64
_NUMBER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)([a-zA-Z]*)", re.ASCII)
# Possessive quantifiers: with backtracking, a text can be split into parts in exponentially many ways.
_TIME = re.compile(r"(?:[0-9]++(?:\.[0-9]++)?[a-zA-Z]*+)++", re.ASCII)
_TIME_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)", re.ASCII)
_POWERS = "kmgtp"
_TIME_UNITS = {
    "us": US,
    "usec": US,
    "ms": 1_000 * US,
    "msec": 1_000 * US,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": HOUR,
    "d": 86_400 * SECOND,
}
_MISWRITTEN_UNITS = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d",
}  # fmt: skip


@functools.cache
def byte_suffixes(kb_base: int) -> dict[str, int]:
    """Return the factor of every suffix of a number, by the suffix in lower case.

    >>> byte_suffixes(1024)["kib"], byte_suffixes(1024)["ki"], byte_suffixes(1000)["kib"]
    (1000, 1024, 1024)
    """
    other = 1000 if kb_base == 1024 else 1024
    table = {"b": 1}
    for power, letter in enumerate(_POWERS, start=1):
        table |= dict.fromkeys((letter, f"{letter}b", f"{letter}i"), kb_base**power)
        table[f"{letter}ib"] = other**power
    return table


def integer(
    text: str, *, minimum: int = 0, maximum: int = LARGEST, kb_base: int = 1024, unit: str = ""
) -> int:
    """Read a whole number with fio's suffixes; ``unit`` appears only in errors. Raises ``BadValue``.

    >>> integer("4k"), integer("1MiB"), integer("0x10"), integer("(2*4)k"), integer("2*1024")
    (4096, 1000000, 16, 8192, 2048)
    """
    suffixes = byte_suffixes(kb_base)
    if _is_expression(text):
        value = _whole(evaluate(text, suffixes).value)
    else:
        sign, digits, suffix = _split(text)
        if suffix and suffix not in suffixes:
            raise BadValue(
                f"'{suffix}' is not a suffix of a number", hint="suffixes: k, m, g, t, p (powers of 1024)"
            )
        value = sign * _digits(digits, suffix) * suffixes.get(suffix, 1)
    return in_range(value, minimum=minimum, maximum=maximum, unit=unit)


def duration_ns(text: str, *, default_unit_ns: int, maximum_ns: int = LARGEST) -> int:
    """Read a time with fio's suffixes (us, ms, s, m for minutes, h, d) into nanoseconds. Raises ``BadValue``.

    >>> duration_ns("1m30s", default_unit_ns=SECOND) // SECOND, duration_ns("5", default_unit_ns=US)
    (90, 5000)
    """
    if _is_expression(text):
        value, has_unit = evaluate(text, _TIME_UNITS)
        total_ns = _whole(value * (1 if has_unit else default_unit_ns))
        if total_ns % default_unit_ns:
            raise BadValue(
                "is an expression with a fraction of a second, which fio drops",
                hint="write the time in ms or us, without an expression",
            )
        return in_range(total_ns, minimum=0, maximum=maximum_ns, unit="ns")
    value_ns = _time_ns(text, default_unit_ns=default_unit_ns)
    return in_range(value_ns, minimum=0, maximum=maximum_ns, unit="ns")


def _time_ns(text: str, *, default_unit_ns: int) -> int:
    """Add up the parts of a time such as ``1m30s``: each with its unit, the largest unit first."""
    if not text:
        raise BadValue("needs a value", hint="write a time after '='")
    if text[:2].lower() == "0x":
        raise BadValue("is a hexadecimal time", hint="write it in decimal")
    if len(text) > _LONGEST or not _TIME.fullmatch(text.removeprefix("+")):
        raise BadValue("is not a time", hint="write a time such as 90, 1m30s or 500ms")
    parts = [(Fraction(number), unit.lower()) for number, unit in _TIME_PART.findall(text)]
    units_ns = [_unit_ns(unit, default_unit_ns if len(parts) == 1 else None) for _, unit in parts]
    if any(larger <= smaller for larger, smaller in pairwise(units_ns)):
        raise BadValue("has its units in the wrong order", hint="write larger units first, such as 1m30s")
    value_ns = sum(number * unit_ns for (number, _), unit_ns in zip(parts, units_ns, strict=True))
    if value_ns % US:
        raise BadValue("is not a whole number of microseconds", hint="round the time to microseconds")
    return int(value_ns)


def _unit_ns(unit: str, default_ns: int | None) -> int:
    """Return the length of a unit; of no unit, ``default_ns``."""
    if not unit:
        if default_ns is None:
            raise BadValue("has a number without a unit", hint="give every number its unit, such as 1m30s")
        return default_ns
    if unit not in _TIME_UNITS:
        suggestion = _MISWRITTEN_UNITS.get(unit)
        hint = f"write '{suggestion}'" if suggestion else "units: us, ms, s, m (minutes), h, d"
        raise BadValue(f"'{unit}' is not a unit of time", hint=hint)
    return _TIME_UNITS[unit]


def _is_expression(text: str) -> bool:
    return text.startswith("(") or "*" in text


def in_range(value: int, *, minimum: int, maximum: int, unit: str = "") -> int:
    """Return ``value`` if it lies in [minimum, maximum]; otherwise raise ``BadValue``."""
    tail = f" {unit}" if unit else ""
    hint = f"use a value from {minimum} to {maximum}{tail}"
    if value < minimum:
        raise BadValue(f"must be at least {minimum}{tail}", hint=hint)
    if value > maximum:
        raise BadValue(f"must be at most {maximum}{tail}", hint=hint)
    return value


def size_text(value: int) -> str:
    """Write a number with the largest suffix that keeps it exact, for ``kb_base=1024``.

    >>> size_text(4096), size_text(1000), size_text(0), size_text(-8192)
    ('4k', '1000', '0', '-8k')
    """
    for power in range(len(_POWERS), 0, -1):
        if value and value % 1024**power == 0:
            return f"{value // 1024**power}{_POWERS[power - 1]}"
    return str(value)


def duration_text(value_ns: int) -> str:
    """Write a time with its largest exact unit up to seconds. Raises ``BadValue`` below a microsecond.

    >>> duration_text(60 * SECOND), duration_text(1_500_000), duration_text(0)
    ('60s', '1500us', '0')
    """
    if value_ns % US:
        raise BadValue("is not a whole number of microseconds", hint="round the time to microseconds")
    for name in ("s", "ms"):
        if value_ns and value_ns % _TIME_UNITS[name] == 0:
            return f"{value_ns // _TIME_UNITS[name]}{name}"
    return f"{value_ns // US}us" if value_ns else "0"


def _split(text: str) -> tuple[int, str, str]:
    """Return sign, digits and lower-case suffix of a number's text."""
    if not text:
        raise BadValue("needs a value", hint="write a number after '='")
    if len(text) > _LONGEST:
        raise BadValue("is too long to be a number", hint="write the number")
    match = _NUMBER.fullmatch(text)
    if match is None:
        hint = (
            "write a whole number with a smaller suffix"
            if re.match(r"[0-9]*\.[0-9]", text)
            else "write a number"
        )
        raise BadValue("is not a whole number", hint=hint)
    return (-1 if match[1] == "-" else 1), match[2], match[3].lower()


def _digits(digits: str, suffix: str) -> int:
    if digits[:2].lower() != "0x":
        return int(digits)
    if suffix:
        raise BadValue("has a suffix after a hexadecimal number", hint="write it in decimal")
    return int(digits, 16)


def _whole(value: Number) -> int:
    return int(value)
