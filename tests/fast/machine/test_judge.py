"""Every warning there is has a text, and is given when, and only when, it is deserved."""

from __future__ import annotations

import string

import pytest

from iogauge.machine.compress import Sample
from iogauge.machine.judge import Observations, RowFigures, Tail, judge, judge_row, kernel_version
from iogauge.machine.warnings import TEXTS, of_step, warning
from iogauge.schema import (
    Ceiling,
    ClockFacts,
    Code,
    Direction,
    EngineKind,
    InFlight,
    Notice,
    RunPlan,
    RunResult,
    Rw,
)
from tests import builders, plans

PATH = "/tmp/drive.bin"
GOOD = {
    "name": "reader",
    "direction": Direction.READ,
    "ios": 100_000,
    "elapsed_s": 10.0,
    "quantiles": (0.5, 0.99, 0.999, 0.9999),
    "lat_p50_ns": 90_000,
    "loop_gap": Tail(q=0.999, value_ns=5_000),
    "iodepth": 32,
}


def row(**fields: object) -> RowFigures:
    fields = {**GOOD, **fields}
    fields.setdefault("row_ios", fields["ios"])
    return RowFigures(**fields)  # type: ignore[arg-type]


def result(
    *, clock: ClockFacts | None = None, in_flight: tuple[InFlight, ...] = (), **worker: object
) -> RunResult:
    return RunResult(
        rows=(),
        workers=(builders.worker("reader", **{"pinned": True, **worker}),),
        in_flight=in_flight,
        clock=clock or ClockFacts(source="tsc", tsc_hz=2.5e9, read_cost_ns=20.0, check_ppm=3.0),
        elapsed_ns=10**10,
    )


def judged(
    plan: RunPlan | None = None,
    outcome: RunResult | None = None,
    *rows: RowFigures,
    observed: Observations | None = None,
    virtualised: str | None = None,
    ceiling: Ceiling | None = None,
) -> tuple[Notice, ...]:
    return judge(
        plan=plan or plans.plan(plans.worker()),
        result=outcome or result(),
        targets=(builders.target(PATH, device="sda"),),
        ceiling=ceiling or builders.ceiling(),
        machine=builders.machine().model_copy(
            update={"virtualised": virtualised, "kernel": "Linux 6.1.0 x86_64"}
        ),
        rows=rows or (row(),),
        observed=observed,
    )


def codes(*fixed: object, **named: object) -> list[Code]:
    return [one.code for one in judged(*fixed, **named)]  # type: ignore[arg-type]


def of_row(**fields: object) -> list[Code]:
    return [one.code for one in judge_row(row(**fields), builders.ceiling())]


def test_a_good_run_has_no_warning() -> None:
    assert judged() == ()


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_message_and_a_remedy(code: Code) -> None:
    text = TEXTS[code]
    assert text.message
    assert text.hint
    facts = {name: 1 for part in text for _, name, _, _ in string.Formatter().parse(part) if name}
    filled = warning(code, **facts)
    assert filled.code is code
    assert "{" not in filled.message + filled.hint


def test_a_missing_fact_is_an_error() -> None:
    with pytest.raises(KeyError):
        warning(Code.UNWRITTEN, path="x")


# --- Rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "enough"), [(0.99, 1_000), (0.999, 10_000), (0.9999, 100_000), (0.99999, 1_000_000), (0.5, 20)]
)
def test_a_quantile_wants_ten_completions_beyond_it(q: float, enough: int) -> None:
    assert of_row(quantiles=(q,), ios=enough) == []
    assert of_row(quantiles=(q,), ios=enough - 1) == [Code.FEW_SAMPLES]


def test_unsupported_quantiles_are_named() -> None:
    (one,) = judge_row(row(ios=10_007, quantiles=(0.5, 0.999, 0.9999, 0.99999)), None)
    assert "10007" in one.message
    assert "p99.99, p99.999" in one.message
    assert "p99.9," not in one.message


