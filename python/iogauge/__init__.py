"""iogauge measures how a storage drive responds under load, and says how sure it is.

Functions and classes are imported when they are first used: ``import iogauge`` takes no time by itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from iogauge.errors import IogaugeError, UsageError
    from iogauge.library.errors import ConditionError, Interrupted, RunError, StepsError
    from iogauge.library.models import models
    from iogauge.library.plan import Plan, plan
    from iogauge.library.progress import Progress
    from iogauge.library.result import RunResult
    from iogauge.library.review import review
    from iogauge.library.reviews import list_reviews
    from iogauge.library.run import run

__version__ = "0.1.0"

__all__ = [
    "ConditionError",
    "Interrupted",
    "IogaugeError",
    "Plan",
    "Progress",
    "RunError",
    "RunResult",
    "StepsError",
    "UsageError",
    "__version__",
    "list_reviews",
    "models",
    "plan",
    "review",
    "run",
]

_MODULES = {
    "ConditionError": "library.errors",
    "Interrupted": "library.errors",
    "IogaugeError": "errors",
    "Plan": "library.plan",
    "Progress": "library.progress",
    "RunError": "library.errors",
    "RunResult": "library.result",
    "StepsError": "library.errors",
    "UsageError": "errors",
    "list_reviews": "library.reviews",
    "models": "library.models",
    "plan": "library.plan",
    "review": "library.review",
    "run": "library.run",
}
"""Where each name is found."""


def __getattr__(name: str) -> object:
    """Import what is asked for by its name, and keep it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all that there is, imported or not."""
    return sorted({*globals(), *__all__})
