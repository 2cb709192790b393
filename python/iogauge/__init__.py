"""iogauge measures how a storage drive responds under load, and says how sure it is.

``run`` runs fio's jobs once, ``replay`` a trace. ``plan`` and ``review`` take drives through published procedures, and
save every step; ``open_review``, ``list_reviews``, ``judge``, ``compare`` and ``write_report`` read what was saved.
``models`` lists modelled drives: a target such as ``model:p4800x`` needs no hardware.

>>> import iogauge
>>> job = "[reads]\\nrw=randread\\nbs=4k\\nruntime=12\\ntime_based=1\\n"
>>> result = iogauge.run(job, target="model:p4800x", seed=1)
>>> p999 = result["reads"].read.lat.quantile(0.999)
>>> p999.low <= p999.value <= p999.high, p999.supported
(True, True)

>>> plan = iogauge.plan("model:p4800x", suites=["mixed"], runtime="1s", seed=1)
>>> plan.most_steps, plan.expected_s
(11, 16.5)

Latencies are in nanoseconds, rates in bytes or requests a second, sizes in bytes; a name ends in its unit. Nothing is
printed. What is refused or fails is an ``IogaugeError``, whose ``hint`` says what to do; Ctrl-C is ``Interrupted``.

Functions and classes are imported when they are first used: ``import iogauge`` alone takes no time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from iogauge.errors import IogaugeError, UnknownNameError, UsageError
    from iogauge.library.audit import AuditResult, audit, windows_audit_script
    from iogauge.library.drive.info import DriveInfo, drive_info
    from iogauge.library.errors import ConditionError, Interrupted, RunError, StepsError
    from iogauge.library.find.search import find
    from iogauge.library.follow import Following, follow
    from iogauge.library.job_options import JobOption, options
    from iogauge.library.models.compared import ModelComparison, compare_models
    from iogauge.library.models.described import Model, model
    from iogauge.library.models.explained import ModelExplanation, explain_model
    from iogauge.library.models.fitted import FittedModel, fit_published, fit_twin
    from iogauge.library.models.listed import Models, models
    from iogauge.library.models.own import new_model
    from iogauge.library.models.served import ModelServer, serve_model
    from iogauge.library.options import ReviewOptions
    from iogauge.library.plan import Plan, plan
    from iogauge.library.progress import Progress
    from iogauge.library.quick import quick
    from iogauge.library.reading.chart import Chart
    from iogauge.library.reading.collect import CollectResult, collect
    from iogauge.library.reading.collected import FigureComparison, ReviewCollection, open_collection
    from iogauge.library.reading.compare import Comparison, compare
    from iogauge.library.reading.imported import import_results
    from iogauge.library.reading.judge import Verdicts, judge
    from iogauge.library.reading.pictures import write_charts
    from iogauge.library.reading.published import Published, published
    from iogauge.library.reading.questions import export_tables, query
    from iogauge.library.reading.report import write_report
    from iogauge.library.reading.reviews import SavedReview, SavedReviews, list_reviews
    from iogauge.library.reading.saved import Review, open_review
    from iogauge.library.review import review
    from iogauge.library.running.recover import recover
    from iogauge.library.running.replay import replay
    from iogauge.library.running.result import DirectionResult, JobResult, Latency, RunResult
    from iogauge.library.running.run import run
    from iogauge.library.running.verification import Verification, verify
    from iogauge.library.suites import Suites, SuiteSummary, list_suites
    from iogauge.library.traces.fitted import TraceFit, fit_trace
    from iogauge.library.traces.imported import import_trace
    from iogauge.library.traces.opened import Trace, open_trace
    from iogauge.library.traces.recorded import record_trace
    from iogauge.library.tuning import apply_tuning, tune, tuning_status, undo_tuning
    from iogauge.library.tunings.ladder import ladder
    from iogauge.machine.tuning.session import Tuning
    from iogauge.machine.tuning.status import TuningStatus
    from iogauge.report.conditions.results import CheckResult
    from iogauge.results.position import Position
    from iogauge.results.run import Run
    from iogauge.results.suite_result import SuiteResult
    from iogauge.stats.figure import Figure
    from iogauge.traces.recording import Recording
    from iogauge.verdicts.fitness import Fitness

__version__ = "0.1.0"

__all__ = [
    "AuditResult",
    "Chart",
    "CheckResult",
    "CollectResult",
    "Comparison",
    "ConditionError",
    "DirectionResult",
    "DriveInfo",
    "Figure",
    "FigureComparison",
    "Fitness",
    "FittedModel",
    "Following",
    "Interrupted",
    "IogaugeError",
    "JobOption",
    "JobResult",
    "Latency",
    "Model",
    "ModelComparison",
    "ModelExplanation",
    "ModelServer",
    "Models",
    "Plan",
    "Position",
    "Progress",
    "Published",
    "Recording",
    "Review",
    "ReviewCollection",
    "ReviewOptions",
    "Run",
    "RunError",
    "RunResult",
    "SavedReview",
    "SavedReviews",
    "StepsError",
    "SuiteResult",
    "SuiteSummary",
    "Suites",
    "Trace",
    "TraceFit",
    "Tuning",
    "TuningStatus",
    "UnknownNameError",
    "UsageError",
    "Verdicts",
    "Verification",
    "__version__",
    "apply_tuning",
    "audit",
    "collect",
    "compare",
    "compare_models",
    "drive_info",
    "explain_model",
    "export_tables",
    "find",
    "fit_published",
    "fit_trace",
    "fit_twin",
    "follow",
    "import_results",
    "import_trace",
    "judge",
    "ladder",
    "list_reviews",
    "list_suites",
    "model",
    "models",
    "new_model",
    "open_collection",
    "open_review",
    "open_trace",
    "options",
    "plan",
    "published",
    "query",
    "quick",
    "record_trace",
    "recover",
    "replay",
    "review",
    "run",
    "serve_model",
    "tune",
    "tuning_status",
    "undo_tuning",
    "verify",
    "windows_audit_script",
    "write_charts",
    "write_report",
]

_MODULES = {
    "AuditResult": "library.audit",
    "Chart": "library.reading.chart",
    "CheckResult": "report.conditions.results",
    "CollectResult": "library.reading.collect",
    "Comparison": "library.reading.compare",
    "ConditionError": "library.errors",
    "DirectionResult": "library.running.result",
    "DriveInfo": "library.drive.info",
    "Figure": "stats.figure",
    "FigureComparison": "library.reading.collected",
    "Fitness": "verdicts.fitness",
    "FittedModel": "library.models.fitted",
    "Following": "library.follow",
    "Interrupted": "library.errors",
    "IogaugeError": "errors",
    "JobOption": "library.job_options",
    "JobResult": "library.running.result",
    "Latency": "library.running.result",
    "Model": "library.models.described",
    "ModelComparison": "library.models.compared",
    "ModelExplanation": "library.models.explained",
    "ModelServer": "library.models.served",
    "Models": "library.models.listed",
    "Plan": "library.plan",
    "Position": "results.position",
    "Progress": "library.progress",
    "Published": "library.reading.published",
    "Recording": "traces.recording",
    "Review": "library.reading.saved",
    "ReviewCollection": "library.reading.collected",
    "ReviewOptions": "library.options",
    "Run": "results.run",
    "RunError": "library.errors",
    "RunResult": "library.running.result",
    "SavedReview": "library.reading.reviews",
    "SavedReviews": "library.reading.reviews",
    "StepsError": "library.errors",
    "SuiteResult": "results.suite_result",
    "SuiteSummary": "library.suites",
    "Suites": "library.suites",
    "Trace": "library.traces.opened",
    "TraceFit": "library.traces.fitted",
    "Tuning": "machine.tuning.session",
    "TuningStatus": "machine.tuning.status",
    "UnknownNameError": "errors",
    "UsageError": "errors",
    "Verdicts": "library.reading.judge",
    "Verification": "library.running.verification",
    "apply_tuning": "library.tuning",
    "audit": "library.audit",
    "collect": "library.reading.collect",
    "compare": "library.reading.compare",
    "compare_models": "library.models.compared",
    "drive_info": "library.drive.info",
    "explain_model": "library.models.explained",
    "export_tables": "library.reading.questions",
    "fit_published": "library.models.fitted",
    "find": "library.find.search",
    "fit_trace": "library.traces.fitted",
    "fit_twin": "library.models.fitted",
    "follow": "library.follow",
    "import_results": "library.reading.imported",
    "import_trace": "library.traces.imported",
    "judge": "library.reading.judge",
    "ladder": "library.tunings.ladder",
    "list_reviews": "library.reading.reviews",
    "list_suites": "library.suites",
    "model": "library.models.described",
    "models": "library.models.listed",
    "new_model": "library.models.own",
    "open_collection": "library.reading.collected",
    "open_review": "library.reading.saved",
    "open_trace": "library.traces.opened",
    "options": "library.job_options",
    "plan": "library.plan",
    "published": "library.reading.published",
    "query": "library.reading.questions",
    "quick": "library.quick",
    "record_trace": "library.traces.recorded",
    "recover": "library.running.recover",
    "replay": "library.running.replay",
    "review": "library.review",
    "run": "library.running.run",
    "serve_model": "library.models.served",
    "tune": "library.tuning",
    "tuning_status": "library.tuning",
    "undo_tuning": "library.tuning",
    "verify": "library.running.verification",
    "windows_audit_script": "library.audit",
    "write_charts": "library.reading.pictures",
    "write_report": "library.reading.report",
}
"""Where each name is found."""


if not TYPE_CHECKING:  # a type checker would take any name for one that there is

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