@pytest.mark.parametrize(
    ("fields", "limited"),
    [
        ({"scheduled": True, "lateness": Tail(q=0.99, value_ns=90_000)}, False),
        ({"scheduled": True, "lateness": Tail(q=0.99, value_ns=150_000)}, True),
        ({"scheduled": True, "lateness": Tail(q=0.5, value_ns=150_000)}, True),
        (
            {"scheduled": True, "lateness": Tail(q=0.99, value_ns=150_000), "lat_p50_ns": 8_000_000},
            False,
        ),
        ({"scheduled": True, "late": 90}, False),
        ({"late": 200}, False),
        ({"scheduled": True, "late": 200}, True),
        ({"loop_gap": Tail(q=0.999, value_ns=40_000)}, False),
        ({"loop_gap": Tail(q=0.999, value_ns=60_000)}, True),
        ({"loop_gap": Tail(q=0.999, value_ns=15_000), "lat_p50_ns": 8_000}, False),
        ({"loop_gap": Tail(q=0.999, value_ns=60_000), "lat_p50_ns": None}, False),
        ({"loop_gap": None}, False),
        ({"ios": 24_000_000}, False),
        ({"ios": 26_000_000}, True),
        ({"ios": 26_000_000, "workers": 2}, False),
        # Its directions together, and told of once.
        ({"ios": 13_000_000, "row_ios": 26_000_000}, True),
        ({"ios": 26_000_000, "row_ios": None}, False),
        # One at a time: a fifth of that is the most.
        ({"ios": 4_000_000, "iodepth": 1}, False),
        ({"ios": 6_000_000, "iodepth": 1}, True),
    ],
)
def test_who_set_the_pace(fields: dict[str, object], limited: bool) -> None:
    assert of_row(**fields) == ([Code.GENERATOR_LIMITED] if limited else [])


def test_a_quantile_is_called_what_it_is() -> None:
    (one,) = judge_row(row(loop_gap=Tail(q=0.9, value_ns=60_000)), None)
    assert "the loop's p90 gap is 60.0 us" in one.message


@pytest.mark.parametrize(("iodepth", "most"), [(32, "5,000,000"), (1, "1,000,000")])
def test_more_than_the_ceiling_says_that_the_ceiling_is_wrong(iodepth: int, most: str) -> None:
    (one,) = judge_row(row(ios=89_500_000, iodepth=iodepth), builders.ceiling())
    assert f"8,950,000 IOPS a worker are more than the {most} that a worker reached" in one.message
    assert "%" not in one.message


def test_an_older_ceiling_was_of_one_depth() -> None:
    older = builders.ceiling().model_copy(update={"shallow_iops": 0})
    assert list(judge_row(row(ios=6_000_000, iodepth=1), older)) == []
    (one,) = judge_row(row(ios=26_000_000, iodepth=1), older)
    assert "52% of the 5,000,000 IOPS" in one.message


@pytest.mark.parametrize(
    ("fields", "missed"),
    [
        ({"requested_iops": 10_000}, False),
        ({"requested_iops": 10_090}, False),
        ({"requested_iops": 10_200}, True),
        ({"requested_iops": 10_190, "poisson": True}, False),
        ({"requested_iops": 10_300, "poisson": True}, True),
        ({"requested_iops": 5_000}, False),
        ({"overdue": 100}, False),
        ({"overdue": 101}, True),
        ({"overdue": 10, "ios": 1_000, "quantiles": ()}, False),
        ({"overdue": 11, "ios": 1_000, "quantiles": ()}, True),
        ({"overdue": 2_000, "requested_iops": 10_200}, True),
    ],
)
def test_a_rate_that_was_missed(fields: dict[str, object], missed: bool) -> None:
    assert of_row(**fields) == ([Code.RATE_MISSED] if missed else [])


def test_errors_are_named_by_errno() -> None:
    (one,) = judge_row(row(errors={5: 2, 110: 7, 9999: 1}), None)
    assert one.code is Code.ERRORS
    assert "10 requests failed (7 ETIMEDOUT, 2 EIO, 1 9999)" in one.message


def test_flagged_completions() -> None:
    assert of_row(flagged=1) == [Code.STALLED]


# --- What was asked for --------------------------------------------------------------------------------------


def test_buffered_requests_are_the_page_caches() -> None:
    cached = plans.engine(direct=False)
    mixed = plans.plan(
        plans.worker("a", rw=Rw.RANDRW, engine=cached), plans.worker("b", rw=Rw.WRITE, engine=cached)
    )
    messages = [one.message for one in judged(mixed) if one.code is Code.PAGE_CACHE]
    assert messages[0].startswith("reads of a went")
    assert messages[1].startswith("writes of a, b went")


@pytest.mark.parametrize(
    ("buffers", "what"),
    [
        ({"zero": True}, "writes zeros"),
        ({"compress_percent": 50}, "compresses by 50 %"),
        ({"dedupe_percent": 30}, "repeats 30 %"),
        ({"pattern": (1, 2, 3)}, "the same 3 bytes"),
    ],
)
def test_compressible_buffers(buffers: dict[str, object], what: str) -> None:
    writer = plans.worker("writer", rw=Rw.RANDWRITE, buffers=plans.buffers(**buffers))
    (one,) = judged(plans.plan(writer))
    assert one.code is Code.COMPRESSIBLE
    assert what in one.message
    assert judged(plans.plan(plans.worker(buffers=plans.buffers(**buffers)))) == ()


