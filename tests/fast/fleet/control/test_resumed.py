"""A fleet that is resumed, and what must not happen while hosts measure."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.control.barrier import Barrier
from iogauge.fleet.control.clocks import Clocks
from iogauge.fleet.control.controller import Controller
from iogauge.fleet.control.host_run import HostRun, Phase
from iogauge.fleet.host.messages import HostEvent, HostRequest, Lease, PlannedStep
from iogauge.fleet.progress import FleetProgress
from iogauge.schema.fleet import ClockBatch, FleetMode, HostOutcome
from iogauge.store.fleet import FleetStore
from tests.fast.fleet.control.fake_hosts import IMPATIENT, FakeHost, FakeLink, manifest_of
from tests.fast.fleet.control.test_session import copied, held, outcomes, short_lead, started

__all__ = ["short_lead"]


def interrupted(path: Path, hosts: list[FakeHost]) -> FleetStore:
    """Lose the second host during its second step."""
    store = held(path, hosts, lambda host, *_: "lost" if host == "y" and len(started(hosts[1])) == 2 else "")
    assert outcomes(store)["y"] == "lost"
    return store


def test_what_was_fetched_stays_when_a_host_has_lost_it(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    store = interrupted(tmp_path / "fleet", hosts)
    before = copied(store, hosts[1])
    assert "steps/one/record.json" in before
    hosts[1].saved.clear()
    store = held(tmp_path / "fleet", hosts)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert copied(store, hosts[1]) == hosts[1].saved
    kept = store.path / "before/y-1"
    assert {str(file.relative_to(kept)): file.read_bytes() for file in kept.rglob("*.*")} == before
    assert any("before/y-1" in event.text for event in store.events() if event.host == "y")


def test_clocks_of_before_a_boot_are_not_used(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    hosts[1].error_ns = -500_000_000_000_000  # it was started again
    resumed = len(started(hosts[1]))
    store = held(tmp_path / "fleet", hosts)
    truth = dict(started(hosts[1])[resumed:])
    late = [start for start in store.starts() if start.host == "y" and start.step in truth]
    assert late
    for start in late[-len(truth) :]:
        assert start.achieved_ns is not None
        assert abs(truth[start.step] - start.achieved_ns) <= start.bound_ns < 1_000_000_000


def test_progress_counts_what_was_complete_before(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    news: list[FleetProgress] = []
    held(tmp_path / "fleet", hosts, news=news)
    complete = [state.steps_done for state in news if state.steps and state.running]
    assert complete[0] > 0


def test_a_drive_in_use_is_tried_again_and_another_refusal_is_not(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    hosts[1].in_use = 1
    store = held(tmp_path / "fleet", hosts)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert sum(kind == "leased" for kind, _, _ in hosts[1].log) == 3


class Slow:
    """A controller whose turns a test takes; its hosts are at their first steps."""

    def __init__(self, path: Path) -> None:
        manifest = manifest_of(["x", "y"], mode=FleetMode.TOGETHER)
        self.hosts = []
        self.links = []
        self._calls: list[tuple[str, str]] = []
        batches = []
        for name in ("x", "y"):
            request = HostRequest(fleet_id="f1", host=name, targets=("model:p4800x",), seed=1)
            lease = Lease(id=name, fleet_id="f1", host=name, drives=(), generation=1, seconds=9)
            link = FakeLink(FakeHost(name), self._hang)
            self.links.append(link)
            self.hosts.append(HostRun(name, link, request, lease, renewed_at=100.0))
            batches.append(
                ClockBatch(host=name, phase="before", at_ns=0, offset_ns=0, bound_ns=1, exchanges=20)
            )
        self.controller = Controller(
            FleetStore.create(path, manifest), self.hosts, clocks=Clocks(batches), patience=IMPATIENT
        )
        self.barrier: Barrier = self.controller._barrier

    def _hang(self, host: str, method: str, _: int) -> str:
        self._calls.append((host, method))
        return "hang"

    def methods(self, host: str) -> list[str]:
        """Return the methods of a host that were called."""
        return [method for name, method in self._calls if name == host]

    def happens(self, host: int, kind: str, **fields: object) -> None:
        """Handle an event of a host."""
        event = HostEvent.model_validate({"kind": kind, "at_ns": 0, **fields})
        self.controller._happened(self.hosts[host], event)


def test_a_lost_host_that_may_still_measure_holds_the_next_step(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "fleet")
    slow.happens(0, "waiting", step="two")
    slow.controller._lose(slow.hosts[1], "it is gone")
    assert slow.barrier.is_full
    ends = 100.0 + IMPATIENT.lease_s + IMPATIENT.end_s
    slow.controller._release(ends - 0.01)
    assert slow.barrier.is_full
    slow.controller._release(ends)
    slow.controller._release(ends + IMPATIENT.silent_s)
    assert not slow.barrier.is_full


@pytest.mark.parametrize("waits", [False, True])
def test_a_lost_host_that_goes_on_reading_holds_nothing_and_is_warned_of(tmp_path: Path, waits: bool) -> None:
    """It starts its next step by itself, even if it waited for the others."""
    slow = Slow(tmp_path / "fleet")
    slow.hosts[1].goes_on = True
    slow.happens(0, "waiting", step="two")
    if waits:
        slow.happens(1, "waiting", step="two")
    slow.controller._lose(slow.hosts[1], "it is gone")
    slow.controller._release(1.0)
    slow.controller._release(1.0 + IMPATIENT.silent_s)
    assert not slow.barrier.is_full
    events = FleetStore.open(tmp_path / "fleet").events()
    assert [(event.kind, event.host) for event in events] == [("warning", "y"), ("lost", "y")]
    assert "later steps of other hosts may contain its load" in events[0].text
    assert slow.methods("y") == []


def test_a_host_whose_process_ended_is_lost_at_once_and_holds_the_next_step_for_a_while(
    tmp_path: Path,
) -> None:
    slow = Slow(tmp_path / "fleet")
    slow.happens(0, "waiting", step="two")
    now = slow.hosts[1].renewed_at
    slow.links[1].has_ended = True
    slow.controller._do_due(slow.hosts[1], now)
    assert (slow.hosts[1].outcome, slow.hosts[1].why) == (HostOutcome.LOST, "its process ended")
    slow.controller._release(now)
    slow.controller._release(now + IMPATIENT.end_s - 0.01)
    assert slow.barrier.is_full
    # Its review noticed; nobody waits for the end of its lease.
    slow.controller._release(now + IMPATIENT.end_s)
    slow.controller._release(now + IMPATIENT.end_s + IMPATIENT.silent_s)
    assert not slow.barrier.is_full


def test_a_step_that_waits_for_a_lost_host_says_so_once(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "fleet")
    slow.happens(0, "waiting", step="two")
    slow.controller._lose(slow.hosts[1], "it is gone")
    for _ in range(3):
        slow.controller._release(100.0)
    said = [event.text for event in FleetStore.open(tmp_path / "fleet").events() if event.kind == "message"]
    assert said == ["the next step waits at most 1 s until the load of y has ended"]


def test_a_host_that_was_fetched_and_is_gone_then_keeps_its_outcome(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "fleet")
    slow.happens(1, "end", outcome="done")
    slow.hosts[1].fetch_at = None
    slow.links[1].has_ended = True
    slow.controller._do_due(slow.hosts[1], 100.0)
    assert (slow.hosts[1].phase, slow.hosts[1].outcome) == (Phase.CLOSED, HostOutcome.DONE)


def test_what_a_killed_controller_has_left_is_waited_for(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    hosts[1].still_running = 3
    news: list[FleetProgress] = []
    store = held(tmp_path / "fleet", hosts, news=news)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert hosts[1].still_running == 0
    waits = [state.event.text for state in news if state.event and "waits at most" in state.event.text]
    assert waits == ["waits at most 1 s until the earlier review of y has ended"]


def test_what_does_not_end_after_its_lease_refuses(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    hosts[1].still_running = 1_000_000
    with pytest.raises(IogaugeError, match="y: its earlier review still runs"):
        held(tmp_path / "fleet", hosts)


def test_a_host_that_falls_silent_holds_no_resumed_fleet(tmp_path: Path) -> None:
    """It is asked again since its earlier review still runs; only its first answer may take long."""
    hosts = [FakeHost("x"), FakeHost("y")]
    interrupted(tmp_path / "fleet", hosts)
    hosts[1].still_running = 1_000_000
    looks: list[str] = []

    def fault(host: str, method: str, _: int) -> str:
        looks.extend([host] if method == "preflight" else [])
        return "hang" if looks.count("y") > 1 and (host, method) == ("y", "preflight") else ""

    with pytest.raises(IogaugeError, match="y: it did not answer for"):
        held(tmp_path / "fleet", hosts, fault, patience=replace(IMPATIENT, preflight_s=100_000))


def test_a_lost_host_that_waited_holds_nothing(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "fleet")
    slow.happens(0, "waiting", step="two")
    slow.happens(1, "waiting", step="two")
    slow.controller._lose(slow.hosts[1], "it is gone")
    slow.controller._release(1.0)
    slow.controller._release(1.0 + IMPATIENT.silent_s)
    assert not slow.barrier.is_full


@pytest.mark.parametrize("fetches", [True, False])
def test_files_are_fetched_before_the_next_step(tmp_path: Path, fetches: bool) -> None:
    slow = Slow(tmp_path / "fleet")
    for host in (0, 1):
        slow.happens(host, "waiting", step="two")
    slow.hosts[1].fetches = fetches
    now = time.monotonic()
    slow.controller._release(now)
    slow.controller._release(now)
    assert slow.barrier.is_full is fetches
    slow.controller._release(now + IMPATIENT.silent_s)  # a host that is too slow holds nobody for ever
    assert not slow.barrier.is_full


def test_steps_that_were_complete_before_are_known(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "fleet")
    steps = [
        PlannedStep(id=step, label=step, expected_s=1, complete=step == "one") for step in ("one", "two")
    ]
    slow.happens(0, "planned", steps=steps)
    assert slow.hosts[0].completed == {"one"}
