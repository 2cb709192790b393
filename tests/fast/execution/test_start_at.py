"""Runs that start at an instant of the host's clock: never before it, once all is prepared; Ctrl-C ends the wait."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from iogauge import workload
from iogauge.execution import execute
from iogauge.library import review as reviews
from iogauge.library.errors import Interrupted
from iogauge.schema import Direction, RunRecord, RunResult, StepPlan
from iogauge.store import Review
from tests.suite_runs import Quiet

NEVER_NS = 100 * 365 * 86_400 * 10**9
"""An instant that no machine has been up for."""
SOON_NS = 50 * 10**6

NULL = ["--name=n", "--ioengine=null", "--rw=randread", "--size=1m", "--number_ios=100", "--rate_iops=5000"]
MODEL = ["--name=m", "--filename=model:p4800x", "--rw=randread", "--runtime=10ms", "--time_based"]
BOTH = pytest.mark.parametrize("arguments", [NULL, MODEL], ids=["null engine", "drive model"])


def run(arguments: list[str], **fields: Any) -> RunRecord:
    """The record of these jobs."""
    return execute(workload.from_arguments(arguments), seed=1, **fields)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@BOTH
def test_a_run_starts_at_its_instant_or_after_it(arguments: list[str]) -> None:
    instants: list[int] = []

    def start_at() -> int:
        instants.append(time.monotonic_ns() + SOON_NS)
        return instants[0]

    record = run(arguments, start_at=start_at)
    assert [record.plan.start_at_ns] == instants
    assert record.result.started_ns is not None
    assert instants[0] <= record.result.started_ns < time.monotonic_ns()
    assert record.result.stopped_by is None


@BOTH
def test_an_instant_that_is_past_is_now(arguments: list[str]) -> None:
    before_ns = time.monotonic_ns()
    record = run(arguments, start_at=lambda: 1)
    assert record.plan.start_at_ns == 1
    assert record.result.started_ns is not None
    assert before_ns < record.result.started_ns < time.monotonic_ns()


def test_the_first_request_of_a_run_is_known() -> None:
    for start_at in (lambda: None, lambda: time.monotonic_ns() + SOON_NS):
        result = run(NULL, start_at=start_at).result
        assert result.started_ns is not None
        assert result.first_issued_ns is not None
        assert result.started_ns <= result.first_issued_ns < time.monotonic_ns()


def test_the_wait_changes_nothing_of_a_modelled_run() -> None:
    plain, waited = (run(MODEL, start_at=start_at) for start_at in (lambda: None, lambda: 1))
    assert (plain.result.started_ns, plain.result.first_issued_ns) == (None, None)
    assert waited.result.first_issued_ns is None
    assert waited.result.model_copy(update={"started_ns": None}) == plain.result


def test_all_is_prepared_when_the_instant_is_prepared(folder: Path) -> None:
    events: list[str] = []

    def start_at() -> None:
        assert (folder / "file").stat().st_size == 1 << 20
        events.append("instant")

    arguments = ["--name=f", "--filename=file", "--rw=randread", "--size=1m", "--number_ios=5"]
    run(arguments, start_at=start_at, on_start=lambda _plan, _targets: events.append("start"))
    assert events == ["instant", "start"]


def test_one_run_can_wait_for_the_other() -> None:
    ended = threading.Event()
    records: list[RunRecord] = []

    def start_at() -> int:
        assert ended.wait(60)
        return time.monotonic_ns()

    second = threading.Thread(target=lambda: records.append(run(NULL, start_at=start_at)))
    second.start()
    first = run(NULL).result
    ended.set()
    second.join()
    assert first.started_ns is not None
    assert records[0].result.started_ns is not None
    assert records[0].result.started_ns >= first.started_ns + first.rows[0].end_ns


@BOTH
def test_an_interrupt_ends_the_wait_for_the_instant(arguments: list[str]) -> None:
    record = run(
        arguments,
        start_at=lambda: NEVER_NS,
        on_start=lambda _plan, _targets: os.kill(os.getpid(), signal.SIGINT),
    )
    assert record.result.stopped_by == "interrupt"
    assert (record.result.started_ns, record.result.first_issued_ns) == (None, None)
    assert not any(row.tallies.get(Direction.READ) for row in record.result.rows)


@BOTH
def test_an_interrupt_before_the_instant_is_known_is_an_exception(arguments: list[str]) -> None:
    def start_at() -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(arguments, start_at=start_at)


def begun(folder: Path) -> Review:
    """A planned review of a drive model, of which nothing has run."""
    return reviews.begin(
        ["model:p4800x"],
        [],
        output=folder / "review",
        destroy=[],
        command=[],
        on_plan=lambda _: None,
        say=lambda _: None,
        suites=["queue-depth"],
        runtime="10ms",
    )


def test_a_review_asks_for_each_step_in_its_turn(folder: Path) -> None:
    saved = begun(folder)
    prepared: list[str] = []

    def start_at(step: StepPlan) -> int:
        # The steps before it are saved, and it runs in this thread: none has begun early.
        assert saved.completed() == tuple(prepared)
        assert threading.current_thread() is threading.main_thread()
        prepared.append(step.id)
        return time.monotonic_ns()

    assert reviews.measure(saved, lambda _: Quiet(), destroy=[], start_at=start_at) == ()
    assert prepared == [step.id for step in saved.manifest.steps]
    for step in saved.manifest.steps:
        record = saved.record(step.id)
        assert record.plan.start_at_ns is not None
        assert record.result.started_ns is not None
        assert record.plan.start_at_ns <= record.result.started_ns


def test_an_interrupted_wait_leaves_a_review_to_be_resumed(folder: Path) -> None:
    saved = begun(folder)
    first, second = saved.manifest.steps[:2]

    def start_at(step: StepPlan) -> None:
        if step.id == second.id:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        reviews.measure(saved, lambda _: Quiet(), destroy=[], start_at=start_at)
    assert saved.completed() == (first.id,)
    assert reviews.measure(saved, lambda _: Quiet(), destroy=[]) == ()
    assert saved.completed() == tuple(step.id for step in saved.manifest.steps)


def test_instants_are_optional_in_stored_records() -> None:
    record = run(NULL, start_at=lambda: 1)
    assert RunRecord.model_validate_json(record.model_dump_json()) == record
    fields = record.result.model_dump(mode="json")
    del fields["started_ns"], fields["first_issued_ns"]
    older = RunResult.model_validate(fields)
    assert (older.started_ns, older.first_issued_ns) == (None, None)
