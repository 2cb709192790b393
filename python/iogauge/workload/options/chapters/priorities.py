"""Defines the options that give some I/Os a priority of their own: fio's cmdprio.

Source: fio 3.33's engines/cmdprio.c, options.c (parse_cmdprio_bssplit_entry).
"""

from __future__ import annotations

from iogauge.schema import EngineKind, PriorityShare
from iogauge.workload import numbers
from iogauge.workload.options.entries import engine_option
from iogauge.workload.options.kinds import Kind
from iogauge.workload.problem import BadValue

_Pair = tuple[int, int]
"""Values of reads and of writes."""
_Shares = tuple[PriorityShare, ...]

_MOST_SHARES = 64
_CLASSES = 3
_LEVELS = 7
_ENGINES = (EngineKind.IO_URING, EngineKind.LIBAIO)


def _pair(minimum: int, maximum: int, default: int, *, unit: str = "") -> Kind[_Pair]:
    def read(text: str, kb_base: int) -> _Pair:
        parts = text.split(",")
        if len(parts) > 2 or not any(parts):
            raise BadValue(
                "must be one number or two", hint="give values for reads and for writes, such as 10,0"
            )
        values = [
            numbers.integer(part, minimum=minimum, maximum=maximum, kb_base=kb_base, unit=unit)
            if part
            else default
            for part in parts
        ]
        return values[0], values[-1]

    return Kind(
        syntax="number[,number]" + (f" ({unit})" if unit else ""),
        read=read,
        write=lambda pair: ",".join(map(str, pair if pair[0] != pair[1] else pair[:1])),
    )


def _read_split(text: str, kb_base: int) -> tuple[_Shares, _Shares]:
    parts = text.split(",")
    if len(parts) > 3:
        raise BadValue("has more than three lists", hint="give lists for reads and for writes")
    lists = [_shares(part, kb_base) for part in parts]
    return lists[0], lists[min(1, len(lists) - 1)]


def _shares(text: str, kb_base: int) -> _Shares:
    entries = [entry for entry in text.split(":") if entry]
    if len(entries) > _MOST_SHARES:
        raise BadValue(f"has more than {_MOST_SHARES} entries", hint=f"use at most {_MOST_SHARES}, as in fio")
    shares = sorted(
        filter(None, (_share(entry, kb_base) for entry in entries)), key=lambda share: share.size_bytes
    )
    for size in {share.size_bytes for share in shares}:
        if sum(share.percent for share in shares if share.size_bytes == size) > 100:
            raise BadValue(
                f"has more than 100 % for blocks of {numbers.size_text(size)}", hint="lower one of the shares"
            )
    return tuple(shares)


def _share(entry: str, kb_base: int) -> PriorityShare | None:
    """Read one entry; None: its share is zero."""
    size, *rest = entry.split("/")
    if len(rest) not in (1, 3):
        raise BadValue(f"'{entry[:32]}' is no entry", hint="write size/percent or size/percent/class/level")
    bytes_ = numbers.integer(size, minimum=1, kb_base=kb_base, unit="bytes")
    percent = numbers.integer(rest[0], maximum=100, unit="%") if rest[0] else 0
    if not percent:
        return None
    if len(rest) == 1:
        return PriorityShare(size_bytes=bytes_, percent=percent)
    return PriorityShare(
        size_bytes=bytes_,
        percent=percent,
        prioclass=numbers.integer(rest[1], maximum=_CLASSES),
        prio=numbers.integer(rest[2], maximum=_LEVELS),
    )


def _write_split(lists: tuple[_Shares, _Shares]) -> str:
    def text(shares: _Shares) -> str:
        return ":".join(
            f"{numbers.size_text(share.size_bytes)}/{share.percent}"
            + ("" if share.prioclass is None else f"/{share.prioclass}/{share.prio}")
            for share in shares
        )

    return ",".join(map(text, lists))


PRIORITIES = (
    engine_option(
        "cmdprio_percentage",
        _pair(0, 100, 0, unit="%"),
        "0",
        "Share of the I/Os that have the priority of cmdprio_class and cmdprio: of reads, and after a comma of writes.",
        *_ENGINES,
    ),
    engine_option(
        "cmdprio_class",
        _pair(1, _CLASSES, 1),
        "1",
        "Priority class of the I/Os that cmdprio_percentage selects: 1 real time (needs root), 2 best effort, 3 idle.",
        *_ENGINES,
    ),
    engine_option(
        "cmdprio",
        _pair(0, _LEVELS, 0),
        "0",
        "Priority level of those I/Os within cmdprio_class, from 0, the highest, to 7.",
        *_ENGINES,
    ),
    engine_option(
        "cmdprio_bssplit",
        Kind(syntax="size/percent[/class/level][:…][,…]", read=_read_split, write=_write_split),
        "none",
        "In place of cmdprio_percentage: shares by block size, of reads and, after a comma, of writes.",
        *_ENGINES,
    ),
)
"""All options of the priorities of single I/Os."""
