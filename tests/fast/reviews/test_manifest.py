"""The plan of a review: its order, its refusals, and what may change before the review is resumed."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import check_same_target, differences
from iogauge.reviews.ordering import order
from iogauge.schema import (
    SuitePlan,
)
from iogauge.suites import SUITES
from iogauge.suites.suite import StepTemplate, SuiteRequest
from tests import builders
from tests.runner_doubles import Rounds, planned


def test_repeats_are_blocks_with_their_own_orders() -> None:
    targets = [builders.target("/tmp/a.bin"), builders.target("/tmp/b.bin")]
    manifest = planned(SUITES["mixed"], SUITES["queue-depth"], targets=targets, repeats=12)
    keys = ["mixed.t1", "mixed.t2", "queue-depth.t1", "queue-depth.t2"]
    assert [plan.key for plan in manifest.plans] == keys
    runs = list(order(manifest))
    blocks = [[plan.key for at, plan in runs if at == repeat] for repeat in range(12)]
    assert all(sorted(block) == keys for block in blocks)
    assert len({tuple(block) for block in blocks}) > 6
    assert [repeat for repeat, _ in runs] == sorted(repeat for repeat, _ in runs)
    assert list(order(manifest)) == runs
    once = manifest.model_copy(update={"repeats": 1})
    assert [plan.key for _, plan in order(once)] == keys


def test_a_review_on_another_target_is_refused() -> None:
    manifest = builders.manifest(target=builders.target(kind="block", serial="A1", size_bytes=100))
    check_same_target(manifest, builders.target(kind="block", serial="A1", size_bytes=100))
    check_same_target(manifest, builders.target(kind="block", serial=None, size_bytes=100))
    for other in ({"serial": "B2"}, {"model": "Other"}, {"size_bytes": 99}, {"kind": "file"}):
        facts = {"kind": "block", "serial": "A1", "size_bytes": 100, **other}
        with pytest.raises(IogaugeError, match="another target") as caught:
            check_same_target(manifest, builders.target(**facts))
        assert caught.value.hint


def test_a_file_may_grow_beyond_its_used_part() -> None:
    (plan,) = builders.manifest().plans
    used = builders.manifest(plan=plan.model_copy(update={"size_bytes": 1 << 30}))
    check_same_target(used, builders.target(size_bytes=2 << 30))
    with pytest.raises(IogaugeError, match="another target"):
        check_same_target(used, builders.target(size_bytes=1 << 29))


def test_changes_of_the_machine_are_reported() -> None:
    manifest = builders.manifest()
    same = [text for text in differences(manifest, builders.machine()) if "iogauge" not in text]
    assert same == []
    other = builders.machine().model_copy(update={"kernel": "6.2.0", "hostname": "bench-2"})
    changed = [text for text in differences(manifest, other) if "iogauge" not in text]
    assert len(changed) == 2
    assert any("6.1.0" in text and "6.2.0" in text for text in changed)


def test_an_invalid_plan_is_refused() -> None:
    with pytest.raises(IogaugeError, match="size=100"):
        planned(SUITES["write-pressure"], size_bytes=100)


@pytest.mark.parametrize("path", ["/tmp/$ncpus.bin", "/tmp/${HOME}.bin", "/tmp/a.bin ", "/tmp/a\nrw=write"])
def test_a_path_that_a_job_file_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        planned(SUITES["write-pressure"], targets=[builders.target(path)])
    assert caught.value.hint


@pytest.mark.parametrize(
    ("changed", "says"),
    [({"id": "one"}, "two steps are called one"), ({"id": "two"}, "have the same position")],
)
def test_steps_that_cannot_be_distinguished_are_refused(changed: dict[str, str], says: str) -> None:
    class Twice(Rounds):
        def plan(self, request: SuiteRequest) -> SuitePlan:
            """Plan two steps that differ in their load alone."""
            empty = self.empty(request)
            load = StepTemplate.of(empty)
            one = load.step("one", 1, {"reader": {"rw": "randread"}})
            other = load.step("two", 1, {"reader": {"rw": "randwrite"}})
            return empty.model_copy(update={"steps": (one, other.model_copy(update=changed))})

    with pytest.raises(IogaugeError, match=says) as caught:
        planned(Twice())
    assert caught.value.hint
