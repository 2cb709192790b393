"""Which optional packages a fleet needs, and how to install them."""

from __future__ import annotations

import importlib.util

from iogauge.errors import IogaugeError


def needed(package: str) -> None:
    """Raise IogaugeError, which says how to install it, unless a package of the extra ``fleet`` is installed."""
    if importlib.util.find_spec(package) is None:
        raise IogaugeError(
            f"fleets need the Python package {package}", hint="install it: pip install 'iogauge[fleet]'"
        )