def test_the_null_engine_has_no_drive_to_warn_of() -> None:
    null = plans.worker(
        rw=Rw.RANDRW,
        engine=plans.engine(kind=EngineKind.NULL, direct=False),
        buffers=plans.buffers(zero=True),
    )
    observed = Observations(unwritten={PATH: 1.0}, samples={PATH: Sample(64, 1.0, 1.0, 1.0)})
    assert judged(plans.plan(null), observed=observed, virtualised="DMI") == ()


@pytest.mark.parametrize(
    ("kernel", "warned"),
    [("Linux 5.18.0 x86_64", False), ("Linux 5.19.0-rc1 x86_64", True), ("Linux 6.8 arm64", True)],
)
def test_polling_by_pvsync2_ended_with_5_19(kernel: str, warned: bool) -> None:
    worker = plans.worker(engine=plans.engine(kind=EngineKind.PVSYNC2, hipri=True))
    warnings = judge(
        plan=plans.plan(worker),
        result=result(),
        targets=(),
        ceiling=None,
        machine=builders.machine().model_copy(update={"kernel": kernel}),
        rows=(),
    )
    assert [one.code for one in warnings] == ([Code.NO_POLLING] if warned else [])


@pytest.mark.parametrize(("kernel", "warned"), [("Linux 6.0.9 x86_64", True), ("Linux 6.1.0 x86_64", False)])
def test_commands_are_polled_for_since_6_1(kernel: str, warned: bool) -> None:
    worker = plans.worker(engine=plans.engine(kind=EngineKind.IO_URING_CMD, hipri=True))
    machine = builders.machine().model_copy(update={"kernel": kernel})
    warnings = judge(
        plan=plans.plan(worker), result=result(), targets=(), ceiling=None, machine=machine, rows=()
    )
    assert [one.code for one in warnings] == ([Code.NO_POLLING] if warned else [])


def test_polling_wants_poll_queues() -> None:
    polled = plans.plan(plans.worker(engine=plans.engine(hipri=True)))
    assert codes(polled, observed=Observations(polls={"sda": False})) == [Code.NO_POLLING]
    assert codes(polled, observed=Observations(polls={"sda": True})) == []
    assert codes(polled) == []
    assert codes(observed=Observations(polls={"sda": False})) == []


# --- What was seen -------------------------------------------------------------------------------------------


def test_reads_of_what_nobody_wrote() -> None:
    observations = Observations(unwritten={PATH: 0.4})
    (one,) = judged(observed=observations)
    assert one.code is Code.UNWRITTEN
    assert "40%" in one.message
    assert codes(plans.plan(plans.worker(rw=Rw.RANDWRITE)), observed=observations) == []
    assert codes(observed=Observations(unwritten={PATH: 0.001})) == []


@pytest.mark.parametrize(
    ("sample", "what"),
    [
        (Sample(64, zero_share=0.5, saved_share=0.5, repeated_share=0.5), "is 50% zeros"),
        (Sample(64, zero_share=0.0, saved_share=0.6, repeated_share=0.0), "compresses by 60%"),
        (Sample(64, zero_share=0.0, saved_share=0.0, repeated_share=0.5), "repeats 50%"),
    ],
)
def test_data_that_packs_well(sample: Sample, what: str) -> None:
    (one,) = judged(observed=Observations(samples={PATH: sample}))
    assert one.code is Code.COMPRESSIBLE
    assert what in one.message


def test_stamped_random_data_is_random_data() -> None:
    stamped = Sample(64, zero_share=0.0, saved_share=0.125, repeated_share=0.0)
    assert judged(observed=Observations(samples={PATH: stamped})) == ()


def test_somebody_elses_use() -> None:
    users = [f"p{index} (pid {index})" for index in range(5)]
    observed = Observations(users={PATH: users}, foreign_bytes={"sda": (3_000_000, 0), "sdb": (0, 0)})
    first, second = judged(observed=observed)
    assert "p0 (pid 0), p1 (pid 1), p2 (pid 2) and 2 more" in first.message
    assert "3.0 MB read on sda" in second.message
    assert PATH in second.message
    assert {first.code, second.code} == {Code.BUSY_TARGET}


