"""Profiles: TOML files that say what a use needs of a drive, each limit with its source.

``profiles/`` holds those of iogauge. A file of your own looks the same:

    title = "our queue's journal"
    use = "Each message waits until it is on the drive."

    [[criterion]]
    name = "a commit"
    suite = "commit-latency"
    series = "write, then fdatasync"
    at = 1
    quantity = "p99"
    at_most = "2ms"
    source = "ours: our service promises 5 ms"

A criterion names one position of a suite, one quantity of its measured job, and one limit. This module judges nothing:
``verdicts`` does. Whether suites have what a file names, ``suites.uses`` checks.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field, FiniteFloat, ValidationError, field_validator, model_validator

from iogauge.errors import UsageError
from iogauge.schema import Model
from iogauge.text import invalid
from iogauge.workload.numbers import SECOND, duration_ns
from iogauge.workload.problem import BadValue
from iogauge.workload.suggest import closest
from iogauge.workload.toml import load_toml

_HERE = Path(__file__).parent / "profiles"
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,9})?)", re.ASCII)
_RATE = re.compile(r"(\d+(?:\.\d+)?) ?([kMG]B/s)", re.ASCII)
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(ns|us|ms|s)", re.ASCII)
_COUNT = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_RATE_UNITS = {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}

Line = Annotated[str, Field(min_length=1, max_length=400)]


class Criterion(Model):
    """One limit of a profile."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    """What it is about, for people."""
    suite: Line
    """The suite that measures it."""
    series: str = ""
    """The suite's series; empty if it has only one."""
    at: FiniteFloat
    """The position on the suite's axis."""
    quantity: Line
    """``mean``, ``p99`` or another quantile of the latency, ``iops``, or ``rate`` in bytes a second."""
    at_most: str | None = None
    """The upper limit, with its unit: ``10ms``."""
    at_least: str | None = None
    """The lower limit: ``500`` of IOPS, ``100MB/s`` of a rate."""
    along: bool = False
    """Whether the verdict also says how far along the suite's axis the limit holds."""
    source: Line
    """Who set the limit, and where; a limit of iogauge's own begins with ``ours``."""

    @field_validator("at_most", "at_least", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        """Take a bare number for a limit of IOPS."""
        return f"{value}" if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _complete(self) -> Criterion:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("needs at_most or at_least, and not both")
        if not self.limit > 0:
            raise ValueError("the limit must be above 0")
        return self

    @property
    def upper(self) -> bool:
        """Whether the limit is an upper one."""
        return self.at_most is not None

    @property
    def limit(self) -> float:
        """The limit in ns, IOPS or bytes a second. Raises ValueError if the text is no such limit."""
        text = self.at_most if self.at_most is not None else self.at_least
        assert text is not None
        return _limit(text.strip(), self.quantity)

    @property
    def q(self) -> float | None:
        """The quantile as a fraction; None of any other quantity."""
        match = _QUANTILE.fullmatch(self.quantity)
        return float(Decimal(match[1]) / 100) if match else None


def _limit(text: str, quantity: str) -> float:
    """Return a limit as a number.

    >>> _limit("16.33us", "p99.9"), _limit("500", "iops"), _limit("2 GB/s", "rate")
    (16330.0, 500.0, 2000000000.0)
    """
    if quantity == "rate":
        if not (match := _RATE.fullmatch(text)):
            raise ValueError(f"{text!r} is not a rate such as 100MB/s")
        return float(match[1]) * _RATE_UNITS[match[2]]
    if quantity == "iops":
        if not _COUNT.fullmatch(text):
            raise ValueError(f"{text!r} is not a number of requests a second")
        return float(text)
    match = _QUANTILE.fullmatch(quantity)
    if quantity != "mean" and not (match and float(match[1]) > 0):
        raise ValueError(f"the quantity {quantity!r} is none of mean, p99 and its like, iops, rate")
    if _COUNT.fullmatch(text):
        raise ValueError(f"{text!r} lacks its unit, such as ms")
    # fio's times are whole microseconds.
    if match := _TIME.fullmatch(text):
        return float(Decimal(match[1]) * _TIME_UNITS[match[2]])
    try:
        return float(duration_ns(text, default_unit_ns=SECOND))
    except BadValue as error:
        raise ValueError(f"{text!r} {error}") from None


class Profile(Model):
    """A use, and what it needs of a drive."""

    name: str = ""
    """How it was named when it was loaded: a name or a path. A file does not write it."""
    title: Annotated[str, Field(min_length=1, max_length=60)]
    """The use as the end of "fit for ...": ``a write-ahead log``."""
    use: Line
    """What the use asks of a drive, in a sentence."""
    caveat: str = ""
    """What the criteria do not cover."""
    criterion: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=64)]

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that measure it."""
        return tuple(dict.fromkeys(criterion.suite for criterion in self.criterion))

    def needs(self, suite: str, series: str, at: float) -> bool:
        """Return whether a criterion is about a position, or about its whole series."""
        return any(
            (criterion.suite, criterion.series) == (suite, series) and (criterion.along or criterion.at == at)
            for criterion in self.criterion
        )


def profile_names() -> tuple[str, ...]:
    """Return the names of iogauge's profiles."""
    return tuple(sorted(file.stem for file in _HERE.glob("*.toml")))


def load_profile(reference: str) -> Profile:
    """Load a profile by the name of a shipped one, or by the path of a TOML file.

    Raises UsageError if there is no such profile, or the file does not hold one, and IogaugeError if it cannot be read.

    >>> load_profile("etcd").suites
    ('commit-latency',)
    """
    names = ", ".join(profile_names())
    if not (is_path := reference.endswith(".toml") or "/" in reference) and reference not in profile_names():
        near = closest(reference, profile_names())
        raise UsageError(
            f"there is no profile {reference!r}",
            hint=f"did you mean {near}?" if near else f"profiles: {names}; or the path of a .toml file",
        )
    path = Path(reference) if is_path else _HERE / f"{reference}.toml"
    content = load_toml(path, missing=f"name a TOML file with criteria, or one of {names}")
    try:
        return Profile.model_validate({**content, "name": reference})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        raise UsageError(
            f"{path}: {place or 'it'}: {invalid.reason(first)}",
            hint="a profile has a title, a use, and [[criterion]] tables; docs/verdicts.md shows one",
        ) from None
