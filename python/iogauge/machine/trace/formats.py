"""Reads the descriptions of trace events and ring buffers that tracefs has.

Source: the kernel's Documentation/trace/events.rst (format files) and ring-buffer-design.rst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FIELD = re.compile(
    r"^\s*field:(?P<declaration>[^;]+);\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);", re.M
)
_NAME = re.compile(r"(?P<name>\w+)(\[[^\]]*\])*$")
_COUNT = re.compile(r"^(?P<name>[\w ]+): *(?P<count>\d+)$", re.M)


@dataclass(frozen=True)
class Field:
    """Where a field lies in an event, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True)
class Format:
    """An event's number, and its fields by name."""

    id: int
    fields: Mapping[str, Field]


def parse_fields(text: str) -> dict[str, Field]:
    """Return the fields that a format or header file describes.

    >>> parse_fields("field:char rwbs[10];\\toffset:34;\\tsize:10;\\tsigned:0;")
    {'rwbs': Field(offset=34, size=10)}
    """
    fields = {}
    for match in _FIELD.finditer(text):
        if name := _NAME.search(match["declaration"].strip()):
            fields[name["name"]] = Field(int(match["offset"]), int(match["size"]))
    return fields


def parse_format(text: str) -> Format:
    """Return the format of an event.

    Raises ValueError if the text is not a whole format file.
    """
    number = re.search(r"^ID:\s*(\d+)\s*$", text, re.M)
    fields = parse_fields(text)
    if number is None or not fields:
        raise ValueError("the description of a trace event has no ID or no fields")
    return Format(int(number[1]), fields)


def page_bytes(header_page: str) -> int:
    """Return the size of a ring buffer's page, by ``events/header_page``.

    Raises ValueError if the page is not laid out as here: a time and a length of eight bytes each, then events.
    """
    fields = parse_fields(header_page)
    places = {
        name: (fields[name].offset, fields[name].size) for name in ("timestamp", "commit") if name in fields
    }
    if places != {"timestamp": (0, 8), "commit": (8, 8)} or fields.get("data", Field(0, 0)).offset != 16:
        raise ValueError("the kernel's ring buffer has another layout than that of 64-bit machines")
    return 16 + fields["data"].size


def lost_events(stats: str) -> int:
    """Return how many events one CPU's buffer lost, by ``per_cpu/cpuN/stats``.

    >>> lost_events("entries: 5\\noverrun: 7\\ncommit overrun: 1\\nbytes: 9\\ndropped events: 2\\nread events: 3\\n")
    10
    """
    counts = {match["name"].strip(): int(match["count"]) for match in _COUNT.finditer(stats)}
    return sum(counts.get(name, 0) for name in ("overrun", "commit overrun", "dropped events"))
