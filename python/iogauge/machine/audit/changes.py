"""Finds the settings that differ between two audits: of one machine at two times, or of two machines.

Only values that were read on both sides are compared: what was unknown once shows no difference. Volatile facts are
left out, since they differ between any two looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from iogauge.schema import Audit, AuditChange, AuditFact

_LONGEST = 120
"""Characters of a value in words; the whole value is in the audit."""


@dataclass(frozen=True)
class Difference:
    """A setting that has two values."""

    before: AuditFact
    after: AuditFact

    @property
    def old(self) -> str:
        """The first value in words."""
        return _words(self.before, self.after)

    @property
    def new(self) -> str:
        """The second value in words."""
        return _words(self.after, self.before)

    @property
    def weight(self) -> int:
        """How much the setting changes latency, by published evidence."""
        return max(self.before.weight, self.after.weight)


def differences(before: Iterable[AuditFact], after: Iterable[AuditFact]) -> tuple[Difference, ...]:
    """Return the settings that differ, those that change latency most first."""
    late = {fact.id: fact for fact in after}
    pairs = (Difference(fact, late[fact.id]) for fact in before if fact.id in late)
    return tuple(sorted(filter(_differs, pairs), key=lambda pair: -pair.weight))


def one_sided(before: Iterable[AuditFact], after: Iterable[AuditFact]) -> int:
    """Return how many settings could be read on one side alone."""
    known = [{fact.id for fact in facts if _settled(fact)} for facts in (before, after)]
    return len(known[0] ^ known[1])


def changes(begun: Sequence[Audit], now: Sequence[Audit]) -> tuple[AuditChange, ...]:
    """Return the settings of machine and drives that are not what they were in ``begun``."""
    then = {audit.target: audit for audit in begun}
    return tuple(
        AuditChange(
            target=audit.target,
            id=pair.after.id,
            old=pair.old,
            new=pair.new,
            verdict=pair.after.verdict,
        )
        for audit in now
        if audit.target in then
        for pair in differences(then[audit.target].facts, audit.facts)
    )


def _settled(fact: AuditFact) -> bool:
    return fact.value is not None and not fact.volatile


def _differs(pair: Difference) -> bool:
    if not (_settled(pair.before) and _settled(pair.after)):
        return False
    return pair.before.value != pair.after.value or pair.before.meaning != pair.after.meaning


def _words(fact: AuditFact, other: AuditFact) -> str:
    """Return a value in words; where both sides have the same words, the parts of it that the other side lacks."""
    text = fact.meaning
    if fact.meaning == other.meaning:
        others = (other.value or "").split(", ")
        text = (
            ", ".join(part for part in (fact.value or "").split(", ") if part not in others)
            or "none of these"
        )
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
