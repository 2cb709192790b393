"""How near the twin of a real drive comes: ``python -m bench.cases.twins.real REVIEW MODEL [AGAIN]``.

REVIEW is a saved default review of the drive, MODEL the shipped model with which its twin begins. The twin is fitted
to some suites of REVIEW and predicts the others, as with drawn drives. AGAIN is a second review of the suites that were
left out: its steps show by how much the drive differs from itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench import peers
from bench.cases.twins.judge import markdown
from bench.cases.twins.study import LEFT_OUT, assessed, write
from iogauge import catalog
from iogauge.calibrate.twins.steps import steps_of
from iogauge.store import Review


def main(review: str, begin_with: str, again: str | None = None) -> None:
    """Fit, predict, and print the table; the figures are kept in ``bench/out/twins``."""
    result = assessed(Review.open(Path(review)), catalog.drive(begin_with), threads=2)
    place = peers.ROOT / "bench" / "out" / "twins"
    place.mkdir(parents=True, exist_ok=True)
    write({"drive": review, **result}, place / f"real-{begin_with}.json")
    print(f"rms {result['rms']}, {result['trials']} trials, {result['cpu_s']} s of CPU, {result['took_s']} s")
    for number, (start, value, _, identified, _, _) in result["numbers"].items():
        print(f"  {number:36} {start:12,.6g} {value:12,.6g}{'' if identified else '  hardly identified'}")
    print(markdown(f"{review}, as {begin_with}", [result]))
    print(markdown("of these, the reader under writers", [_only(result, "reader-under-writers")]))
    if again is not None:
        print(markdown("the drive, measured again", [_again(result, Review.open(Path(again)))]))


def _only(result: dict[str, Any], suite: str) -> dict[str, Any]:
    return result | {"figures": [row for row in result["figures"] if row[0].startswith(suite)]}


def _again(result: dict[str, Any], review: Review) -> dict[str, Any]:
    """Return the result with a second review's figures in place of the twin's, where both have them."""
    seen = {
        (step.id, job, direction.value, what): value
        for step in steps_of(review, suites=LEFT_OUT)
        for (job, direction, what), value in step.measured.items()
    }
    rows = [[*row[:5], seen[tuple(row[:4])], *row[6:]] for row in result["figures"] if tuple(row[:4]) in seen]
    return result | {"figures": rows}


if __name__ == "__main__":
    main(*sys.argv[1:])
