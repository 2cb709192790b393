"""wait_for becomes a stage where that means what it means to fio, and is refused elsewhere."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Job
from iogauge.workload.stages import stages


def jobs(*waits: str) -> list[Job]:
    """Return jobs a, b, ..., each with the job that it waits for; '|' stands for stonewall."""
    return [
        Job(name=name, wait_for=wait.strip("|"), stonewall=wait.startswith("|"))
        for name, wait in zip("abcdef", waits, strict=False)
    ]


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        (("", ""), [0, 0]),
        (("", "a"), [0, 1]),
        (("", "a", "a"), [0, 1, 1]),
        (("", "a", "b", "c"), [0, 1, 2, 3]),
        (("", "", "|", "c"), [0, 0, 1, 2]),
        (("", "|", "a"), [0, 1, 1]),
    ],
)
def test_jobs_that_wait_begin_a_stage(waits: tuple[str, ...], expected: list[int]) -> None:
    assert stages(jobs(*waits)) == expected


@pytest.mark.parametrize(
    ("waits", "reason"),
    [
        (("", "x"), "names no earlier job"),
        (("b", ""), "names no earlier job"),
        (("", "", "a"), "'b' may still run then"),
        (("", "a", ""), "would start before 'b'"),
        (("", "a", "a", "b"), "'c' may still run then"),
    ],
)
def test_other_waits_are_refused(waits: tuple[str, ...], reason: str) -> None:
    with pytest.raises(IogaugeError, match=reason) as caught:
        stages(jobs(*waits))
    assert caught.value.hint
