"""Wake latency: true gaps, enough reads after each, and what follows from medians by gap."""

from __future__ import annotations

import pytest

from iogauge.cli import main
from iogauge.machine.idle_states import Declared
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import IdleState, Pace
from iogauge.stats.figure import Figure
from iogauge.suites import SUITES
from iogauge.suites.idle import waking
from iogauge.suites.idle.wake_latency import FEWEST, GAPS_NS, KEPT_AWAKE, MAY_SLEEP
from tests.suite_runs import jobs_of, planned

MS = 10**6

POWER_STATE = IdleState(
    part="drive", name="power state 4", enabled=True, after_ns=100 * MS, entry_ns=2 * MS, exit_ns=8 * MS
)
C6 = IdleState(part="CPU", name="CPU idle state C6", enabled=True, exit_ns=133_000)

DROWSY = """\
title = "memory that sleeps"
base = "ram"

[parameters.media]
latency_ns = { value = 50000, kind = "assumed", source = "the test" }

[[parameters.power.states]]
after_ns = { value = 5000000, kind = "assumed", source = "the test" }
entry_ns = { value = 500000, kind = "assumed", source = "the test" }
exit_ns = { value = 2000000, kind = "assumed", source = "the test" }
idle_W = { value = 0, kind = "assumed", source = "the test" }

[[parameters.power.states]]
after_ns = { value = 500000000, kind = "assumed", source = "the test" }
entry_ns = { value = 1000000, kind = "assumed", source = "the test" }
exit_ns = { value = 40000000, kind = "assumed", source = "the test" }
idle_W = { value = 0, kind = "assumed", source = "the test" }
"""


