"""What requests do, in fio's words: their directions, sizes, places and order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.schema import Direction
from iogauge.traces.fitting.places import distribution
from iogauge.traces.fitting.sizes import alignment, bssplit, percentages, split
from iogauge.traces.rows import DIRECTIONS, Rows

READ, WRITE, TRIM, SYNC = (
    DIRECTIONS.index(one) for one in (Direction.READ, Direction.WRITE, Direction.TRIM, Direction.SYNC)
)
_SEQUENTIAL = 0.97
"""From this share of requests on that continue the one before them, a pattern is sequential."""
_MOST_ALIGNMENT = 1 << 20

Options = dict[str, str | int]


@dataclass(frozen=True)
class Region:
    """The addresses of a direction."""

    first: int
    size: int

    @classmethod
    def of(cls, rows: Rows) -> Region:
        """Return the region from the lowest address to the highest, in whole units of the requests' alignment."""
        unit = alignment([rows["offset_bytes"], rows["size_bytes"]], _MOST_ALIGNMENT)
        first = int(rows["offset_bytes"].min()) // unit * unit
        end = int((rows["offset_bytes"] + rows["size_bytes"]).max())
        return cls(first, end - first)


def sequential(rows: Rows) -> NDArray[np.bool_]:
    """Return which requests begin where the one before them, of the same device and direction, ended."""
    stream = rows["device"].astype(np.int64) * len(DIRECTIONS) + rows["direction"]
    order = np.argsort(stream, kind="stable")
    ends = rows["offset_bytes"] + rows["size_bytes"]
    follows = np.zeros(len(rows), dtype=bool)
    before, after = order[:-1], order[1:]
    follows[after] = (stream[before] == stream[after]) & (ends[before] == rows["offset_bytes"][after])
    return follows


def pattern(rows: Rows, follows: NDArray[np.bool_], region: Region) -> Options:
    """Return the options of a job that makes such requests: reads, writes or trims, or reads and writes together.

    ``follows`` says which of them continue the one before.
    """
    numbers = [number for number in (READ, WRITE, TRIM) if (rows["direction"] == number).any()]
    parts = {number: rows["direction"] == number for number in numbers}
    mixed = len(numbers) > 1
    together = follows.mean() >= _SEQUENTIAL
    options: Options = {
        "rw": ("" if together else "rand") + ("rw" if mixed else DIRECTIONS[numbers[0]].value)
    }
    if mixed:
        options["rwmixread"] = percentages(np.array([parts[READ].sum(), parts[WRITE].sum()]))[0]
    shares = [split(rows["size_bytes"][part]) for part in parts.values()]
    if all(len(one) == 1 for one in shares):
        options["bs"] = ",".join(dict.fromkeys(str(*one) for one in shares))
    else:
        options["bssplit"] = ",".join(map(bssplit, shares))
    options |= {"offset": region.first, "size": region.size}
    if together:
        return options
    starts = rows["offset_bytes"][~follows] - region.first
    # Starts that are all at the region's begin do not limit the alignment; the region does.
    align = alignment([starts], min(_MOST_ALIGNMENT, 1 << region.size.bit_length() - 1))
    options |= {"ba": align, "norandommap": 1}
    law = distribution(starts, region.size, align)
    if law != "random":
        options["random_distribution"] = law
    shares_random = [100 - round(100 * float(follows[part].mean())) for part in parts.values()]
    if any(share < 100 for share in shares_random):
        options["percentage_random"] = ",".join(map(str, shares_random))
    return options
