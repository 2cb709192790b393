"""The process of a host's review ends when its lease does, in any phase, and leaves its drives to others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.fleet.host.clock import boot_ns
from iogauge.fleet.host.messages import Command, HostEvent, Order
from iogauge.schema import HostOutcome
from iogauge.store import Review
from tests.fast.fleet import fleet_host
from tests.fast.fleet.fleet_host import Running

SPAWN = """
import sys, threading
from pathlib import Path
from iogauge.fleet.host import HostRequest
from iogauge.fleet.host.clock import boot_ns
from iogauge.fleet.host.messages import Command
from tests.fast.fleet.fleet_host import Running
running = Running(HostRequest.model_validate_json(sys.argv[1]), Path(sys.argv[2]))
running.until(sys.argv[3])
while True:
    running.process.tell(Command(kind="renew", until_boot_ns=boot_ns() + int(sys.argv[4])))
    print(running.process.pid, flush=True)
    threading.Event().wait(0.2)
"""
"""A parent of a review: it prints the review's process once there is an event, and renews the lease for ever."""


def is_free(target: Path, tmp_path: Path) -> bool:
    """Return whether another review of a fleet gets the drive."""
    suite = fleet_host.suite(tmp_path, steps=1)
    other = Running(fleet_host.request(suite, target, fleet_id="other"), tmp_path / "other")
    other.end()
    return other.kinds()[0] == "begun"


def test_a_review_waits_before_each_step_and_is_saved(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, steps=2), "model:p4800x", waits=True)
    running = Running(wanted, tmp_path / "review")
    steps = [step.id for step in running.until("planned").steps]
    assert len(steps) == 2
    instants = []
    for step in steps:
        waiting = running.until("waiting", lambda event, step=step: event.step == step)  # type: ignore[misc]
        instants.append(waiting.at_ns + 100_000_000)
        running.process.tell(Command(kind="start", step=step, at_ns=instants[-1]))
    end = running.end()
    assert (end.outcome, end.text) == (HostOutcome.DONE, "")
    assert running.kinds() == ["begun", "planned", *["waiting", "started", "step_end"] * 2, "end"]
    started = [event for event in running.events if event.kind == "started"]
    assert [event.step for event in started] == steps
    for event, instant in zip(started, instants, strict=True):
        assert event.achieved_ns is not None
        assert event.achieved_ns >= instant
    ends = [event for event in running.events if event.kind == "step_end"]
    assert all(event.complete and "read" in event.text for event in ends)
    assert Review.open(tmp_path / "review").completed() == tuple(steps)
    # Where the host keeps it, nobody needs to know.
    assert not any("seed" in event.text for event in running.events)
    again = Running(wanted, tmp_path / "review")
    assert all(step.complete for step in again.until("planned").steps)
    assert again.end().outcome is HostOutcome.DONE


@pytest.mark.slow
def test_an_instant_may_come_before_its_step_waits(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, steps=1), "model:p4800x", waits=True)
    running = Running(wanted, tmp_path / "review")
    step = running.until("planned").steps[0].id
    running.process.tell(Command(kind="start", step=step, at_ns=1))
    assert running.end().outcome is HostOutcome.DONE


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["begun", "planned", "waiting", "progress", "step_end"])
def test_a_review_ends_with_its_lease_in_any_phase(tmp_path: Path, phase: str) -> None:
    suite = fleet_host.suite(
        tmp_path, rw="randwrite", runtime="3s" if phase == "progress" else "50ms", steps=40
    )
    wanted = fleet_host.request(suite, tmp_path / "disk", waits=phase == "waiting")
    running = Running(wanted, tmp_path / "review")
    running.until(phase, lambda event: phase != "progress" or " in, " in event.text)
    running.end_lease()
    end = running.end()
    assert end.outcome is HostOutcome.INTERRUPTED
    assert "its lease ended" in end.text
    assert is_free(tmp_path / "disk", tmp_path)


@pytest.mark.slow
def test_a_lease_that_ended_before_the_process_began(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), tmp_path / "disk")
    running = Running(wanted, tmp_path / "review", seconds=0)
    assert running.end().outcome is HostOutcome.INTERRUPTED
    assert not (tmp_path / "review").exists()


