"""Small saved reviews for the tests of the index: two steps of a made-up drive, each with two intervals of reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iogauge.schema import Direction
from iogauge.store import Review
from tests import builders

STEPS = ("p0", "p100")


def saved(
    path: Path,
    *,
    created_at: str = "2026-01-01T00:00:00+00:00",
    model: str = "Example 1000",
    host: str = "bench-1",
    suite: str = "write-pressure",
    run: Sequence[str] = (),
    latency_ns: int = 100_000,
) -> Review:
    """Save a review of which the steps ``run`` are complete."""
    manifest = builders.manifest([builders.step("p0", 0), builders.step("p100", 100)])
    (plan,) = manifest.plans
    changes = {
        "created_at": created_at,
        "targets": tuple(target.model_copy(update={"model": model}) for target in manifest.targets),
        "machine": manifest.machine.model_copy(update={"hostname": host}),
        "plans": (plan.model_copy(update={"suite": suite}),),
    }
    review = Review.create(path, manifest.model_copy(update=changes))
    for step in run:
        complete(review, step, latency_ns=latency_ns)
    return review


def complete(review: Review, step: str, *, latency_ns: int = 100_000) -> None:
    """Complete a step: reads of one latency."""
    tally = builders.tally([latency_ns] * 70)
    with review.begin(step) as writer:
        writer.interval(builders.interval(0, {Direction.READ: tally}))
        writer.interval(builders.interval(1, {Direction.READ: tally}))
        writer.finish(builders.record([builders.row("reader", {Direction.READ: tally})]))
