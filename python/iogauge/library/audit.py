"""The settings of a machine, and of the path to a drive, that change latency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.schema.audit import Audit, AuditFact, Verdict
from iogauge.text import html
from iogauge.text.grid import labelled
from iogauge.text.numbers import counted
from iogauge.text.option import call, option

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.machine.audit.subject import Subject

_COLUMNS = 80


@public
def audit(target: StrPath | None = None) -> AuditResult:
    """Return the settings that change latency: what they are, what low latency wants, and how to change them.

    Nothing is changed. What cannot be read is unknown; root reads more.

    Args:
        target: a drive, a partition, an NVMe controller, or a file on the drive; its path to the CPUs is looked at,
            too. By default the machine alone.

    Raises IogaugeError where there is no such drive, and UsageError for a drive model.

    Examples:
        >>> import iogauge
        >>> machine = iogauge.audit()
        >>> machine["kernel.version"].verdict
        'recorded'
    """
    from iogauge.machine.audit import audit as look
    from iogauge.machine.audit.subject import Subject

    if target is None:
        return AuditResult(look(Subject()))
    return AuditResult(look(_subject(str(target)), target=str(target)))


def _subject(path: str) -> Subject:
    from iogauge.machine.audit.subject import Subject
    from iogauge.machine.drive import read_drive
    from iogauge.target import is_model
    from iogauge.target.users.sysfs import BlockDevice

    if is_model(path):
        raise UsageError(
            f"{path}: a drive model has no machine to audit",
            hint=f"see the model of its machine: {call('model', path.partition(':')[2])}",
        )
    drive = read_drive(path)
    return Subject(
        drive=BlockDevice.by_name(drive.facts.device or ""),
        answers=drive.nvme,
        silence=drive.unread[0].why if drive.unread else "",
    )


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
        differing, passing, unknown = (len(self.of(verdict)) for verdict in ("differs", "pass", "unknown"))
        where = f" on the path to {self.audit.target}" if self.audit.target else ""
        if not differing:
            return f"no setting{where} differs from what low latency wants; {passing} are as wanted, {unknown} unknown"
        differ = f"{counted(differing, 'setting')}{where} {'differs' if differing == 1 else 'differ'}"
        return f"{differ} from what low latency wants; {passing} are as wanted, {unknown} unknown"

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as data that JSON can hold."""
        return {"answer": self.answer, **self.audit.model_dump(mode="json")}

    def to_arrow(self) -> pa.Table:
        """Return a row for each fact, as an Arrow table; all columns are text."""
        import pyarrow as pa

        names = tuple(AuditFact.model_fields)
        schema = pa.schema([pa.field(name, pa.string()) for name in names])
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