@pytest.mark.slow
def test_a_process_that_begins_late_reads_what_the_host_has_said_meanwhile(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, steps=1), "model:p4800x")
    order = Order(
        request=wanted, lease=fleet_host.lease(wanted), directory=str(tmp_path / "review"), until_boot_ns=0
    )
    renewal = Command(kind="renew", until_boot_ns=boot_ns() + 10**12)
    command = [sys.executable, "-P", "-m", "iogauge.fleet.host.child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{order.model_dump_json()}\n{renewal.model_dump_json()}\n".encode())
        process.stdin.flush()
        *_, last = process.stdout
        process.stdin.close()
    assert HostEvent.model_validate_json(last).outcome is HostOutcome.DONE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("begun", signal.SIGKILL),
        ("waiting", signal.SIGKILL),
        ("step_end", signal.SIGKILL),
        ("waiting", signal.SIGSTOP),
        ("step_end", signal.SIGSTOP),
    ],
)
def test_a_review_ends_without_its_parent(tmp_path: Path, phase: str, number: signal.Signals) -> None:
    suite = fleet_host.suite(tmp_path, rw="randwrite", steps=400)
    wanted = fleet_host.request(suite, tmp_path / "disk", waits=phase == "waiting")
    # Only the lease notices a parent that is stopped. One that is killed is noticed at once.
    lease_ns = "3000000000" if number == signal.SIGSTOP else "300000000000"
    command = [
        sys.executable,
        "-c",
        SPAWN,
        wanted.model_dump_json(),
        str(tmp_path / "review"),
        phase,
        lease_ns,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            parent.send_signal(number)
            fleet_host.gone(child)
            assert is_free(tmp_path / "disk", tmp_path)
        finally:
            parent.kill()


@pytest.mark.slow
def test_a_review_that_is_killed_leaves_its_drive(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, rw="randwrite", steps=400), tmp_path / "disk")
    running = Running(wanted, tmp_path / "review")
    running.until("step_end")
    os.kill(running.process.pid, signal.SIGKILL)
    end = running.end()
    assert (end.outcome, end.text) == (HostOutcome.INTERRUPTED, "its process was killed by SIGKILL")
    assert is_free(tmp_path / "disk", tmp_path)


@pytest.mark.slow
def test_a_drive_in_use_is_refused(tmp_path: Path) -> None:
    suite = fleet_host.suite(tmp_path, rw="randwrite", steps=1)
    first = Running(fleet_host.request(suite, tmp_path / "disk", waits=True), tmp_path / "first")
    first.until("waiting")
    second = Running(fleet_host.request(suite, tmp_path / "disk"), tmp_path / "second")
    end = second.end()
    assert end.outcome is HostOutcome.REFUSED
    assert "is using its drive: host a of fleet" in end.text
    assert end.in_use
    assert end.hint
    assert not (tmp_path / "second").exists()
    first.process.tell(Command(kind="stop"))
    assert first.end().outcome is HostOutcome.INTERRUPTED
    assert is_free(tmp_path / "disk", tmp_path)


@pytest.mark.slow
def test_a_lease_for_another_drive_is_refused(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), tmp_path / "disk")
    end = Running(wanted, tmp_path / "review", drives=("serial 1",)).end()
    assert end.outcome is HostOutcome.REFUSED
    assert "the lease is not for this drive" in end.text
    assert not end.in_use


@pytest.mark.slow
def test_a_target_is_refused_as_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"x" * (2 << 20))
    wanted = fleet_host.request(fleet_host.suite(tmp_path, rw="randwrite"), tmp_path / "precious")
    end = Running(wanted, tmp_path / "review").end()
    assert end.outcome is HostOutcome.REFUSED
    assert "precious" in end.text
    assert end.hint
    assert (tmp_path / "precious").read_bytes() == b"x" * (2 << 20)


@pytest.mark.slow
def test_a_review_that_only_reads_goes_on_if_it_is_to(tmp_path: Path) -> None:
    suite = fleet_host.suite(tmp_path, steps=3)
    wanted = fleet_host.request(suite, tmp_path / "disk", waits=True, reads_go_on=True)
    running = Running(wanted, tmp_path / "review")
    running.until("waiting")
    running.end_lease()
    assert running.end().outcome is HostOutcome.DONE
    assert any("goes on by itself" in event.text for event in running.events)
    assert len(Review.open(tmp_path / "review").completed()) == 3


@pytest.mark.slow
def test_a_review_that_writes_never_goes_on(tmp_path: Path) -> None:
    suite = fleet_host.suite(tmp_path, rw="randwrite")
    wanted = fleet_host.request(suite, tmp_path / "disk", waits=True, reads_go_on=True)
    running = Running(wanted, tmp_path / "review")
    running.until("waiting")
    running.end_lease()
    assert running.end().outcome is HostOutcome.INTERRUPTED


@pytest.mark.slow
def test_renewals_and_a_stop_reach_it(tmp_path: Path) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), "model:p4800x", waits=True)
    running = Running(wanted, tmp_path / "review")
    running.process.tell(Command(kind="renew", until_boot_ns=boot_ns() + 10**12))
    running.until("waiting")
    running.process.tell(Command(kind="stop"))
    end = running.end()
    assert (end.outcome, end.text.split(";")[0]) == (HostOutcome.INTERRUPTED, "it was stopped")
    last = [event for event in running.events if event.kind == "step_end"][-1]
    assert not last.complete
