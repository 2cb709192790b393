"""The settings of a machine, and of the path to a drive, that change latency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.machine import answer
from iogauge.results.tabular import Tabular
from iogauge.schema.audit import Audit, AuditFact, Verdict
from iogauge.text import html
from iogauge.text.grid import labelled
from iogauge.text.option import call, option

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.machine.audit.subject import Subject

_COLUMNS = 80


@public
def audit(target: StrPath | None = None, *, import_file: StrPath | None = None) -> AuditResult:
    """Return the settings that change latency: what they are, what low latency wants, and how to change them.

    Nothing is changed. What cannot be read is unknown; root reads more.

    Args:
        target: a drive, a partition, an NVMe controller, or a file on the drive; its path to the CPUs is looked at,
            too. By default the machine alone.
        import_file: the JSON that the script of ``windows_audit_script`` wrote on another machine; that machine is
            judged, instead of this one.

    Raises IogaugeError where there is no such drive, and UsageError for a drive model, or a file that is not the
    script's.

    Examples:
        >>> import iogauge
        >>> machine = iogauge.audit()
        >>> machine["kernel.version"].verdict
        'recorded'
    """
    from iogauge.machine.audit import audit as look
    from iogauge.machine.audit.subject import Subject

    if import_file is not None:
        if target is not None:
            raise UsageError(
                f"{target}: {option('import_file', import_file)} names the disk already",
                hint="leave out the target",
            )
        from iogauge.machine.audit.windows import import_audit

        return AuditResult(import_audit(Path(import_file)))
    if target is None:
        return AuditResult(look(Subject()))
    return AuditResult(look(subject_of(str(target)), target=str(target)))


@public
def windows_audit_script(
    output: StrPath | None = None, *, on_message: Callable[[str], None] = lambda _: None
) -> str:
    """Return the PowerShell script that reads on Windows what an audit judges. It changes nothing there.

    ``audit(import_file=...)`` reads the JSON that it writes.

    Args:
        output: the file to write it to, too; a file that iogauge did not write is not replaced.
        on_message: is called with what is worth a line.

    Raises IogaugeError where the file cannot be written.

    Examples:
        >>> import iogauge
        >>> "powercfg.exe" in iogauge.windows_audit_script()
        True
    """
    from iogauge.machine.audit.windows import audit_script
    from iogauge.store.outputs import Claims, Existing

    text = audit_script()
    if output is not None:
        Claims(say=on_message).file(Path(output), existing=Existing.OWN).write(text.encode("ascii"))
    return text


def subject_of(path: str) -> Subject:
    """Return the machine with the drive of a target. Raises IogaugeError, and UsageError for a drive model."""
    from iogauge.machine.audit.subject import Subject
    from iogauge.machine.drive import read_drive
    from iogauge.target import is_model

    if is_model(path):
        raise UsageError(
            f"{path}: a drive model has no machine to audit or tune",
            hint=f"see the model of its machine: {call('model', path.partition(':')[2])}",
        )
    return Subject.of(read_drive(path))


@dataclass(frozen=True, repr=False)
class AuditResult(Tabular, Collection[AuditFact]):
    """The facts of an audit. ``result["cpu.governor"]`` is one; ``str()`` is what ``iogauge audit`` prints."""

    NOUN = "fact"

    audit: Audit

    def _parts(self) -> Mapping[str, AuditFact]:
        return {fact.id: fact for fact in self.audit.facts}

    def of(self, verdict: Verdict) -> tuple[AuditFact, ...]:
        """Return the facts with this verdict."""
        return tuple(fact for fact in self if fact.verdict == verdict)

    @property
    def answer(self) -> str:
        """How many settings differ from what low latency wants, in a sentence."""
        where = f" on the path to {self.audit.target}" if self.audit.target else ""
        return answer(self.audit.facts, where)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as data that JSON can hold."""
        return {"answer": self.answer, **self.audit.model_dump(mode="json")}

    def to_arrow(self) -> pa.Table:
        """Return a row for each fact, as an Arrow table: text, but for ``weight`` and ``volatile``."""
        import pyarrow as pa

        types = {
            **dict.fromkeys(AuditFact.model_fields, pa.string()),
            "weight": pa.int64(),
            "volatile": pa.bool_(),
        }
        schema = pa.schema([pa.field(name, kind) for name, kind in types.items()])
        return pa.Table.from_pylist([fact.model_dump(mode="json") for fact in self], schema=schema)

    def to_text(self, *, every: bool = False) -> str:
        """Return what differs, then what is unknown; ``every``: also what is as wanted or only recorded."""
        return "".join(f"{line}\n" for line in self._lines(every=every))

    def _lines(self, *, every: bool) -> Iterator[str]:
        yield from _wrapped(self.answer, indent=0)
        for fact in self.of("differs"):
            yield ""
            yield from _wrapped(f"{fact.title}: {fact.meaning}; wanted: {fact.wanted}", indent=0)
            yield from _wrapped(fact.why, indent=2)
            if fact.change:
                yield f"  {fact.change}"  # unbroken, so that it can be copied
        if unknown := self.of("unknown"):
            yield ""
            yield "unknown:"
            for reason, named in _by_reason(unknown).items():
                yield from _wrapped(f"{reason}: {', '.join(named)}", indent=2)
        if not every:
            others = len(self.of("pass")) + len(self.of("recorded"))
            yield ""
            yield from _wrapped(f"{others} more facts: {option('all', True)} shows them", indent=0)
            return
        titles: dict[Verdict, str] = {
            "pass": "as wanted",
            "recorded": "recorded",
            "not applicable": "not applicable",
        }
        for verdict, title in titles.items():
            yield ""
            yield f"{title}:"
            for fact in self.of(verdict):
                yield from labelled(fact.title, fact.meaning, width=34, columns=_COLUMNS)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<AuditResult: {self.answer}>"

    def _repr_html_(self) -> str:
        head = ("setting", "is", "wanted", "why")
        rows = [(fact.title, fact.meaning, fact.wanted, fact.why) for fact in self.of("differs")]
        others = [(fact.title, fact.meaning, fact.verdict, "") for fact in self if fact.verdict != "differs"]
        return (
            html.heading(self.answer)
            + html.table(head, rows, most=100)
            + html.folded("the other facts", html.table(("setting", "is", "verdict", ""), others, most=200))
        )


def _wrapped(text: str, *, indent: int) -> list[str]:
    return labelled("", text, indent=" " * indent, width=0, columns=_COLUMNS)


def _by_reason(facts: Iterable[AuditFact]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for fact in facts:
        reasons.setdefault(fact.meaning, []).append(fact.title)
    return reasons
