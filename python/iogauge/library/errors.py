"""Errors of runs and reviews that end early or violate a condition. Each keeps what was measured until then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.library.running.result import RunResult
    from iogauge.report.run.fail_if import Violation
    from iogauge.reviews.runner import Failed


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a function. It is a KeyboardInterrupt: a script that does not catch it ends."""

    def __init__(self, message: str, *, result: RunResult | None = None, path: Path | None = None) -> None:
        super().__init__(message)
        self.result = result
        """What a run measured until then; None for any other function."""
        self.path = path
        """Where ``review`` saved complete steps, None for any other function: ``review(resume=path)`` continues it."""


class RunError(IogaugeError):
    """A run ended early. ``result`` is what was measured until then."""

    def __init__(self, message: str, *, hint: str | None, result: RunResult) -> None:
        super().__init__(message, hint=hint)
        self.result = result


class StepsError(IogaugeError):
    """Steps of a review failed. All other steps are complete; ``review(resume=path)`` runs these again."""

    def __init__(self, path: Path, failed: Sequence[Failed]) -> None:
        self.path = path
        self.failed = tuple(failed)
        more = f", and {len(failed) - 1} more failed" if len(failed) > 1 else ""
        super().__init__(
            f"{path}: step {failed[0].step_id} {failed[0].why}{more}",
            hint="mend the cause, then resume the review",
        )


class ConditionError(IogaugeError):
    """Everything was measured, but a condition of ``fail_if`` holds or cannot be judged."""

    def __init__(
        self,
        violations: Sequence[Violation],
        *,
        steps: Sequence[str] = (),
        result: RunResult | None = None,
        path: Path | None = None,
    ) -> None:
        where = f"{steps[0]}: " if steps else ""
        more = f", and {len(violations) - 1} more" if len(violations) > 1 else ""
        super().__init__(f"{where}{violations[0].message}{more}", hint=violations[0].hint)
        self.violations = tuple(violations)
        self.steps = tuple(steps)
        """Of a review: the id of each violation's step."""
        self.result = result
        """What a run measured; None for a review."""
        self.path = path
        """Where a review is saved; None for a run."""
