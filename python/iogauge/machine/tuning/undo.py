"""Undoes the changes of a journal in reverse; after a kill at any point, undoing it again completes the work.

A place is put back only if it has the value that the tuning gave it. If it has the value from before, there is nothing
to do; any other value is somebody else's, and stays. So undoing again after a kill, or a second process, does no harm.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from iogauge.machine.tuning.door import Door, ForbiddenError
from iogauge.machine.tuning.journal import Entry, Record

_PASSES = 3
"""Putting one value back can change another: an energy preference is refused under the governor performance."""


@dataclass(frozen=True)
class Left:
    """A place that does not have its value from before, and why."""

    id: str
    place: str
    why: str


@dataclass(frozen=True)
class Undone:
    """What came of undoing."""

    restored: int
    """How many places were put back."""
    left: tuple[Left, ...]
    """What somebody else has changed meanwhile, or what has gone."""
    failed: tuple[Left, ...]
    """What the kernel refused to put back."""

    def report(self, by: str) -> dict[str, Any]:
        """Return what the journal keeps of it."""
        return {
            "by": by,
            "restored": self.restored,
            "left": [asdict(item) for item in (*self.left, *self.failed)],
        }


def undo(record: Record, door: Door, *, rebooted: bool = False) -> Undone:
    """Put back what a journal says. After a reboot only what can outlive it is looked at: features of drives."""
    entries = [
        entry for entry in reversed(record.entries) if not rebooted or entry.place.startswith("feature:")
    ]
    restored: set[str] = set()
    problems: dict[str, tuple[str, Left]] = {}
    for _ in range(_PASSES):
        changed = False
        for entry in entries:
            outcome, why = _put_back(entry, door)
            if outcome == "restored":
                changed = True
                restored.add(entry.place)
            if outcome in ("left", "failed"):
                problems[entry.place] = (outcome, Left(entry.id, entry.place, why))
            else:
                problems.pop(entry.place, None)
        if not changed:
            break
    return Undone(
        len(restored - problems.keys()),
        tuple(left for outcome, left in problems.values() if outcome == "left"),
        tuple(left for outcome, left in problems.values() if outcome == "failed"),
    )


def _put_back(entry: Entry, door: Door) -> tuple[str, str]:
    """Put one place back; return what came of it (nothing, restored, left, failed), and why."""
    try:
        now = door.read(entry.place)
    except (FileNotFoundError, ProcessLookupError):
        return "left", "it has gone"
    except (OSError, ForbiddenError) as error:
        return "failed", reason(error)
    if now == entry.before:
        return "nothing", ""
    if now != entry.wanted:
        return "left", f"it is {now!r} now: somebody else has changed it"
    try:
        door.write(entry.place, entry.before)
        now = door.read(entry.place)
    except (OSError, ForbiddenError) as error:
        return "failed", reason(error)
    if now != entry.before:
        return "failed", f"it stays {now!r} instead of {entry.before!r}"
    return "restored", ""


def reason(error: Exception) -> str:
    """Return why a place could not be read or written, in words."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]
