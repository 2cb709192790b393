"""Reviews on disk: a manifest and Parquet, atomic, versioned, and open to SQL.

``Review`` creates, opens and locks a saved review, and writes and reads its steps. It is imported on first use, since a
run that saves no review needs other modules of this package, but no Parquet. The stored types are those of
``iogauge.schema``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iogauge.store.review import Review, StepWriter

__all__ = ["Review", "StepWriter"]

_MODULES = {"Review": "review", "StepWriter": "review"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
