"""Defines the options with which a job replays a trace.

``replay_pacing`` and ``replay_addresses`` are iogauge's own; fio has none of them.

Source: fio's options.c, iolog.c, blktrace.c.
"""

from __future__ import annotations

from iogauge.schema import Addresses, Direction, Pacing
from iogauge.workload.numbers import LARGEST
from iogauge.workload.options import patterns
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import FLAG, TEXT, Kind, choice, count
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue

_SCALES = 2**31 - 1


def _read_align(text: str, kb_base: int) -> int:
    align = count(0, 2**31, unit="bytes").read(text, kb_base)
    if align & (align - 1):
        raise BadValue("is not a power of two", hint="write one, such as 4096")
    return align


def _read_skip(text: str, _: int) -> tuple[Direction, ...]:
    words = text.split(",")
    for word in words:
        if word not in tuple(Direction):
            raise BadValue(
                f"'{word[:32]}' is no direction", hint="list read, write, trim and sync, separated by commas"
            )
    return tuple(direction for direction in Direction if direction.value in words)


ALIGN = Kind(syntax="number (bytes, a power of two)", read=_read_align, write=str)
SKIP = Kind(syntax="read|write|trim|sync[,…]", read=_read_skip, write=",".join)

REPLAY = (
    entry(
        "read_iolog",
        Category.REPLAY,
        TEXT,
        "none",
        "Replay this trace: an iolog of fio (version 2 or 3), a binary file of blktrace, or a trace of `iogauge "
        "trace`. Its files or devices, directions and sizes take the place of the job's; if it says when requests "
        "completed, it also gives the iodepth, unless the job has one.",
    ),
    entry(
        "write_iolog",
        Category.REPLAY,
        TEXT,
        "none",
        "Log every request to this file, an iolog of version 3, which fio and iogauge replay. It is written after the "
        "run. Clones, and jobs that name the same file, share one log.",
    ),
    entry(
        "read_iolog_chunked",
        Category.REPLAY,
        FLAG,
        "0",
        "Accepted: a trace is always read in pieces.",
    ),
    entry(
        "replay_no_stall",
        Category.REPLAY,
        FLAG,
        "0",
        "Issue requests as fast as the iodepth allows, in place of the trace's times.",
    ),
    entry(
        "replay_redirect",
        Category.REPLAY,
        patterns.FILES,
        "the files or devices of the trace",
        "Replay on this target. Several, separated by `:`, take the devices of the trace in turns (fio takes one).",
    ),
    entry(
        "replay_scale",
        Category.REPLAY,
        count(1, _SCALES),
        "1",
        "Divide offsets by this.",
    ),
    entry(
        "replay_align",
        Category.REPLAY,
        ALIGN,
        "0 (as they are)",
        "Round offsets down to a multiple of this. Sizes in a blktrace are rounded up to it, as in fio.",
    ),
    entry(
        "replay_time_scale",
        Category.REPLAY,
        count(1, LARGEST),
        "100",
        "How fast the trace's time passes, in percent: at 200, a trace takes half of its time. As in fio, the `wait` "
        "of an iolog of version 2 is not scaled.",
    ),
    entry("replay_skip", Category.REPLAY, SKIP, "none", "Leave out requests of these directions."),
    entry(
        "replay_pacing",
        Category.REPLAY,
        choice({pacing.value: pacing for pacing in Pacing}),
        "timed",
        "iogauge's own. When a request is issued: at the trace's instant (`timed`), as soon as the iodepth allows "
        "(`closed`), once the requests have completed that had completed before it in the trace (`dependent`), or as "
        "long after them as in the trace (`think`).",
    ),
    entry(
        "replay_addresses",
        Category.REPLAY,
        choice({addresses.value: addresses for addresses in Addresses}),
        "keep",
        "iogauge's own. What happens to a request beyond the end of the target: it is an error (`keep`), addresses "
        "begin anew at the target's start (`fold`), or all are scaled to the target (`fit`).",
    ),
)
