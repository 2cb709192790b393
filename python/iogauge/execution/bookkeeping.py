"""What a run wrote to each of its targets, for their ledgers. A ledger that cannot be kept is said once, and no error.

Trims are not counted, nor what requests wrote that never came back. Where a row of results is of several targets, what
it wrote is divided evenly among them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from iogauge.schema import Direction, Interval, LedgerEntry, RunPlan, TargetFacts
from iogauge.target import ledger

_told: set[str] = set()
"""Reasons that were said in this process."""


class Written:
    """Counts what a run writes, ramps included: told of every interval as it comes."""

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
        """Return the entry of one target, which jobs call by any of ``paths``; None: nothing was written to it."""
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
    """Add an entry to a target's ledger; where that cannot be done, say so once."""
    try:
        ledger.enter(target, entry)
    except OSError as error:
        reason = f"{ledger.directory()}: what is written is not kept in mind: {error.strerror or error}"
        if reason not in _told:
            _told.add(reason)
            say(reason)
