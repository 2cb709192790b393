"""Puts the requests of a trace onto targets: which target a device becomes, and what its addresses become there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iogauge.errors import IogaugeError
from iogauge.schema import Addresses
from iogauge.traces.replay.compiling import PIECE_ROWS, Compiled


@dataclass(frozen=True)
class Region:
    """The part of a target that a replay may use."""

    path: str
    offset_bytes: int
    length_bytes: int


def place(compiled: Compiled, regions: Sequence[Region], turns: Sequence[int], addresses: Addresses) -> None:
    """Set the targets and offsets of all rows. ``turns`` has the region of each device, by number.

    Raises IogaugeError if a request lies beyond the end of its region and addresses are kept, or has no room there.
    """
    rows = compiled.rows.array()
    ends = [0] * len(regions)
    for device, end in compiled.ends.items():
        ends[turns[device]] = max(ends[turns[device]], end)
    for begin in range(0, len(rows), PIECE_ROWS):
        piece = rows[begin : begin + PIECE_ROWS]
        piece["target"] = np.array(turns, dtype=np.uint32)[piece["target"]]
        for target, region in enumerate(regions):
            mine = piece["target"] == target
            offset, length = piece["offset_bytes"][mine], piece["length_bytes"][mine]
            placed = _placed(offset, length, ends[target], region, compiled.granularity, addresses)
            # A sync has no place.
            piece["offset_bytes"][mine] = np.where(length > 0, placed, 0)


def _placed(
    offset: Any, length: Any, end: int, region: Region, granularity: int, addresses: Addresses
) -> Any:
    room = region.length_bytes
    if addresses is not Addresses.KEEP:
        room -= room % granularity
    if len(length) and int(length.max()) > room:
        raise IogaugeError(
            f"{region.path}: has {region.length_bytes} bytes, and one request of the trace {int(length.max())}",
            hint="use a larger target",
        )
    if addresses is Addresses.KEEP:
        if end > room and len(offset):
            beyond = int(np.argmax(offset + length))
            raise IogaugeError(
                f"{region.path}: a request of {int(length[beyond])} bytes at {int(offset[beyond])} lies beyond its "
                f"end: it has {region.length_bytes} bytes, and the trace uses {end}",
                hint=f"fold or fit the addresses (replay_addresses), divide them by {-(-end // room)} (replay_scale), "
                "or use a larger target",
            )
        placed = offset
    elif addresses is Addresses.FOLD:
        placed = offset % np.uint64(room)
    else:
        # In floating point, since the product may exceed 64 bits; its error is below the granularity.
        placed = (offset.astype(np.float64) * (room / max(end, room))).astype(np.uint64)
        placed -= placed % np.uint64(granularity)
    # What would now cross the end of the region ends there.
    latest = np.uint64(room) - length.astype(np.uint64)
    return np.minimum(placed, latest) + np.uint64(region.offset_bytes)
