"""Published figures that the models do not meet, and why.

A row is here if and only if ``iogauge model compare`` marks it. A test checks that.
"""

from __future__ import annotations

from collections.abc import Mapping

_COLLECTION = (
    "the review's drive slowed down when writes reached 70 %, as if garbage collection had begun then; the model is in "
    "its steady state from the first step on, so it is slower before 70 % and does not slow down there"
)
_OPTANE_MEMORY = (
    "the sources contradict each other: 240,000 reads a second by specification, 263,000 by the ratio to the P4800X, "
    "317,000 where reads level off in the review; the model lies between"
)
_PAUSES = (
    "consumer drives stop for tens of milliseconds once a mix has filled their cache; the model has garbage collection "
    "and a full buffer, but no such pauses"
)
_ONE_CONTROLLER = (
    "the model has one controller time for reads and writes, so it cannot meet both specifications"
)

REASONS: Mapping[int, str] = {
    24: (
        "the guide has 55 us with one driver and 73 us with the other, of one drive; the model's stalls, which also "
        "have to explain p99 at depth 16, lie above both"
    ),
    72: "kept from the fit: no other row shows how often threads wake late here, and neighbouring rungs differ tenfold",
    96: _COLLECTION,
    97: "the model's reads wait for programs; the review's 'slightly above 500 MB/s' describes two drives at once",
    98: _COLLECTION,
    104: (
        "the maker specifies 300,000 sustained writes, 1.23 GB/s, but writes saturated at 1 GB/s in the review; "
        "the model follows the maker"
    ),
    106: "kept from the fit: fivefold in the review, 4.3-fold in the model, where writers first miss their rate",
    133: _OPTANE_MEMORY,
    134: _OPTANE_MEMORY,
    138: _PAUSES,
    140: _PAUSES,
    164: (
        "some six requests of the review's minute lie beyond it; the model's stalls are those that explain 1,560 us at "
        "depth 16"
    ),
    188: f"kept from the fit: {_ONE_CONTROLLER}",
    191: (
        "the maker's specifications of sequential and of random writes imply different program times; "
        "the model lies between"
    ),
    200: (
        "kept from the fit: in the model the channels limit large reads, and the figures of small reads make them a "
        "tenth too fast"
    ),
    226: _OPTANE_MEMORY,
    228: "compares with a 900P, of which there is no model",
    229: _OPTANE_MEMORY,
    235: "kept from the fit: no other figure shows how long a single write takes this drive",
    236: _ONE_CONTROLLER,
    249: f"kept from the fit: {_ONE_CONTROLLER}",
}
"""Reasons by row of ``published_points.csv``."""

_ONLY_SPECIFICATION = (
    "the maker's specification is the only source of this load on this drive; without it the numbers are those of its "
    "relative, or the middle of their ranges"
)
_RUNG = "no other table has the processor at this fixed frequency; without it the rung has the numbers of the one below"
_LATE_WAKE = (
    "each table alone shows how often threads wake late on its rung, and the guide's values jump by 2 to 3 times from "
    "rung to rung"
)
_ONE_THREAD = (
    "no other table shows how many reads one thread can start and take a second on this computer; without it that is "
    "the other Linux's"
)
_DRIVER = "no other table has this driver; without it the machine has the numbers of the other one"
_SINGLE_READS = (
    "of this drive no other table has single reads with their stalls; a maker's typical latency is the sum of host and "
    "drive, and says nothing of their parts"
)

LEFT_OUT_REASONS: Mapping[int, str] = {
    **dict.fromkeys((17, 18), _DRIVER),
    **dict.fromkeys((32, 42, 52, 62), _LATE_WAKE),
    **dict.fromkeys((65, 66, 69, 75, 79), _RUNG),
    **dict.fromkeys((109, 110, 111, 112), _ONE_THREAD),
    **dict.fromkeys((160, 262), _SINGLE_READS),
    204: "a nominal value of the data sheet, as a user quotes it; measured single reads took 104 to 108 us",
    **dict.fromkeys(
        (194, 195, 199, 201, 224, 225, 227, 231, 232, 233, 237, 238, 239, 240, 241, 242, 243, 244, 248),
        _ONLY_SPECIFICATION,
    ),
}
"""Reasons by row of ``published_points.csv`` why a prediction without the row's table is further off than twice the
goal of its kind, where ``REASONS`` has none. A test checks that every such row has a reason."""

GOALS_MISSED: Mapping[tuple[str, str], str] = {
    ("3D XPoint", "p50"): "there are two figures: single reads, 11 % low, and reads at depth 16, 5 % low",
    ("flash", "rates and throughput"): (
        "most are specifications, the only source of their load on their drive: drives of one kind differ more than 5 %"
    ),
    ("flash", "means"): ("there are five, four of them single reads of two drives that no other table has"),
    (
        "flash",
        "p99.999",
    ): "two drives have them in one table each, and stalls of one drive say nothing of another's",
}
"""Reasons by media and kind of figure why the median error of predictions is above its goal. A test checks that these
are all."""
