"""wait_for becomes a stage where that means what it means to fio. Elsewhere a job begins in the middle of a stage."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Job
from iogauge.workload.stages import stages, waits


def jobs(*awaited: str) -> list[Job]:
    """Return jobs a, b, ..., each with the job that it waits for; '|' stands for stonewall."""
    return [
        Job(name=name, wait_for=wait.strip("|"), stonewall=wait.startswith("|"))
        for name, wait in zip("abcdef", awaited, strict=False)
    ]


@pytest.mark.parametrize(
    ("awaited", "expected"),
    [
        (("", ""), [0, 0]),
        (("", "a"), [0, 1]),
        (("", "a", "a"), [0, 1, 1]),
        (("", "a", "b", "c"), [0, 1, 2, 3]),
        (("", "", "|", "c"), [0, 0, 1, 2]),
        (("", "|", "a"), [0, 1, 1]),
    ],
)
def test_jobs_that_wait_begin_a_stage(awaited: tuple[str, ...], expected: list[int]) -> None:
    assert stages(jobs(*awaited)) == expected


@pytest.mark.parametrize(
    ("awaited", "expected"),
    [
        (("", "", "a"), [set(), set(), {0}]),
        (("", "a", ""), [set(), {0}, set()]),
        (("", "a", "a", "b"), [set(), {0}, {0}, {0, 1}]),
        (("", "|", "", "a", "b"), [set(), set(), set(), set(), {1}]),
    ],
)
def test_jobs_that_wait_while_others_run_are_in_one_stage(
    awaited: tuple[str, ...], expected: list[set[int]]
) -> None:
    waiting = jobs(*awaited)
    walls = [index for index, job in enumerate(waiting) if job.stonewall]
    assert stages(waiting) == [sum(index >= wall for wall in walls) for index in range(len(waiting))]
    assert waits(waiting) == expected


def test_a_flow_does_not_begin_in_the_middle() -> None:
    waiting = jobs("", "", "a")
    flowing = [*waiting[:2], waiting[2].model_copy(update={"flow": 2})]
    with pytest.raises(IogaugeError, match="flow is not supported"):
        stages(flowing)


@pytest.mark.parametrize(
    ("awaited", "reason"),
    [
        (("", "x"), "names no earlier job"),
        (("b", ""), "names no earlier job"),
    ],
)
def test_other_waits_are_refused(awaited: tuple[str, ...], reason: str) -> None:
    with pytest.raises(IogaugeError, match=reason) as caught:
        stages(jobs(*awaited))
    assert caught.value.hint
