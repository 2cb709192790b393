"""Where the time of modelled requests goes, in words: the answer in a sentence, and a table of the parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from iogauge.results.explained.loads import ExplainedAt, ExplainedLoad
from iogauge.schema import PartMeaning
from iogauge.text import numbers

_NAMED = 3
"""The parts that a sentence names."""
_LEAST = 0.05
"""The least share of a part that a sentence names."""
COLUMNS = (
    "A column is the mean of the requests around its quantile (p99: from p98.5 to p99.33), so its parts add up to its "
    "latency."
)
"""What the columns of the table are."""


def answer(load: ExplainedLoad) -> str:
    """Return where the time goes, in a sentence: at the mean, and at the furthest quantile."""
    mean, last = load.mean, load.at[-1]
    if not mean.parts_ns:
        return f"A {load.direction} takes no time."
    longest = sorted(mean.parts_ns, key=lambda part: -mean.parts_ns[part])
    named = [part for part in longest[:_NAMED] if mean.shares[part] >= _LEAST] or longest[:1]
    of_parts = ", ".join(f"{numbers.duration(mean.parts_ns[part], 2)} {part}" for part in named)
    text = f"A {load.direction} takes {numbers.duration(mean.lat_ns, 3)} on average: {of_parts}."
    if last is not mean:
        # The part that makes the slow requests slow, not the one that all have.
        more = {part: value_ns - mean.parts_ns.get(part, 0.0) for part, value_ns in last.parts_ns.items()}
        cause = max(more, key=lambda part: more[part])
        text += (
            f" At {last.label} it takes {numbers.duration(last.lat_ns, 3)}, of which "
            f"{numbers.duration(last.parts_ns[cause], 2)} {cause}."
        )
    return text


def table(
    parts: Iterable[PartMeaning], load: ExplainedLoad, *, left_out: Collection[str] = ()
) -> list[list[str]]:
    """Return a row for each part, and a column for the mean and each quantile that is not ``left_out``.

    Below them are the parts of the computer and those of the drive together, and the latency.
    """
    parts = list(parts)
    shown = [at for at in load.at if at.label not in left_out]
    names = [part.name for part in parts if any(part.name in at.parts_ns for at in shown)]
    rows = [[name, *(_cell(at, name) for at in shown)] for name in names]
    halves = [
        [name, *(time(sum(at.parts_ns.get(part, 0.0) for part in of)) for at in shown)]
        for name, of in (
            ("in the computer", [part.name for part in parts if part.host]),
            ("in the drive", [part.name for part in parts if not part.host]),
        )
    ]
    totals = ["latency", *(time(at.lat_ns) for at in shown)]
    return [["", *(at.label for at in shown)], *rows, *halves, totals]


def present(parts: Iterable[PartMeaning], loads: Sequence[ExplainedLoad]) -> list[PartMeaning]:
    """Return the parts that took time in any of the loads."""
    used = {part for load in loads for at in load.at for part in at.parts_ns}
    return [part for part in parts if part.name in used]


def _cell(at: ExplainedAt, part: str) -> str:
    return time(at.parts_ns[part]) if part in at.parts_ns else "-"


def time(value_ns: float) -> str:
    """Return a time with three digits, its unit two characters wide, so that the numbers of a column line up.

    Clocks and sums are in nanoseconds, so a shorter mean has no digits.
    """
    if 0 < value_ns < 1:
        return "<1 ns"
    number, _, unit = numbers.duration(value_ns, 3).partition(" ")
    return f"{number} {unit:>2}"
