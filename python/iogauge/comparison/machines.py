"""Which settings differ between the machines, or the paths to the drives, of two sides: those that matter most first.

The settings are those from when each review began. A setting is compared if it was read on both sides and does not
change by itself. Settings come in the order of their weights, for which ``machine.audit`` gives the evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.comparison.pairwise import Side
from iogauge.machine.audit.changes import Difference, differences, one_sided
from iogauge.results.machine import ReviewMachine
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import counted

HEAD = ("setting", "A", "B")
_NAMED = 5
"""Settings that a sentence names."""
_LONGEST = 40
"""Characters of a value in a sentence."""
_UNITS = ("us", "ms", "s", "KiB", "MiB", "bytes", "%")


@dataclass(frozen=True)
class MachineComparison:
    """The settings of two sides."""

    before: str
    """The name of A."""
    after: str
    one_review: bool
    """Whether both are of one review, so that only the paths to the drives can differ."""
    differing: tuple[Difference, ...] = ()
    one_sided: int = 0
    """Settings that could be read on one side alone."""
    unknown: tuple[str, ...] = ()
    """The names of sides whose settings are not known, because an older iogauge or another program ran the steps."""

    @property
    def answer(self) -> str:
        """What differs, in a sentence."""
        if self.unknown:
            return f"settings are not compared: those of {' and '.join(self.unknown)} are not known"
        subject = "the paths to the drives" if self.one_review else "the machines"
        heavy = [pair for pair in self.differing if pair.weight]
        light = len(self.differing) - len(heavy)
        if heavy:
            others = f", and in {'one other' if light == 1 else f'{light} others'}" if light else ""
            verb = "changes" if len(heavy) == 1 else "change"
            settings = counted(len(heavy), "setting")
            return f"{subject} differ in {settings} that {verb} latency: {_list(heavy)}{others}"
        if light:
            rest = "one other does" if light == 1 else f"{light} others do"
            return f"no setting that is known to change latency differs between {subject}; {rest}"
        return f"no setting that was read on both sides differs between {subject}"

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The settings that differ, in the order of ``HEAD``."""
        return [(pair.after.title, pair.old, pair.new) for pair in self.differing]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the rows do not show."""
        if not self.one_sided:
            return ()
        return (f"{counted(self.one_sided, 'more setting')} could be read on one side alone",)


def compare_machines(
    sides: Sequence[tuple[Side, Side]], drives: Sequence[SuiteResult]
) -> tuple[MachineComparison, ...]:
    """Compare the settings of each pair of sides. ``drives`` are all results of the sides.

    Pairs without a real drive with an audit are left out.
    """
    return tuple(_comparisons(sides, drives))


def _comparisons(
    sides: Sequence[tuple[Side, Side]], drives: Sequence[SuiteResult]
) -> Iterator[MachineComparison]:
    for before, after in sides:
        a, b = (_machine(side, drives) for side in (before, after))
        if a is None or b is None or not (a.known or b.known):
            continue
        both = a.known and b.known
        yield MachineComparison(
            before=before.name,
            after=after.name,
            one_review=before.review == after.review,
            differing=differences(a.facts, b.facts) if both else (),
            one_sided=one_sided(a.facts, b.facts) if both else 0,
            unknown=tuple(side.name for side, machine in ((before, a), (after, b)) if not machine.known),
        )


def _machine(side: Side, drives: Sequence[SuiteResult]) -> ReviewMachine | None:
    """Return the machine of a side; None: it has no samples, or is a drive model."""
    own = [drive for drive in drives if (str(drive.path), drive.label) == (side.review, side.name)]
    return ReviewMachine(own) if own and not own[0].target.modelled else None


def _list(pairs: Sequence[Difference]) -> str:
    named = [f"{_name(pair.after.title)} {_short(pair.old)} / {_short(pair.new)}" for pair in pairs[:_NAMED]]
    return "; ".join(named) + (f"; {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else "")


def _name(title: str) -> str:
    """Return a title without its unit, which would stand between the name and the values."""
    name, _, unit = title.rpartition(", ")
    return name if unit in _UNITS else title


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
