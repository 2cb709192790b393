"""What a check of Windows is: what the script runs there, and what is made of its answer here.

The script only reads; it judges nothing. So newer code can judge an old answer again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iogauge.machine.audit.check import Judge, Seen, judged
from iogauge.schema.audit import AuditFact, Verdict
from iogauge.schema.windows_audit import WindowsFact

Values = tuple[str, ...]
Parse = Callable[[Values], tuple[Values, str]]
"""Returns the values to judge, and what they mean in words; no words: they say it themselves. Raises ValueError."""


def as_they_are(values: Values) -> tuple[Values, str]:
    """Return values unchanged, each once."""
    return tuple(dict.fromkeys(values)), ""


@dataclass(frozen=True)
class Reading:
    """How the script reads a fact."""

    command: str
    """A call of the functions of ``script.ps1``, which writes the values."""
    path: str
    """What is read, as an administrator of Windows writes it."""
    parse: Parse = as_they_are
    administrator: bool = False
    """Whether Windows answers only to an administrator."""


@dataclass(frozen=True, kw_only=True)
class WindowsCheck:
    """One setting of Windows, or of the path to a disk."""

    id: str
    title: str
    reading: Reading
    wanted: str = ""
    """In words; empty: the value is only recorded."""
    judge: Judge | None = None
    if_missing: str = ""
    """The value that Windows uses where this one is missing; empty: not known."""
    optional: bool = False
    """Whether the check does not apply where the setting, the service or the device is missing."""
    why: str
    source: str
    change: str = ""
    """The PowerShell command that sets the wanted value."""

    @property
    def group(self) -> str:
        """The first part of the id."""
        return self.id.partition(".")[0]

    def fact(self, answer: WindowsFact | None) -> AuditFact:
        """Judge what the script wrote; None: it wrote nothing."""
        path = self.reading.path
        if answer is None:
            return self._fact(Seen(path, problem="the script that was run does not read it"), "unknown")
        if answer.problem is not None:
            return self._fact(Seen(path, problem=answer.problem or "no reason"), "unknown")
        if answer.missing is not None:
            return self._missing(answer.missing or "missing")
        if not (written := tuple(filter(None, answer.values))):
            return self._fact(Seen(path, problem="no value"), "unknown")
        try:
            values, meaning = self.reading.parse(written)
        except ValueError:
            return self._fact(Seen(path, problem=f"not understood: {', '.join(written)}"), "unknown")
        return self._fact(*judged(Seen(path, values, meaning=meaning), self.judge))

    def _missing(self, reason: str) -> AuditFact:
        path = self.reading.path
        if self.if_missing:
            meaning = f"{self.if_missing} ({reason})"
            return self._fact(*judged(Seen(path, (self.if_missing,), meaning=meaning), self.judge))
        return self._fact(Seen(path, problem=reason), "not applicable" if self.optional else "unknown")

    def _fact(self, seen: Seen, verdict: Verdict) -> AuditFact:
        return AuditFact(
            id=self.id,
            group=self.group,
            title=self.title,
            path=seen.path,
            value=seen.text,
            meaning=seen.explanation,
            verdict=verdict,
            wanted=self.wanted,
            why=self.why,
            source=self.source,
            change=self.change,
        )