def test_fallbacks_are_passed_on() -> None:
    fields = warning(
        Code.ENGINE_FALLBACK,
        requested="SQPOLL",
        why="no permission",
        instead="interrupts",
        remedy="run as root",
    )
    assert judged(observed=Observations(fallbacks=(fields, fields))) == (fields,)


# --- What came back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"migrations": 2}, Code.MIGRATION),
        ({"late_handovers": 3}, Code.INTERVALS_MERGED),
        ({"pinned": False}, Code.NO_PIN),
    ],
)
def test_what_workers_report(fields: dict[str, object], code: Code) -> None:
    assert codes(None, result(**fields)) == [code]


def test_a_log_that_must_not_hold_the_load_up_drops() -> None:
    dropping = plans.plan().model_copy(update={"log_overflow": "drop"})
    assert codes(dropping, result(log_dropped=1)) == [Code.LOG_DROPPED]
    # One that is waited for ends with an error, which says why.
    assert codes(None, result(log_dropped=1)) == []


def test_waiting_for_the_log_is_the_generators() -> None:
    (one,) = judge_row(row(log_wait_share=0.25), ceiling=None)
    assert one.code is Code.GENERATOR_LIMITED
    assert "it waited for its request log for 25.0% of the time" in one.message
    assert list(judge_row(row(log_wait_share=0.0005), ceiling=None)) == []


def test_polling_threads_of_the_kernel_want_cpus_too() -> None:
    polling = plans.plan(plans.worker(engine=plans.engine(sqthread_poll=True)))
    (one,) = judged(polling, result(pinned=False))
    assert "1 workers at once with 1 polling threads of the kernel, 2 CPUs" in one.message


def test_workers_that_were_to_share_their_cpus() -> None:
    assert codes(plans.plan(plans.worker(cpus=(0, 1))), result(pinned=False)) == []


def test_a_worker_that_shares_its_cpus_with_threads_of_the_kernel_may_move() -> None:
    handed_over = plans.plan(plans.worker(handed_over=True))
    assert codes(handed_over, result(pinned=False, migrations=7)) == []


def test_requests_that_never_came_back() -> None:
    lost = [
        InFlight(worker=0, direction=Direction.READ, path=PATH, offset_bytes=0, length_bytes=4096, age_ns=age)
        for age in (31 * 10**9, 45_600_000_000)
    ]
    (one,) = judged(None, result(in_flight=tuple(lost)))
    assert one.code is Code.IN_FLIGHT
    assert "2 requests" in one.message
    assert "45.6 s" in one.message


@pytest.mark.parametrize(
    ("clock", "warned"),
    [
        (ClockFacts(source="tsc", read_cost_ns=20, check_ppm=99), False),
        (ClockFacts(source="tsc", read_cost_ns=20, check_ppm=-101), True),
        (ClockFacts(source="clock_gettime", reason="the clocksource is hpet", read_cost_ns=900), True),
    ],
)
def test_the_clock(clock: ClockFacts, warned: bool) -> None:
    assert codes(None, result(clock=clock)) == ([Code.CLOCK] if warned else [])


def test_a_virtual_machine() -> None:
    (one,) = judged(virtualised="the CPU's hypervisor flag")
    assert one.code is Code.VIRTUAL_MACHINE
    assert "hypervisor flag" in one.message


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Linux 6.8.0-45-generic x86_64", (6, 8)),
        ("Linux 5.19-rc1 arm64", (5, 19)),
        ("Linux", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_kernel_versions(text: str, version: tuple[int, int]) -> None:
    assert kernel_version(text) == version


def test_the_same_warning_is_given_once() -> None:
    cached = plans.engine(direct=False)
    assert codes(plans.plan(*(plans.worker(engine=cached) for _ in range(4)))) == [Code.PAGE_CACHE]


def test_a_step_that_was_to_be_longer_warns_once_of_too_few_samples() -> None:
    few = warning(Code.FEW_SAMPLES, row="reader", ios=900, quantiles="p99.9 and p99.99")
    errors = warning(Code.ERRORS, row="reader", count=1, kinds="EIO")
    said = "p99.99 needs 100,000 requests, and the step completed 900; it was not lengthened: it begins with a purge"
    warnings = of_step(
        (few, errors), builders.step("a", short=said), overloads=False, left="left its level at second 40"
    )
    assert [(item.code, item.message) for item in warnings] == [
        (Code.ERRORS, errors.message),
        (Code.UNSUPPORTED, said),
        (Code.UNSTEADY, "the rate did not stay at its level: left its level at second 40"),
    ]
    assert of_step((few, errors), builders.step("a"), overloads=False, left=None) == (few, errors)
