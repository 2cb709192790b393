"""The machine of a saved review: its settings when it began, what changed since, and the interrupts of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from iogauge.results.position import name_of
from iogauge.results.run import Run
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import AuditChange, AuditFact, DriveInterrupts
from iogauge.text.numbers import counted


@dataclass(frozen=True)
class Changed:
    """A setting that was not what it was when the review began."""

    title: str
    change: AuditChange
    steps: str
    """In which steps, in words."""


@dataclass(frozen=True)
class Served:
    """The interrupts of one drive in one step."""

    step: str
    drive: DriveInterrupts
    cpus: tuple[int, ...]
    """CPUs on which the step's workers were seen."""

    @property
    def elsewhere(self) -> bool:
        """Whether a CPU on which no worker ran served one."""
        return any(set(interrupt.by_cpu) - set(self.cpus) for interrupt in self.drive.interrupts)


class ReviewMachine:
    """The machine of one target of a review. ``results`` are all results of that target."""

    def __init__(self, results: Sequence[SuiteResult]) -> None:
        self.results = tuple(results)

    @cached_property
    def facts(self) -> tuple[AuditFact, ...]:
        """The settings of machine and drive; of drives used together, those in which they differ have all values.

        None for a drive model, and for a review that an older iogauge saved.
        """
        audits = self.results[0].review.audits()
        targets = {target for result in self.results for target in result.plan.targets}
        machine = [audit.facts for audit in audits if audit.target is None]
        drives = [audit.facts for audit in audits if audit.target in targets]
        return (*chain(*machine), *_together(drives))

    @property
    def known(self) -> bool:
        """Whether the review has an audit of the machine."""
        return bool(self.facts)

    @cached_property
    def changes(self) -> tuple[Changed, ...]:
        """The settings that changed, in the order in which they did."""
        audits = self.results[0].review.audits()
        titles = {fact.id: fact.title for audit in audits for fact in audit.facts}
        steps: dict[tuple[str | None, str, str, str], list[int]] = {}
        last: dict[tuple[str | None, str, str, str], AuditChange] = {}
        for place, (_, run) in enumerate(self._runs):
            for change in run.surroundings.audit_changes:
                key = (change.target, change.id, change.old, change.new)
                steps.setdefault(key, []).append(place)
                last[key] = change
        return tuple(
            Changed(titles.get(change.id, change.id), change, self._when(steps[key]))
            for key, change in last.items()
        )

    @cached_property
    def interrupts(self) -> tuple[Served, ...]:
        """The interrupts of every step, in the order in which the steps ran."""
        return tuple(
            Served(name, drive, run.surroundings.cpus)
            for name, run in self._runs
            for drive in run.surroundings.interrupts
        )

    @cached_property
    def _runs(self) -> list[tuple[str, Run]]:
        """The complete steps with their names, in the order in which they ran; none where there is no audit."""
        if not self.known:
            return []
        several = len(self.results) > 1
        runs = [
            (f"{result.plan.title}, {name}" if several else name, Run(result.review, result.plan, step))
            for result in self.results
            for step in result.plan.steps
            if result.review.has(step.id)
            for name in [name_of(step, result.plan.axis, repeat=True)]
        ]
        return sorted(runs, key=lambda pair: pair[1].surroundings.started_at)

    def _when(self, places: Sequence[int]) -> str:
        """Return in which steps a setting had changed.

        A setting that changed stays so until somebody changes it back.
        """
        names = [name for name, _ in self._runs]
        first, last = places[0], places[-1]
        if len(places) == 1:
            return f"in {names[first]}"
        if first == 0 and len(places) == len(names):
            return f"in all {len(names)} steps"
        if last == len(names) - 1 and len(places) == len(names) - first:
            return f"from {names[first]} on, in {len(places)} of {len(names)} steps"
        return f"in {len(places)} of {len(names)} steps, first in {names[first]}"


def answer(facts: Iterable[AuditFact], where: str = "") -> str:
    """Return how many settings differ from what low latency wants, in a sentence. ``where`` follows what differs."""
    verdicts = Counter(fact.verdict for fact in facts)
    differing, passing, unknown = verdicts["differs"], verdicts["pass"], verdicts["unknown"]
    if not differing:
        return f"no setting{where} differs from what low latency wants; {passing} are as wanted, {unknown} unknown"
    differ = f"{counted(differing, 'setting')}{where} {'differs' if differing == 1 else 'differ'}"
    return f"{differ} from what low latency wants; {passing} are as wanted, {unknown} unknown"


def ranked(facts: Iterable[AuditFact]) -> tuple[AuditFact, ...]:
    """Return the facts in the order of their weights, the heaviest first."""
    return tuple(sorted(facts, key=lambda fact: -fact.weight))


def _together(drives: Sequence[Sequence[AuditFact]]) -> tuple[AuditFact, ...]:
    """Return the facts of several drives as those of one: the first drive's, with every value and the worst verdict."""
    by_id: dict[str, list[AuditFact]] = {}
    for fact in chain(*drives):
        by_id.setdefault(fact.id, []).append(fact)
    return tuple(map(_merged, by_id.values()))


def _merged(facts: list[AuditFact]) -> AuditFact:
    values = dict.fromkeys(fact.value for fact in facts)
    meanings = dict.fromkeys(fact.meaning for fact in facts)
    if len(values) == len(meanings) == 1:
        return facts[0]
    worst = max(
        facts,
        key=lambda fact: ("not applicable", "recorded", "pass", "unknown", "differs").index(fact.verdict),
    )
    known = [value for value in values if value is not None]
    return worst.model_copy(
        update={
            "value": ", ".join(known) if len(known) == len(values) else None,
            "meaning": "; ".join(meanings),
        }
    )
