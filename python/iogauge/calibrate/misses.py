"""Published figures that the models do not meet, and why.

A row is here if and only if ``iogauge model compare`` marks it. A test checks that.
"""

from __future__ import annotations

from collections.abc import Mapping

_COLLECTION = (
    "the review's drive lost its speed when writes reached 70 %, as if collection had begun by then; the model is in "
    "its steady state from the first step on, so it is slower before, and loses nothing there"
)
_OPTANE_MEMORY = (
    "the sources contradict each other: 240,000 reads a second specified, 263,000 by the ratio to the P4800X, 317,000 "
    "where the review sees them level off; the model lies between"
)
_PAUSES = (
    "consumer drives stop for tens of milliseconds once a mix has filled their cache; the model knows collection and a "
    "full buffer, and no such pauses"
)
_ONE_CONTROLLER = (
    "one controller time for reads and writes, so that what is specified of the two cannot both be met"
)

REASONS: Mapping[int, str] = {
    72: "kept from the fit: nothing else says how often threads wake late here, and the rungs beside differ tenfold",
    96: _COLLECTION,
    97: "the model's reads wait for programs; the review's 'slightly above 500 MB/s' is said of two drives at once",
    98: _COLLECTION,
    104: (
        "the maker specifies 300,000 sustained writes, 1.23 GB/s, and the review saw writes saturate at 1 GB/s; "
        "the model keeps to the maker"
    ),
    106: "kept from the fit: the review says fivefold, the model 4.2 where writers first miss their rate",
    133: _OPTANE_MEMORY,
    134: _OPTANE_MEMORY,
    138: _PAUSES,
    140: _PAUSES,
    188: f"kept from the fit: {_ONE_CONTROLLER}",
    191: (
        "what the maker specifies of sequential and of random writes asks for programs of different lengths; "
        "the model lies between"
    ),
    200: "kept from the fit: what the channels carry follows from random reads alone, which do not fill them",
    204: (
        "kept from the fit, and contradicted by the review, which measured 107.7 us on the host that stands "
        "before the model; the 130 us were seen on another"
    ),
    226: _OPTANE_MEMORY,
    228: "compares with a 900P, of which there is no model",
    229: _OPTANE_MEMORY,
    236: _ONE_CONTROLLER,
    249: f"kept from the fit: {_ONE_CONTROLLER}",
}
"""Reasons by row of ``published_points.csv``."""
