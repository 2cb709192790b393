"""Defines the option of syncs that concern a range: sync_file_range.

Source: fio 3.33's options.c (str_sfr_cb), io_u.c (get_rw_ddir, do_sync_file_range); sync_file_range(2).
"""

from __future__ import annotations

from iogauge.schema import RangeSync
from iogauge.workload import numbers
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import Kind
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue

_FLAGS = ("wait_before", "write", "wait_after")
_MOST = 2**31 - 1


def _read(text: str, _: int) -> RangeSync:
    flags, colon, every = text.partition(":")
    words = flags.split(",")
    unknown = next((word for word in words if word not in _FLAGS), None)
    if unknown is not None:
        raise BadValue(
            f"has '{unknown[:32]}', which is not a flag of sync_file_range", hint=f"use {', '.join(_FLAGS)}"
        )
    if colon and not every.isdecimal():
        raise BadValue(
            "does not end in a whole number", hint=f"write {flags}:8 for a call after every 8 writes"
        )
    writes = numbers.integer(every or "1", minimum=1, maximum=_MOST, kb_base=1024)
    return RangeSync.model_validate({"every": writes, **{flag: flag in words for flag in _FLAGS}})


def _write(value: RangeSync) -> str:
    return f"{','.join(flag for flag in _FLAGS if getattr(value, flag))}:{value.every}"


SYNCS = (
    entry(
        "sync_file_range",
        Category.DURABILITY,
        Kind(syntax="wait_before|write|wait_after[,…][:number]", read=_read, write=_write),
        "none",
        "Call sync_file_range with these flags after every `number` writes (default 1), on the range written to the "
        "file since its last sync. The call writes back pages of the page cache. It does not make them durable.",
    ),
)
"""All options of syncs of ranges, in the order of the reference."""
