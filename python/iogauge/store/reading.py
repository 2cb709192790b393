"""A saved review as a command reads it that changes nothing: what it read, or made of a step, it has at hand.

A report asks for every step several times: its suite judges it, tables show it, charts draw it, perhaps another review
is compared with it. Reading a step's intervals and resampling them is nearly all that costs. A ``Review`` that is being
measured must see its steps as they are now, and must not grow with them, so that it keeps nothing; this one lives as
long as a command, and does.

Knows no figure: what is made of a step is its callers'.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from iogauge.schema import Manifest, RunRecord
from iogauge.store.review import Review

T = TypeVar("T")


class Reading(Review):
    """A review in which every record is read once, and everything is made once that is asked for by ``once``."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        super().__init__(path, manifest)
        self._records: dict[str, RunRecord] = {}
        self._made: dict[Hashable, Any] = {}

    def record(self, step_id: str) -> RunRecord:
        """Return the run of a complete step. Raises as ``Review.record`` does."""
        if step_id not in self._records:
            self._records[step_id] = super().record(step_id)
        return self._records[step_id]

    def once(self, key: Hashable, make: Callable[[], T], enough: Callable[[T], bool]) -> T:
        """Return what ``make`` makes, or what it made for this key before where that is ``enough``."""
        if key not in self._made or not enough(self._made[key]):
            self._made[key] = make()
        found: T = self._made[key]
        return found
