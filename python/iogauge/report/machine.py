"""The machine of a review as a report shows it: what differs from what low latency wants, what changed, interrupts.

The page and the Markdown have the same sentences and tables. All is plain text; each escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from iogauge.results import served
from iogauge.results.conclusions import TextTable
from iogauge.results.machine import ReviewMachine, Served, answer, ranked
from iogauge.schema.audit import Verdict
from iogauge.text.numbers import capitalised, counted

_FOLDED: dict[Verdict, str] = {
    "pass": "as wanted",
    "unknown": "unknown",
    "recorded": "recorded",
    "not applicable": "not applicable",
}
_INTERRUPTS = ("step", "drive", "interrupts", "an I/O", "served by", "workers on", "remarks")
UNKNOWN = "The settings of this machine are not known: an older iogauge saved this review, or another program ran it."


@dataclass(frozen=True)
class MachinePart:
    """The machine of one target of a review."""

    label: str
    machine: ReviewMachine

    @property
    def known(self) -> bool:
        """Whether the review has an audit of the machine."""
        return self.machine.known

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """How many settings differ, how many changed, and what the interrupts did, a sentence each."""
        return tuple(f"{capitalised(text)}." for text in self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield answer(self.machine.facts)
        if changed := {(entry.change.target, entry.change.id) for entry in self.machine.changes}:
            yield f"{counted(len(changed), 'setting')} changed during the review"
        if self.machine.interrupts:
            yield _interrupts(self.machine.interrupts)

    @cached_property
    def differing(self) -> TextTable:
        """The settings that differ from what low latency wants, those that change it most first."""
        rows = [
            (fact.title, fact.meaning, fact.wanted, fact.why)
            for fact in ranked(self.machine.facts)
            if fact.verdict == "differs"
        ]
        return TextTable("Settings that differ", ("setting", "is", "wanted", "why"), tuple(rows))

    @cached_property
    def changed(self) -> TextTable:
        """The settings that changed during the review."""
        rows = [
            (
                entry.title if entry.change.target is None else f"{entry.title} ({entry.change.target})",
                entry.change.old,
                entry.change.new,
                entry.steps,
            )
            for entry in self.machine.changes
        ]
        head = ("setting", "when it began", "changed to", "steps")
        return TextTable("Settings that changed during the review", head, tuple(rows))

    @cached_property
    def others(self) -> tuple[TextTable, ...]:
        """The other settings, a table for each verdict."""
        tables = (
            TextTable(
                title,
                ("setting", "is"),
                tuple((fact.title, fact.meaning) for fact in self.machine.facts if fact.verdict == verdict),
            )
            for verdict, title in _FOLDED.items()
        )
        return tuple(table for table in tables if table.rows)

    @cached_property
    def interrupts(self) -> TextTable:
        """The interrupts of every step, without columns that say nothing."""
        entries = self.machine.interrupts
        rows = list(map(_row, entries))
        drives = {entry.drive.device for entry in entries}
        shown = [
            place
            for place, name in enumerate(_INTERRUPTS)
            if not (name == "drive" and len(drives) == 1)
            and not (name == "remarks" and not any(row[place] for row in rows))
        ]
        return TextTable(
            f"Interrupts of {drives.pop()}" if len(drives) == 1 else "Interrupts of the drives",
            tuple(_INTERRUPTS[place] for place in shown),
            tuple(tuple(row[place] for place in shown) for row in rows),
        )


def _row(entry: Served) -> tuple[str, ...]:
    drive = entry.drive
    return (
        entry.step,
        drive.device,
        f"{served.count(drive):,}",
        served.per_io(drive) or "-",
        served.cpu_list(served.cpus(drive)) or "-",
        served.cpu_list(entry.cpus) or "-",
        "; ".join(served.remarks(drive)),
    )


def _interrupts(entries: Iterable[Served]) -> str:
    """Return what the interrupts of all steps did, in a sentence.

    >>> from iogauge.schema import DriveInterrupts, Interrupt
    >>> interrupt = Interrupt(number=41, name="nvme0q1", by_cpu={4: 500}, allowed=(4,))
    >>> drive = DriveInterrupts(device="nvme0n1", node=None, ios=1000, interrupts=(interrupt,))
    >>> _interrupts([Served("read", drive, (4,)), Served("write", drive, (0,))])
    'the drive interrupted 0.5 times an I/O, in 1 of 2 steps a CPU on which no worker ran'
    """
    entries = list(entries)
    if not any(map(served.count, (entry.drive for entry in entries))):
        return "the drive did not interrupt"
    ratios = [served.count(entry.drive) / entry.drive.ios for entry in entries if entry.drive.ios]
    ends = list(dict.fromkeys(f"{ratio:.3g}" for ratio in (min(ratios), max(ratios)))) if ratios else []
    often = f" {' to '.join(ends)} times an I/O" if ends else f" in {counted(len(entries), 'step')}"
    steps = dict.fromkeys(entry.step for entry in entries)
    away = dict.fromkeys(entry.step for entry in entries if entry.elsewhere)
    where = (
        f"in {len(away)} of {counted(len(steps), 'step')} a CPU on which no worker ran"
        if away
        else "always a CPU on which a worker ran"
    )
    return f"the drive interrupted{often}, {where}"