@pytest.fixture(scope="module")
def drowsy(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    """Review a modelled drive with two low-power states."""
    folder = tmp_path_factory.mktemp("drowsy")
    (folder / "drowsy.toml").write_text(DROWSY)
    review = ["review", f"model:{folder / 'drowsy.toml'}", "--suite=wake-latency", "--seed=1"]
    assert main([*review, f"--output={folder / 'r'}"]) == 0
    (result,) = load([folder / "r"])
    return result


def test_a_model_shows_its_exit_latencies_exactly(drowsy: SuiteResult) -> None:
    for series, positions in drowsy.by_series().items():
        means = {round(position.at * MS): position.figures.mean for position in positions}
        assert list(means) == list(GAPS_NS), series
        usual = means[GAPS_NS[0]]
        assert usual is not None
        for gap_ns, mean in means.items():
            more_ns = 0 if gap_ns <= 5 * MS else 2 * MS if gap_ns <= 500 * MS else 40 * MS
            assert mean is not None
            assert mean.value - usual.value == pytest.approx(more_ns, abs=1), (series, gap_ns)
            assert mean.count >= FEWEST


def test_findings_name_the_states_of_a_model(drowsy: SuiteResult) -> None:
    headline, shallow, deep = SUITES["wake-latency"].findings(drowsy)
    assert headline.startswith("after 30 s of idleness a read takes 80")
    assert headline.endswith("nearly all of it is the drive's or its link's")
    assert "between 3 ms and 10 ms of idleness, by 2.0" in shallow
    assert shallow.endswith(
        "fits low-power state 1, entered after 5 ms, which takes at most 500 us to enter and 2 ms to leave"
    )
    assert "between 300 ms and 1 s of idleness, by 38." in deep
    assert "fits low-power state 2, entered after 500 ms" in deep


@pytest.mark.parametrize("pace", ["quick", "standard", "full"])
def test_every_gap_has_the_reads_that_a_median_needs(pace: Pace) -> None:
    plan = planned("wake-latency", pace)
    assert {step.series for step in plan.steps} == {MAY_SLEEP, KEPT_AWAKE}
    for step in plan.steps:
        (job,) = jobs_of(step)
        gap_ns = round(step.at * MS)
        assert job.thinktime_ns == gap_ns
        assert job.thinktime_spin_ns == (gap_ns if step.series == KEPT_AWAKE else 0)
        # The first read, which follows no gap, is in the ramp.
        assert job.ramp_time_ns >= gap_ns
        assert job.runtime_ns is not None
        assert FEWEST * gap_ns <= job.runtime_ns <= plan.runtime_ns
        assert (job.iodepth, job.numjobs) == (1, 1)
    longest = max(step.at for step in plan.steps)
    assert longest == {"quick": 300, "standard": 3000, "full": 30_000}[pace]
    assert any("left out" in note for note in plan.notes) == (pace != "full")


def test_a_step_too_short_for_any_gap_has_the_shortest() -> None:
    plan = planned("wake-latency", runtime_ns=MS)
    assert [step.at for step in plan.steps] == [0.1, 0.1]


def test_the_plan_keeps_what_is_declared_and_says_what_is_unknown() -> None:
    declared = Declared((POWER_STATE,), ("the CPUs' idle states are unknown: Linux shows none",))
    plan = planned("wake-latency", idle_states=declared)
    assert plan.idle_states == (POWER_STATE,)
    assert plan.notes[-1] == "The CPUs' idle states are unknown: Linux shows none."


def median(value_us: float) -> Figure:
    return Figure(value_us * 1e3, value_us * 0.98e3, value_us * 1.02e3, count=1000)


def medians(*by_decade: float) -> dict[int, Figure]:
    """Return medians in microseconds after 100 us, 1 ms, 10 ms, ..."""
    return {10 ** (5 + power): median(value_us) for power, value_us in enumerate(by_decade)}


def test_what_a_cpu_kept_awake_does_not_wait_for_is_the_cpus() -> None:
    headline, link, cpu = waking.findings(medians(39, 39, 170), medians(39, 39, 47), (C6, POWER_STATE))
    assert headline == (
        "after 10 ms of idleness a read takes 4.36x (4.24 to 4.48) as long as after 100 us (median 170.0 us instead of "
        "39.00 us); with the CPU kept awake 1.205x (1.172 to 1.240): nearly all of it is the CPU's"
    )
    assert link.startswith(
        "with the CPU kept awake, latency jumps between 1 ms and 10 ms of idleness, by 8.0"
    )
    assert link.endswith("no declared state of the drive or its link fits")
    assert cpu.startswith(
        "only while the CPUs may sleep, latency jumps between 1 ms and 10 ms of idleness, by 123."
    )
    assert cpu.endswith("more: near the exit latency of CPU idle state C6 (133 us)")


@pytest.mark.parametrize(
    ("asleep", "awake", "whose"),
    [
        (120, 118, "nearly all of it is the drive's or its link's"),
        (120, 95, "most of it is the drive's or its link's"),
        (120, 80, "which part is the CPU's cannot be determined"),
        (120, 60, "most of it is the CPU's"),
        (120, 40, "nearly all of it is the CPU's"),
    ],
)
def test_whose_part_it_is_goes_by_intervals(asleep: float, awake: float, whose: str) -> None:
    (headline, *_) = waking.findings(medians(39, asleep), medians(39, awake), ())
    assert headline.endswith(f": {whose}")


def test_no_sleep_shows_where_the_interval_holds_one() -> None:
    assert [text[-14:] for text in waking.findings(medians(39, 39.5), medians(39, 39), ())] == [
        "no sleep shows"
    ]


def test_without_intervals_nothing_is_said_of_sleep() -> None:
    bare = {100_000: Figure(39e3), 10 * MS: Figure(120e3)}
    (headline,) = waking.findings(bare, bare, (POWER_STATE,))
    assert headline.endswith("whether anything sleeps cannot be determined")


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (
            POWER_STATE,
            "fits power state 4, entered after 100 ms, which takes at most 2 ms to enter and 8 ms to leave",
        ),
        (
            POWER_STATE.model_copy(update={"exit_ns": None}),
            "fits power state 4, entered after 100 ms, whose exit latency is not declared",
        ),
        (
            POWER_STATE.model_copy(update={"exit_ns": 10_000}),
            "more than power state 4, entered after 100 ms, which takes at most 2 ms to enter and 10 us to leave",
        ),
        (
            POWER_STATE.model_copy(update={"after_ns": 10**10}),
            "no declared state of the drive or its link fits",
        ),
        (
            POWER_STATE.model_copy(update={"enabled": False}),
            "which state it is, is unknown: none of the drive or its link is known to be enabled",
        ),
        (
            IdleState(part="link", name="SATA Slumber", enabled=True, exit_ns=10 * MS),
            "near the exit latency of SATA Slumber (10 ms)",
        ),
        (
            IdleState(part="link", name="PCIe L1", enabled=True, exit_ns=64_000),
            "no declared state of the drive or its link fits",
        ),
    ],
)
def test_a_jump_is_compared_with_what_is_declared(state: IdleState, text: str) -> None:
    steps = {30 * MS: median(70), 100 * MS: median(6000)}
    (jump,) = waking.jumps(steps)
    assert waking.fit(jump, (C6, state), ("drive", "link")) == text
