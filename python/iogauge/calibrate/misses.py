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

LEFT_OUT_REASONS: Mapping[int, str] = {}
"""Reasons by row of ``published_points.csv`` why a prediction without the row's table is further off than twice the
goal of its kind, where ``REASONS`` has none. A test checks that every such row has a reason."""

GOALS_MISSED: Mapping[tuple[str, str], str] = {}
"""Reasons by media and kind of figure why the median error of predictions is above its goal. A test checks that these
are all."""
