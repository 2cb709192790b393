"""A question about a drive model: which load runs on it, and which parameters are changed.

Its parts come from an address that anybody can write. They are checked here before they become lines of a job file; the
library checks the names and values of parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

PATTERNS = {
    "randread": "random reads",
    "read": "sequential reads",
    "randwrite": "random writes",
    "write": "sequential writes",
    "randrw": "random mix, half reads",
    "rw": "sequential mix, half reads",
}
"""The values of ``rw`` that the form offers, in words."""
NUMBERS = {
    "iodepth": ("iodepth", 1, 1024, 1),
    "numjobs": ("numjobs", 1, 32, 1),
    "requests": ("requests in all", 1000, 100_000, 10_000),
    "rate_iops": ("rate_iops of each job", 1, 10_000_000, None),
}
"""The numbers of the form: label, least, most and default; None: it may be left out."""
MOST_CHANGES = 16
LARGEST_BLOCK = 16 << 20
_BLOCK = re.compile(r"(\d{1,8})([km]?)", re.IGNORECASE)
_CHANGE = re.compile(r"([\w.-]{1,100})=([\w.+-]{1,40})", re.ASCII)


@dataclass(frozen=True)
class Load:
    """The load of a question, in fio's words."""

    rw: str = "randread"
    bs: str = "4k"
    iodepth: int = 1
    numjobs: int = 1
    requests: int = 10_000
    """Of all jobs together."""
    rate_iops: int | None = None
    """Of each job; None: as fast as the drive answers."""

    @property
    def job(self) -> str:
        """The load as a job file."""
        lines = {
            "rw": self.rw,
            "bs": self.bs,
            "ioengine": "libaio",
            "direct": 1,
            "iodepth": self.iodepth,
            "numjobs": self.numjobs,
            "group_reporting": 1,
            "number_ios": max(self.requests // self.numjobs, 1),
            "rate_iops": self.rate_iops,
        }
        return f"[{self.rw}]\n" + "".join(
            f"{name}={value}\n" for name, value in lines.items() if value is not None
        )

    @property
    def query(self) -> dict[str, Any]:
        """Its part of an address."""
        return asdict(self)


@dataclass(frozen=True)
class Question:
    """What is asked of the models of a drive and a machine."""

    drive: str
    machine: str
    load: Load
    changes: tuple[tuple[str, str], ...]
    """Places of parameters, and their other values."""


def load_of(query: QueryParams) -> Load:
    """Return the load that an address names. Raises UsageError."""
    rw, bs = query.get("rw", Load.rw), query.get("bs", Load.bs).strip()
    if rw not in PATTERNS:
        raise UsageError(f"rw {rw[:40]!r} is not offered here", hint=f"choose one of: {', '.join(PATTERNS)}")
    block = _BLOCK.fullmatch(bs)
    size = int(block[1]) << {"": 0, "k": 10, "m": 20}[block[2].lower()] if block else 0
    if not 0 < size <= LARGEST_BLOCK:
        raise UsageError(f"bs {bs[:40]!r} is not a block size up to 16m", hint="write, for instance, 4k")
    numbers = {name: _number(name, query.get(name, "").strip()) for name in NUMBERS}
    return Load(rw=rw, bs=bs, **{name: value for name, value in numbers.items() if value is not None})


def changes_of(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the changes that an address names as PARAMETER=VALUE; empty ones are left out. Raises UsageError.

    >>> changes_of(["media.channels=14", " "])
    (('media.channels', '14'),)
    """
    written = [text.strip() for text in texts if text.strip()]
    if len(written) > MOST_CHANGES:
        raise UsageError(f"{len(written)} changes are too many", hint=f"make at most {MOST_CHANGES}")
    changes: dict[str, str] = {}
    for text in written:
        match = _CHANGE.fullmatch(text)
        if not match:
            raise UsageError(
                f"{text[:80]}: is not PARAMETER=VALUE", hint="write, for instance, media.turnaround_ns=0"
            )
        if match[1] in changes:
            raise UsageError(f"{match[1]} is changed twice", hint="leave one of them out")
        changes[match[1]] = match[2]
    return tuple(changes.items())


def _number(name: str, text: str) -> int | None:
    label, least, most, _ = NUMBERS[name]
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise UsageError(
            f"{label} {text[:40]!r} is out of range", hint=f"write a whole number from {least:,} to {most:,}"
        )
    return int(text)
