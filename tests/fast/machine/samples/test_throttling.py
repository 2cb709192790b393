"""When a drive throttled: its counters prove it, its temperature says that it may have, and nothing is guessed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.samples.throttling import spells, summary
from iogauge.schema import DriveSamples

SECOND = 10**9


def samples(
    *, at_s: tuple[float, ...] = (-1, 10, 20, 30), stage: tuple[int, ...] = (), **columns: object
) -> DriveSamples:
    """Return samples with a warning temperature of 75 C unless ``warning_C`` says otherwise."""
    return DriveSamples(
        device="nvme0n1",
        warning_C=columns.pop("warning_C", 75),
        critical_C=columns.pop("critical_C", None),
        stage=stage or (0,) * len(at_s),
        at_ns=tuple(round(second * SECOND) for second in at_s),
        columns=columns,
    )


def shown(drive: DriveSamples) -> list[tuple[str, int, float, float]]:
    return [
        (spell.heat, spell.stage, spell.start_ns / SECOND, spell.end_ns / SECOND) for spell in spells(drive)
    ]


@pytest.mark.parametrize(
    "name", ["light_throttles", "heavy_throttles", "light_throttled_s", "heavy_throttled_s"]
)
def test_a_counter_that_grows_is_proof(name: str) -> None:
    drive = samples(temperature_C=(60,), **{name: (None, None, 3, 3)})
    assert shown(drive) == [("throttled", 0, 10, 20)]
    assert summary(drive) == "the drive throttled for 10 s of 30 s, at up to 60 C"


@pytest.mark.parametrize("name", ["temperature_alarm", "warning_min", "critical_min"])
def test_what_the_drive_says_of_its_warmth_is_no_proof(name: str) -> None:
    drive = samples(temperature_C=(60,), **{name: (0, 0, 1, 0)})
    assert shown(drive) == [("hot", 0, 10, 20)]
    assert summary(drive) == (
        "the drive was hot (from 75 C on) for 10 s of 30 s, at up to 60 C, and may have throttled"
    )


def test_the_warning_temperature_itself_is_hot() -> None:
    assert shown(samples(temperature_C=(80, 75, 74, 75))) == [("hot", 0, 0, 10), ("hot", 0, 20, 30)]
    assert shown(samples(temperature_C=(80, 80, 84, 85), warning_C=None, critical_C=85)) == [
        ("hot", 0, 20, 30)
    ]


def test_neighbours_are_one_spell_and_kinds_are_told_apart() -> None:
    drive = samples(
        at_s=(-1, 1, 2, 3, 4, 5),
        temperature_C=(50, 76, 78, 79, 78, 60),
        heavy_throttled_s=(0, 0, 1, 2, 2, 2),
    )
    assert shown(drive) == [("hot", 0, 0, 1), ("throttled", 0, 1, 3), ("hot", 0, 3, 4)]
    assert summary(drive) == "the drive throttled for 2 s of 5 s, and was hot for 2 s more, at up to 79 C"


def test_each_stage_has_its_own_clock() -> None:
    drive = samples(at_s=(-1, 5, 3, 6), stage=(0, 0, 1, 1), temperature_C=(50, 80, 80, 50))
    assert shown(drive) == [("hot", 0, 0, 5), ("hot", 1, 0, 3)]
    assert str(summary(drive)).startswith("the drive was hot (from 75 C on) for 8 s of 11 s")


def test_nothing_is_made_of_what_is_unknown() -> None:
    assert summary(samples()) is None
    assert summary(samples(at_s=())) is None
    assert summary(samples(at_s=(-1,), temperature_C=(90,))) is None
    assert summary(samples(temperature_C=(90,), warning_C=None)) is None
    # An older counter than the run is no news.
    assert summary(samples(temperature_C=(60,), heavy_throttled_s=(7,), warning_min=(100,))) is None


@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.none() | st.integers(60, 90), st.integers(0, 2)),
        min_size=2,
        max_size=12,
    )
)
def test_spells_follow_one_another_and_cover_what_they_say(
    seconds: list[tuple[int, int | None, int]],
) -> None:
    at_s, throttled_s, now_s, counted = [], [], -1, 0
    for passed_s, _, more in seconds:
        at_s.append(now_s)
        now_s += passed_s
        counted += more
        throttled_s.append(counted)
    temperatures = tuple(temperature for _, temperature, _ in seconds)
    drive = samples(at_s=tuple(at_s), temperature_C=temperatures, light_throttled_s=tuple(throttled_s))
    shown_spells = shown(drive)
    assert all(0 <= start < end for _, _, start, end in shown_spells)
    assert all(one[3] <= other[2] for one, other in itertools.pairwise(shown_spells))
    for here in range(1, len(at_s)):
        middle = (max(at_s[here - 1], 0) + at_s[here]) / 2
        if at_s[here] <= 0:
            continue
        heat = {name for name, _, start, end in shown_spells if start <= middle < end}
        temperature = temperatures[here]
        if throttled_s[here] > throttled_s[here - 1]:
            assert heat == {"throttled"}
        else:
            assert heat == ({"hot"} if temperature is not None and temperature >= 75 else set())
