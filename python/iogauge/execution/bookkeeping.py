"""Enters what a run wrote into the ledgers of its targets. A ledger that cannot be written is reported once.

Trims are not counted, nor are requests that never completed. If a row of results covers several targets, its bytes are
divided evenly among them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from iogauge.schema import Direction, Interval, LedgerEntry, RunPlan, TargetFacts
from iogauge.target import ledger

_reported: set[str] = set()
"""Errors of ledgers that this process has reported."""


class Written:
    """Counts what a run writes, interval by interval, ramps included."""

    def __init__(self, plan: RunPlan) -> None:
        self._paths: dict[int, set[str]] = defaultdict(set)
        self._random: set[int] = set()
        for worker in (worker for stage in plan.stages for worker in stage.workers):
            self._paths[worker.row] |= {file.path for file in worker.files}
            if worker.pattern.rw.random:
                self._random.add(worker.row)
        self._ios: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()

    def add(self, interval: Interval) -> None:
        """Count one interval."""
        tally = interval.tallies.get(Direction.WRITE)
        if tally is not None:
            self._ios[interval.row] += tally.ios
            self._bytes[interval.row] += tally.bytes

    def entry(self, paths: Iterable[str], target: TargetFacts, *, at: str, source: str) -> LedgerEntry | None:
        """Return the ledger entry of one target, which has the names ``paths``; None: nothing was written to it."""
        names = set(paths)
        shares = {
            row: len(mine & names) / len(mine)
            for row, mine in self._paths.items()
            if mine & names and self._bytes[row]
        }
        written = sum(self._bytes[row] * share for row, share in shares.items())
        if not written:
            return None
        return LedgerEntry(
            what="run",
            at=at,
            source=source,
            capacity_bytes=target.size_bytes,
            written_bytes=round(written),
            random_bytes=round(
                sum(self._bytes[row] * share for row, share in shares.items() if row in self._random)
            ),
            block_bytes=round(written / sum(self._ios[row] * share for row, share in shares.items())),
        )


def enter(target: TargetFacts, entry: LedgerEntry, say: Callable[[str], None]) -> None:
    """Add an entry to a target's ledger; if that fails, report it once."""
    try:
        ledger.enter(target, entry)
    except OSError as error:
        reason = f"{ledger.directory()}: cannot record what is written to targets: {error.strerror or error}"
        if reason not in _reported:
            _reported.add(reason)
            say(reason)
