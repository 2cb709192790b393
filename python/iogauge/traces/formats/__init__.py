"""Formats of traces: those that crates/trace knows by themselves, and tables, each described by a TOML file.

A file of your own describes a table as those beside this module do:

    title = "requests of our array"
    source = "export of the array's console"
    separator = ","
    header = true

    [time]
    column = "when"
    unit = "us"

    [direction]
    column = "op"
    read = ["R"]
    write = ["W"]

    [offset]
    column = "lba"
    unit = "sector"

    [size]
    column = "blocks"
    unit = "sector"

Columns are numbers, from 1, or names of the header. ``latency``, ``device`` (a list of columns) and ``epoch`` of the
time are not needed. ``line`` is a pattern by which a file without a header is recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from iogauge.errors import UsageError
from iogauge.schema import Direction
from iogauge.schema.base import Model
from iogauge.text import invalid
from iogauge.workload.suggest import closest
from iogauge.workload.toml import load_toml

_HERE = Path(__file__).parent
_TIMES = {"ns": 1, "100ns": 100, "us": 1000, "ms": 10**6, "s": 10**9}
_SIZES = {"byte": 1, "sector": 512, "KiB": 1024}
_WINDOWS_TICKS = 116_444_736_000_000_000
"""1970 in ticks of 100 ns since 1601."""

Column = Annotated[int, Field(ge=1, le=64)] | Annotated[str, Field(min_length=1, max_length=200)]
Words = tuple[Annotated[str, Field(max_length=40)], ...]


class Time(Model):
    """The column with the time of a request."""

    column: Column
    unit: Literal["ns", "100ns", "us", "ms", "s"]
    epoch: Literal["unix", "windows"] | None = None
    """What it counts from; None: from anything."""


class Latency(Model):
    """The column with the latency of a request."""

    column: Column
    unit: Literal["ns", "100ns", "us", "ms", "s"]


class Bytes(Model):
    """A column with an offset or a size."""

    column: Column
    unit: Literal["byte", "sector", "KiB"] | Annotated[int, Field(ge=1, le=1 << 30)] = "byte"
    """A word or a number of bytes; a sector has 512."""


class DirectionWords(Model):
    """The column with the direction of a request, and its words, in either case."""

    column: Column
    read: Words = ()
    write: Words = ()
    trim: Words = ()
    sync: Words = ()
    ignore: Words = ()
    """Lines with these are no requests."""


class TableFormat(Model):
    """What the columns of a table mean."""

    title: str = ""
    source: str = ""
    separator: Annotated[str, Field(pattern=r"^[ -~\t]$")] = ","
    """A space stands for any number of spaces."""
    header: bool = False
    line: str | None = None
    resolution_ns: Annotated[int, Field(ge=1)] | None = None
    """The step of its clock, if that is not the unit of its times."""
    time: Time
    device: tuple[Column, ...] = ()
    """Joined by a dash they name the device; none: the file's name does."""
    direction: DirectionWords
    offset: Bytes
    size: Bytes
    latency: Latency | None = None

    @model_validator(mode="after")
    def _complete(self) -> TableFormat:
        named = [self.time, self.direction, self.offset, self.size, self.latency]
        columns = [part.column for part in named if part is not None] + [*self.device]
        if not self.header and any(isinstance(column, str) for column in columns):
            raise ValueError("names columns, which needs header = true")
        words = self.direction
        every = [
            word.lower() for word in (*words.read, *words.write, *words.trim, *words.sync, *words.ignore)
        ]
        if len(set(every)) < len(every):
            raise ValueError("gives a word of direction two meanings")
        if not every:
            raise ValueError("has no words of direction")
        if self.time.epoch == "windows" and self.time.unit != "100ns":
            raise ValueError("counts from the epoch of Windows, whose unit is 100ns")
        return self


class TraceFormat(Model):
    """A format by its name, as the parser takes it."""

    name: str
    title: str
    parser: str
    """JSON of crates/trace's ``Format``."""
    resolution_ns: int
    absolute: bool = False
    """Whether its times count from 1970."""
    events: bool = False
    """Whether it has two events for a request."""


