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
    from iogauge.library.reading.chart import Chart
    from iogauge.library.reading.compare import Comparison, compare
    from iogauge.library.reading.report import write_report
    from iogauge.library.reading.reviews import list_reviews
    from iogauge.library.reading.saved import Review, open_review
    from iogauge.library.review import review
    from iogauge.library.running.result import RunResult
    from iogauge.library.running.run import run

__version__ = "0.1.0"

__all__ = [
    "Chart",
    "Comparison",
    "ConditionError",
    "Interrupted",
    "IogaugeError",
    "Plan",
    "Progress",
    "Review",
    "RunError",
    "RunResult",
    "StepsError",
    "UsageError",
    "__version__",
    "compare",
    "list_reviews",
    "models",
    "open_review",
    "plan",
    "review",
    "run",
    "write_report",
]

_MODULES = {
    "Chart": "library.reading.chart",
    "Comparison": "library.reading.compare",
    "ConditionError": "library.errors",
    "Interrupted": "library.errors",
    "IogaugeError": "errors",
    "Plan": "library.plan",
    "Progress": "library.progress",
    "Review": "library.reading.saved",
    "RunError": "library.errors",
    "RunResult": "library.running.result",
    "StepsError": "library.errors",
    "UsageError": "errors",
    "compare": "library.reading.compare",
    "list_reviews": "library.reading.reviews",
    "models": "library.models",
    "open_review": "library.reading.saved",
    "plan": "library.plan",
    "review": "library.review",
    "run": "library.running.run",
    "write_report": "library.reading.report",
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
