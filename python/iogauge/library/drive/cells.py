"""Cells of the sections: a dash stands for what the drive does not report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

Rows = Iterator[tuple[str, str]]
"""Labels, each with a text."""


@dataclass(frozen=True)
class Section:
    """A title with rows. With a ``head``, the rows are a table; without one, each is a label and a text."""

    title: str
    rows: Sequence[Sequence[str]]
    head: tuple[str, ...] = ()
    left: int = 1
    """How many columns of a table are flush left."""
    note: str = ""


def or_dash(value: T | None, shown: Callable[[T], str] = str) -> str:
    """Return a value as ``shown`` writes it, or a dash.

    >>> or_dash(3), or_dash(None)
    ('3', '-')
    """
    return "-" if value is None else shown(value)


def switch(on: bool | None, *, exists: bool = True) -> str:
    """Return whether something is on; ``exists`` is whether the drive has it at all.

    >>> switch(True), switch(False), switch(None), switch(None, exists=False)
    ('on', 'off', 'not read', 'the drive has none')
    """
    return {True: "on", False: "off", None: "not read"}[on] if exists else "the drive has none"


def yes_no(value: bool | None) -> str:
    """Return yes, no, or a dash."""
    return {True: "yes", False: "no", None: "-"}[value]


def power(watts: float) -> str:
    """Return a power in W or mW.

    >>> power(6.2), power(0.45), power(0.0025)
    ('6.2 W', '0.45 W', '2.5 mW')
    """
    return f"{watts:g} W" if watts >= 0.1 else f"{1000 * watts:g} mW"


def celsius(temperature_C: float) -> str:
    """Return a temperature in whole degrees."""
    return f"{temperature_C:.0f} C"