_OWN = {
    "blktrace": TraceFormat(
        name="blktrace",
        title="what blktrace writes for a CPU, or blkparse -d",
        parser=json.dumps("blktrace"),
        resolution_ns=1,
        events=True,
    ),
    "iolog": TraceFormat(
        name="iolog",
        title="fio's write_iolog, version 2 or 3",
        parser=json.dumps("iolog"),
        resolution_ns=1000,
    ),
    "vscsi": TraceFormat(
        name="vscsi",
        title="VMware's vscsi traces, as CloudPhysics published them",
        parser=json.dumps("vscsi"),
        resolution_ns=1000,
    ),
}


@cache
def shipped() -> Mapping[str, TableFormat]:
    """Return the tables that come with iogauge, by name."""
    return {path.stem: read_table(path) for path in sorted(_HERE.glob("*.toml"))}


def names() -> list[str]:
    """Return the names of all formats."""
    return sorted([*_OWN, *shipped()])


def read_table(path: Path) -> TableFormat:
    """Return the format that a TOML file describes. Raises IogaugeError if it describes none."""
    try:
        return TableFormat.model_validate(load_toml(path, missing="check the path"))
    except ValidationError as error:
        first = error.errors()[0]
        # Beside the names of fields there are those of the types that a value may have.
        place = ".".join(
            str(part) for part in first["loc"] if str(part).isidentifier() and part not in ("int", "str")
        )
        raise UsageError(
            f"{path}: {place or 'it'}: {invalid.reason(first)}",
            hint="see docs/traces.md#columns-of-your-own for what a file of columns has",
        ) from None


def format_named(name: str) -> TraceFormat:
    """Return the format of this name, or of this TOML file. Raises UsageError if there is none."""
    if name in _OWN:
        return _OWN[name]
    if name in shipped():
        return _of_table(name, shipped()[name])
    if name.endswith(".toml"):
        return _of_table(Path(name).stem, read_table(Path(name)))
    near = closest(name, names())
    meant = f"did you mean {near}? " if near else ""
    raise UsageError(
        f"no format is named {name}", hint=f"{meant}formats: {', '.join(names())}, or a TOML file of columns"
    )


def recognised(head: bytes) -> TraceFormat | None:
    """Return the format of a file that begins with these bytes; None if it is none that is known."""
    if b"\x65\x61\x74" in (head[1:4][::-1], head[:3]):
        return _OWN["blktrace"]
    if head.startswith(b"fio version "):
        return _OWN["iolog"]
    line = head.partition(b"\n")[0].rstrip(b"\r").decode("ascii", "replace")
    for name, table in shipped().items():
        if table.line is not None and re.fullmatch(table.line, line):
            return _of_table(name, table)
    second, first = (head[3:4], head[43:44]), (head[15:16], head[47:48])
    if second == (b"\x02", b"\x02") or first == (b"\x01", b"\x01"):
        return _OWN["vscsi"]
    return None


def _of_table(name: str, table: TableFormat) -> TraceFormat:
    time, direction = table.time, table.direction
    words: dict[str, str | None] = dict.fromkeys(direction.ignore)
    for meaning in Direction:
        words |= dict.fromkeys(getattr(direction, meaning.value), meaning.value)

    def quantity(column: Column, unit: int, origin: int = 0) -> dict[str, Any]:
        return {"column": column, "unit": unit, "origin": origin}

    def size(part: Bytes) -> dict[str, Any]:
        return quantity(part.column, part.unit if isinstance(part.unit, int) else _SIZES[part.unit])

    origin = _WINDOWS_TICKS if time.epoch == "windows" else 0
    parser = {
        "separator": table.separator,
        "header": table.header,
        "time": quantity(time.column, _TIMES[time.unit], origin),
        "device": table.device,
        "direction": direction.column,
        "words": words,
        "offset": size(table.offset),
        "size": size(table.size),
        "latency": table.latency and quantity(table.latency.column, _TIMES[table.latency.unit]),
    }
    return TraceFormat(
        name=name,
        title=table.title,
        parser=json.dumps({"table": parser}),
        resolution_ns=table.resolution_ns or _TIMES[time.unit],
        absolute=time.epoch is not None,
    )
