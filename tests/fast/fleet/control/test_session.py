"""A session of a fleet on hosts without processes, whatever fails."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.control.patience import Patience
from iogauge.fleet.control.preflight import Preflight
from iogauge.fleet.control.session import OnPreflight, Session, run_session
from iogauge.fleet.control.unreached import UnreachedLink
from iogauge.fleet.host.messages import HostRequest, Refusal
from iogauge.fleet.progress import FleetProgress
from iogauge.library.errors import Interrupted
from iogauge.schema.fleet import FleetManifest, FleetMode, HostOutcome
from iogauge.store.fleet import FleetStore
from tests.fast.fleet.control.fake_hosts import (
    IMPATIENT,
    STEPS,
    FakeHost,
    FakeLink,
    Fault,
    Killed,
    manifest_of,
    no_fault,
)


@pytest.fixture(autouse=True)
def short_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iogauge.fleet.control.controller.LEAD_NS", 1_000_000)


def held(
    path: Path,
    hosts: list[FakeHost],
    fault: Fault = no_fault,
    *,
    mode: FleetMode = FleetMode.TOGETHER,
    stagger_ns: int = 0,
    shared: bool = False,
    reads_go_on: bool = False,
    on_preflight: OnPreflight | None = None,
    news: list[FleetProgress] | None = None,
    patience: Patience = IMPATIENT,
) -> FleetStore:
    """Hold a session, the first one or another one of the fleet at ``path``."""
    if (path / "fleet.json").exists():
        store = FleetStore.open(path)
        manifest = store.manifest
        stored = partial(_continued, store)
    else:
        manifest = manifest_of([host.name for host in hosts], mode=mode, stagger_ns=stagger_ns)
        stored = partial(FleetStore.create, path)
    count = itertools.count()
    missing = {host.name for host in manifest.hosts if host.outcome is not HostOutcome.DONE}
    for host in hosts:
        host.connect()
    links = [FakeLink(host, fault, count=count) for host in hosts if host.name in missing]
    requests = {
        name: HostRequest(
            fleet_id="f1",
            host=name,
            targets=("model:p4800x",),
            seed=1,
            waits=manifest.mode is not FleetMode.INDEPENDENT,
            reads_go_on=reads_go_on,
        )
        for name in missing
    }
    session = Session(
        manifest=manifest,
        requests=requests,
        stored=stored,
        shared=shared,
        on_preflight=on_preflight,
        on_progress=(news if news is not None else []).append,
        patience=patience,
    )
    return run_session(session, links)


def _continued(store: FleetStore, manifest: FleetManifest) -> FleetStore:
    store.save_manifest(manifest)
    return store


def outcomes(store: FleetStore) -> dict[str, str]:
    return {host.name: host.outcome.value for host in FleetStore.open(store.path).manifest.hosts}


def copied(store: FleetStore, host: FakeHost) -> dict[str, bytes]:
    directory = store.host_directory(host.name)
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def started(host: FakeHost) -> list[tuple[str, int]]:
    return [(what, at_ns) for kind, what, at_ns in host.log if kind == "started"]


def test_hosts_start_together_by_wrong_clocks(tmp_path: Path) -> None:
    hosts = [FakeHost("x", error_ns=50_000_000), FakeHost("y", error_ns=-50_000_000), FakeHost("z")]
    store = held(tmp_path / "fleet", hosts)
    assert outcomes(store) == {"x": "done", "y": "done", "z": "done"}
    assert [[step for step, _ in started(host)] for host in hosts] == [list(STEPS)] * 3
    starts = {(start.host, start.step): start for start in store.starts()}
    assert len(starts) == 9
    for step in STEPS:
        assert len({starts[name, step].planned_ns for name in "xyz"}) == 1
        for host in hosts:
            start = starts[host.name, step]
            truth_ns = dict(started(host))[step]  # by the controller's clock
            # The offset was wrong by its bound at most when the start was sent, and is now.
            assert start.achieved_ns is not None
            assert abs(truth_ns - start.achieved_ns) <= start.bound_ns
            assert abs(truth_ns - start.planned_ns) < 10_000_000
    assert all(copied(store, host) == host.saved for host in hosts)
    phases = {batch.host: set() for batch in store.clock()}
    for batch in store.clock():
        phases[batch.host].add(batch.phase)
    assert all(seen == {"before", "during", "after"} for seen in phases.values())


def test_staggered_hosts_start_after_each_other(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    store = held(tmp_path / "fleet", hosts, mode=FleetMode.STAGGERED, stagger_ns=7_000_000)
    planned = {(start.host, start.step): start.planned_ns for start in store.starts()}
    assert [planned["y", step] - planned["x", step] for step in STEPS] == [7_000_000] * 3


def test_independent_hosts_wait_for_nobody(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    store = held(tmp_path / "fleet", hosts, mode=FleetMode.INDEPENDENT)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert store.starts() == ()


def test_a_clock_that_is_compared_while_a_review_ends_is_compared_again(tmp_path: Path) -> None:
    host = FakeHost("x")
    fetches = threading.Event()

    def fault(_: str, method: str, calls: int) -> str:
        if method == "files":
            fetches.set()
        elif (
            method == "exchange"
            and host.saved
            and threading.current_thread().name.startswith("iogauge-clock")
        ):
            assert fetches.wait(60)  # the controller knows that the review has ended
        return ""

    compares_always = replace(IMPATIENT, clock_s=0, silent_s=60, lost_s=60)
    store = held(tmp_path / "fleet", [host], fault, mode=FleetMode.INDEPENDENT, patience=compares_always)
    assert [batch.phase for batch in store.clock()][1:] == ["during", "after"]


def test_a_host_whose_connection_breaks_is_lost(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]

    def fault(host: str, method: str, calls: int) -> str:
        return "lost" if host == "y" and len(started(hosts[1])) == 2 else ""

    store = held(tmp_path / "fleet", hosts, fault)
    assert outcomes(store) == {"x": "done", "y": "lost"}
    assert copied(store, hosts[0]) == hosts[0].saved
    assert [event.host for event in store.events() if event.kind == "lost"] == ["y"]
    # The lost host is continued with another lease.
    store = held(tmp_path / "fleet", hosts)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert copied(store, hosts[1]) == hosts[1].saved
    assert [generation for kind, _, generation in hosts[1].log if kind == "leased"] == [1, 2]
    assert [generation for kind, _, generation in hosts[0].log if kind == "leased"] == [1]


@pytest.mark.parametrize("method", ["begin", "events", "start", "files", "read", "checksum"])
def test_a_host_that_hangs_is_lost(tmp_path: Path, method: str) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    store = held(
        tmp_path / "fleet", hosts, lambda host, called, _: "hang" if (host, called) == ("y", method) else ""
    )
    assert outcomes(store) == {"x": "done", "y": "lost"}
    assert held(tmp_path / "fleet", hosts).manifest.host("y").outcome is HostOutcome.DONE


def test_single_lost_calls_do_no_harm(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    seen: set[str] = set()

    def fault(host: str, method: str, calls: int) -> str:
        if host == "x" and method in ("events", "start", "files", "read") and method not in seen:
            seen.add(method)
            return "lost"
        return ""

    store = held(tmp_path / "fleet", hosts, fault)
    assert outcomes(store) == {"x": "done", "y": "done"}
    assert copied(store, hosts[0]) == hosts[0].saved
    assert seen >= {"events", "start", "files"}


def test_a_host_that_hangs_while_it_begins_is_lost(tmp_path: Path) -> None:
    """The answer to its first call may take minutes, and heartbeats none."""
    hosts = [FakeHost("x"), FakeHost("y")]
    hangs: list[str] = []

    def fault(host: str, method: str, calls: int) -> str:
        if host == "y" and (method == "begin" or hangs):
            hangs.append(method)
            return "hang"
        return ""

    store = held(tmp_path / "fleet", hosts, fault, patience=replace(IMPATIENT, preflight_s=100_000))
    assert outcomes(store) == {"x": "done", "y": "lost"}
    assert "exchange" in hangs


@pytest.mark.parametrize(("reads_go_on", "only_reads"), [(True, True), (True, False), (False, True)])
def test_only_a_host_that_goes_on_reading_is_not_stopped(
    tmp_path: Path, reads_go_on: bool, only_reads: bool
) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    hosts[1].only_reads = only_reads
    stopped: list[str] = []

    def fault(host: str, method: str, _: int) -> str:
        if method == "stop":
            stopped.append(host)
        return "lost" if host == "y" and len(started(hosts[1])) == 2 else ""

    store = held(tmp_path / "fleet", hosts, fault, reads_go_on=reads_go_on)
    assert outcomes(store) == {"x": "done", "y": "lost"}
    goes_on = reads_go_on and only_reads
    assert stopped == ([] if goes_on else ["y"])
    assert [event.host for event in store.events() if event.kind == "warning"] == ["y"] * goes_on


def test_a_host_that_refuses_ends_it_before_it_begins(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    hosts[1].refused = (Refusal(text="/dev/sdb is mounted", hint="unmount it"),)
    with pytest.raises(IogaugeError, match="y: /dev/sdb is mounted") as refused:
        held(tmp_path / "fleet", hosts)
    assert refused.value.hint == "unmount it"
    assert not (tmp_path / "fleet").exists()
    assert hosts[0].log == []


def test_a_host_whose_clock_cannot_be_compared_refuses(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    with pytest.raises(IogaugeError, match="y: its clock cannot be compared"):
        held(
            tmp_path / "fleet",
            hosts,
            lambda host, method, _: "hang" if (host, method) == ("y", "exchange") else "",
        )
    assert not (tmp_path / "fleet").exists()
    assert hosts[0].log == []


def test_whoever_is_asked_can_leave_out_hosts_that_refuse(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y"), FakeHost("z")]
    hosts[1].refused = (Refusal(text="/dev/sdb is mounted"),)
    looks: list[Preflight] = []

    def look(checked: Preflight) -> bool:
        looks.append(checked)
        return True

    store = held(tmp_path / "fleet", hosts, on_preflight=look)
    assert looks[0].ready == ("x", "z")
    assert outcomes(store) == {"x": "done", "y": "refused", "z": "done"}
    with pytest.raises(Interrupted):
        held(tmp_path / "other", [FakeHost("x")], on_preflight=lambda _: False)
    assert not (tmp_path / "other").exists()


def test_ctrl_c_ends_all_hosts_and_saves_what_they_have(tmp_path: Path) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    for host in hosts:
        host.stops_at = "two"

    def interrupt(news: FleetProgress) -> None:
        if all(len(started(host)) == 2 for host in hosts) and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    pressed = threading.Event()

    class News(list[FleetProgress]):
        append = staticmethod(interrupt)  # type: ignore[assignment]

    with pytest.raises(Interrupted) as interrupted:
        held(tmp_path / "fleet", hosts, news=News())
    assert interrupted.value.path == tmp_path / "fleet"
    store = FleetStore.open(tmp_path / "fleet")
    assert outcomes(store) == {"x": "interrupted", "y": "interrupted"}
    assert all(copied(store, host) == host.saved for host in hosts)
    for host in hosts:
        host.stops_at = ""
    assert outcomes(held(tmp_path / "fleet", hosts)) == {"x": "done", "y": "done"}


def kill_at(number: int) -> Fault:
    return lambda host, method, calls: "killed" if calls >= number else ""


@pytest.mark.parametrize("number", [*range(0, 120, 7), *range(120, 400, 41)])
def test_a_controller_killed_at_any_call_is_resumed(tmp_path: Path, number: int) -> None:
    hosts = [FakeHost("x"), FakeHost("y")]
    path = tmp_path / "fleet"
    try:
        store = held(path, hosts, kill_at(number))
    except Killed:
        store = held(path, hosts)
    assert outcomes(store) == {"x": "done", "y": "done"}
    for host in hosts:
        assert copied(store, host) == host.saved
        steps = [step for step, _ in started(host)]
        assert steps == list(STEPS), "a step ran twice, or never"
        leases = [generation for kind, _, generation in host.log if kind == "leased"]
        assert leases == sorted(set(leases))


def test_a_full_disk_of_the_controller_stops_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [FakeHost("x")]
    hosts[0].stops_at = "two"

    def full(store: FleetStore, *lines: object) -> None:
        if started(hosts[0]):
            raise IogaugeError("no space left", hint="free some")
        real(store, *lines)  # type: ignore[arg-type]

    real = FleetStore.append
    monkeypatch.setattr(FleetStore, "append", full)
    with pytest.raises(IogaugeError, match="no space"):
        held(tmp_path / "fleet", hosts)
    assert hosts[0].events(0)[-1].outcome is HostOutcome.INTERRUPTED


def test_a_signal_that_comes_twice_at_once_is_one(tmp_path: Path) -> None:
    """``timeout`` signals its command, and then its group."""
    host = FakeHost("x")
    host.stops_at = "two"
    pressed: list[int] = []

    class News(list[FleetProgress]):
        def append(self, news: FleetProgress) -> None:
            if news.event is None and len(started(host)) == 2 and len(pressed) < 2:
                pressed.append(1)
                raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        held(tmp_path / "fleet", [host], news=News())
    assert len(pressed) == 2
    store = FleetStore.open(tmp_path / "fleet")
    assert store.manifest.host("x").why == "it was stopped"
    assert "stopping all hosts" in [event.text for event in store.events()]


def test_a_host_that_was_not_reached_is_left_out_if_the_user_says_so(tmp_path: Path) -> None:
    host = FakeHost("x")
    links = [FakeLink(host), UnreachedLink("y", IogaugeError("no ssh connection", hint="mend it"))]
    session = Session(
        manifest=manifest_of(["x", "y"]),
        requests={
            name: HostRequest(fleet_id="f1", host=name, targets=("model:p4800x",), seed=1) for name in "xy"
        },
        stored=partial(FleetStore.create, tmp_path / "fleet"),
        patience=IMPATIENT,
    )
    with pytest.raises(IogaugeError, match="y: no ssh connection"):
        run_session(session, links)
    nobody = [UnreachedLink(name, IogaugeError("no ssh connection", hint="mend it")) for name in "xy"]
    with pytest.raises(IogaugeError, match="x: no ssh connection; 1 other host refuses"):
        run_session(replace(session, on_preflight=lambda _: True), nobody)
    assert not (tmp_path / "fleet").exists()
    store = run_session(replace(session, on_preflight=lambda _: True), links)
    assert outcomes(store) == {"x": "done", "y": "refused"}
    assert store.manifest.host("y").why == "no ssh connection"
