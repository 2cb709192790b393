"""Lengthening steps for a quantile: which steps, by how much, and why others keep their length."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge import workload
from iogauge.results.review import load
from iogauge.results.warnings import warnings
from iogauge.reviews.lengthen import CAP, longer, shortfall, stretched, why_not_lengthened
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import run_review
from iogauge.schema import Code, Direction, JobFile, RunRecord, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites import SUITES
from tests import builders
from tests.reviews import concluded
from tests.suite_runs import Quiet

TIMED = "[reader]\nrw=randread\nruntime=10\nramp_time=1\ntime_based=1\n"
COUNTED = "[reader]\nrw=randread\nnumber_ios=100\n"
Q = 0.999
"""Needs 10,000 requests."""


def plan_of(*steps: StepPlan) -> SuitePlan:
    (plan,) = builders.manifest(steps).plans
    return plan


def completed(step: StepPlan, reads: int) -> RunRecord:
    jobs = workload.parse(step.job_file, source=step.id)
    tally = builders.tally({80_000: reads} if reads else {})
    return builders.record([builders.row("reader", {Direction.READ: tally})], jobs=jobs)


@pytest.mark.parametrize(("reads", "times"), [(10_000, None), (9_999, 2), (1_000, 11), (3, CAP), (0, None)])
def test_a_step_becomes_as_long_as_its_sample_requires(reads: int, times: int | None) -> None:
    step = builders.step("a", job_file=TIMED)
    again = longer(plan_of(step), step, completed(step, reads), q=Q)
    assert (again and again.longer) == times
    if again:
        (job,) = workload.parse(again.job_file, source="a").jobs
        assert (job.runtime_ns, job.ramp_time_ns) == (10**10 * again.longer, 10**9)


PREPARES = builders.step("fill", job_file=COUNTED, state_group="g", judged=False)


@pytest.mark.parametrize(
    ("step", "others", "why"),
    [
        (builders.step("a", job_file=TIMED), (), None),
        (PREPARES, (), "it only preconditions the drive"),
        (builders.step("a", job_file=TIMED, purge=True), (), "it begins with a purge"),
        (
            builders.step("a", job_file=TIMED, state_group="g"),
            (PREPARES,),
            "the drive's state depends on the steps before it",
        ),
        (builders.step("a", job_file=COUNTED), (), "one of its jobs ends after an amount, not after a time"),
    ],
)
def test_a_step_that_keeps_its_length_has_a_reason(
    step: StepPlan, others: tuple[StepPlan, ...], why: str | None
) -> None:
    plan = plan_of(step, *others)
    assert why_not_lengthened(step, plan.steps) == why
    record = completed(step, 1_000)
    assert (longer(plan, step, record, q=Q) is None) == (why is not None)
    if step.judged and why:
        said = f"p99.9 needs 10,000 requests, and the step completed 1,000; it was not lengthened: {why}"
        assert shortfall(plan, step, record, q=Q) == said


@pytest.mark.parametrize(
    ("times", "reads", "says"),
    [
        (CAP, 9_999, "it ran 20 times as long, which is the limit"),
        (3, 9_999, "it ran 3 times as long, but its rate fell"),
        (3, 10_000, None),
        (1, 0, "it was not lengthened: nothing completed"),
    ],
)
def test_a_step_that_is_still_short_has_a_reason(times: int, reads: int, says: str | None) -> None:
    step = stretched(builders.step("a", job_file=TIMED), times)
    plan = plan_of(step)
    reason = shortfall(plan, step, completed(step, reads), q=Q)
    assert (reason is None) == (says is None)
    assert reason is None or reason.endswith(f"; {says}")
    # Preconditioning needs no quantile.
    prepares = plan.model_copy(update={"prepares": True})
    assert shortfall(prepares, step, completed(step, reads), q=Q) is None


def test_syncs_count_if_they_are_judged() -> None:
    step = builders.step("a", job_file=f"{TIMED}fdatasync=10\n", direction=Direction.SYNC)
    rows = {Direction.READ: builders.tally({80_000: 10_000}), Direction.SYNC: builders.tally({80_000: 1_000})}
    record = builders.record([builders.row("reader", rows)], jobs=workload.parse(step.job_file, source="a"))
    again = longer(plan_of(step), step, record, q=Q)
    assert again is not None
    assert again.longer == 11


def test_a_review_reports_a_short_step_once_and_saves_the_reason(tmp_path: Path) -> None:
    suite = SUITES["mixed"]
    manifest = new_manifest(
        [suite],
        [builders.target()],
        seed=1,
        until_supported=Q,
        command=(),
        machine=builders.machine(),
        ceiling=None,
    )
    review, watcher = Review.create(tmp_path / "r", manifest), Quiet()

    def run(job_file: JobFile, **_: object) -> RunRecord:
        (job,) = job_file.jobs
        reads = 100 if job_file.source.endswith("-70") else 4_000 * job.runtime_ns // 10**9
        done = {direction: builders.tally({80_000: reads}) for direction in job.rw.directions}
        return builders.record([builders.row(job.name, done)], jobs=job_file)

    assert run_review(review, lambda _: suite, execute=run, watcher=watcher) == ()
    (said,) = watcher.said
    assert said.startswith(f"{suite.TITLE}, 70 %: p99.9 needs 10,000 requests, and the step completed 200; ")
    (short,) = [position for position in concluded(review) if position.warnings]
    assert [(step.code, step.message in said) for step in short.warnings] == [(Code.UNSUPPORTED, True)]
    assert said.endswith(next(step.short for step in review.manifest.steps if step.short))
    assert any(
        said.endswith(message) for warning in warnings(load([review.path])) for message, _ in warning.messages
    )
    again = Quiet()
    assert run_review(review, lambda _: suite, execute=run, watcher=again) == ()
    assert again.said == []
