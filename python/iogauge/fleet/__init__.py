"""Fleets: one review on many hosts at once, and what it says of their drives.

>>> import iogauge.fleet
>>> sorted(iogauge.fleet.__all__)
['Fleet', 'make_keys', 'open_fleet', 'review']

``review`` takes the drives of all hosts through published procedures, and saves everything in one directory;
``open_fleet`` reads it. Hosts are reached by Dask (``iogauge[fleet]``), which reading does not need. The parts:
``control`` (decides), ``host`` (runs on each host), ``dask`` (between the two), ``merge`` and ``judge`` (of what was
saved).

Functions and classes are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from iogauge.fleet.keys import make_keys
    from iogauge.fleet.reviewing import review
    from iogauge.fleet.saved import Fleet, open_fleet

__all__ = ["Fleet", "make_keys", "open_fleet", "review"]

_MODULES = {"Fleet": "saved", "make_keys": "keys", "open_fleet": "saved", "review": "reviewing"}


def __getattr__(name: str) -> object:
    """Import a function or a class when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
