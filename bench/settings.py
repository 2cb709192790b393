"""How thorough a benchmark is: for the history, or a quick look while developing."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench.pairs import interleave
from bench.peers import Job, Outcome, Runner


@dataclass(frozen=True)
class Settings:
    """Pairs per comparison, and a factor on every run's length."""

    pairs: int = 15
    scale: float = 1.0

    @classmethod
    def quick(cls) -> Settings:
        """Return the fewest pairs that have a 95 % interval, and short runs."""
        return cls(pairs=6, scale=0.1)

    def seconds(self, thorough: float) -> int:
        """Return a run's length in whole seconds, at least one."""
        return max(1, round(thorough * self.scale))

    def compare(
        self, name: str, ours: Runner, peer: Runner, job: Job, *, times: int = 1
    ) -> tuple[list[Outcome], list[Outcome]]:
        """Run ``job`` by both in interleaved pairs, after a short warm-up of each; return the outcomes, pair by pair.

        If a target varies much from second to second, ``times`` as many pairs of short runs are more precise than
        long runs, since a pair sees the same seconds. Writes a line per pair to stderr.
        """
        for runner in (ours, peer):
            runner({**job, "runtime": 1})
        mine: list[Outcome] = []
        theirs: list[Outcome] = []
        for us, them in interleave(lambda: ours(job), lambda: peer(job), pairs=times * self.pairs):
            mine.append(us)
            theirs.append(them)
            note(f"{name} {len(mine)}/{times * self.pairs}: {us.iops:,.0f} IOPS, peer {them.iops:,.0f}")
        return mine, theirs


def note(line: str) -> None:
    """Print a line of progress to stderr."""
    print(line, file=sys.stderr, flush=True)
