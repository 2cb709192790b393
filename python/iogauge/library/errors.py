"""How a run or a review ends early, or worse than was allowed: each keeps what was measured until then."""

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
    """Ctrl-C ended a run or a review. A script that does not catch it ends, as at any Ctrl-C."""

    def __init__(self, message: str, *, result: RunResult | None = None, path: Path | None = None) -> None:
        super().__init__(message)
        self.result = result
        """What a run measured until then."""
        self.path = path
        """Where a review is saved: its complete steps are kept, and ``review(resume=path)`` goes on with it."""


class RunError(IogaugeError):
    """A run did not get to its end. ``result`` is what was measured until then."""

    def __init__(self, message: str, *, hint: str | None, result: RunResult) -> None:
        super().__init__(message, hint=hint)
        self.result = result


class StepsError(IogaugeError):
    """Steps of a review failed; all others are complete, and ``review(resume=path)`` tries these again."""

    def __init__(self, path: Path, failed: Sequence[Failed]) -> None:
        self.path = path
        self.failed = tuple(failed)
        more = f", and {len(failed) - 1} more failed" if len(failed) > 1 else ""
        super().__init__(
            f"{path}: step {failed[0].step_id} {failed[0].why}{more}",
            hint="mend the cause, then resume the review",
        )


class ConditionError(IogaugeError):
    """All was measured, and a condition of ``fail_if`` holds, or cannot be judged."""

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
        """Of a review: the step that each violation is of."""
        self.result = result
        """What a run measured."""
        self.path = path
        """Where a review is saved."""
