"""The special functions of SciPy, such as ``special.stdtrit``, imported at the first use of one.

Importing ``scipy.special`` takes a quarter of the time of a command that only plans, or shows figures already computed.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)
