"""What is checked before a fleet begins, or goes on; by which hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import iogauge.fleet
from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet import reviewing
from iogauge.fleet.dask.cluster import host_name
from iogauge.schema.fleet import FleetHost, FleetManifest, HostOutcome, Reach
from iogauge.store.fleet import FleetStore
from tests.fast.fleet.control.fake_hosts import FakeHost, FakeLink


class Hosts:
    """Stands for all ways to reach hosts; ``names`` of those that are there."""

    def __init__(self, *names: str) -> None:
        self.hosts = {name: FakeHost(name) for name in names}
        self.reached = 0

    @contextmanager
    def __call__(self, *_: Any, **__: Any) -> Iterator[Sequence[FakeLink]]:
        self.reached += 1
        yield [FakeLink(host) for host in self.hosts.values()]


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    there = Hosts("r1", "r2")
    for name in ("local_fleet", "scheduled_fleet", "ssh_fleet"):
        monkeypatch.setattr(reviewing, name, there)
    monkeypatch.setattr("iogauge.fleet.control.controller.LEAD_NS", 1_000_000)
    return there


def saved(path: Path, *, reach: Reach = Reach.SCHEDULER, lost: str = "r1") -> FleetStore:
    """Return a saved fleet of two hosts, one of which was lost."""
    outcomes = {lost: (HostOutcome.LOST, "its disk died")}
    hosts = []
    for name in ("r1", "r2"):
        outcome, why = outcomes.get(name, (HostOutcome.DONE, ""))
        hosts.append(FleetHost(name=name, targets=("model:p4800x",), seed=1, outcome=outcome, why=why))
    manifest = FleetManifest(
        id="f1", created="2026-01-01T00:00:00+00:00", reach=reach, seed=1, hosts=tuple(hosts)
    )
    return FleetStore.create(path, manifest)


@pytest.mark.parametrize(("reach", "hint"), [(Reach.SCHEDULER, "scheduler"), (Reach.SSH, "hosts")])
def test_hosts_of_another_kind_do_not_resume(tmp_path: Path, hosts: Hosts, reach: Reach, hint: str) -> None:
    store = saved(tmp_path / "fleet", reach=reach)
    with pytest.raises(UsageError, match="must be named again") as refused:
        iogauge.fleet.review(resume=store.path)
    assert refused.value.hint is not None
    assert hint in refused.value.hint
    assert hosts.reached == 0


def test_a_scheduler_does_not_resume_hosts_of_this_computer(tmp_path: Path, hosts: Hosts) -> None:
    store = saved(tmp_path / "fleet", reach=Reach.LOCAL)
    with pytest.raises(UsageError, match="processes of this computer"):
        iogauge.fleet.review(resume=store.path, scheduler="tcp://127.0.0.1:1")


def test_a_fleet_that_another_process_writes_is_not_changed(tmp_path: Path, hosts: Hosts) -> None:
    store = saved(tmp_path / "fleet")
    before = (store.path / "fleet.json").read_bytes()
    with store.lock(), pytest.raises(IogaugeError, match="another iogauge is writing"):
        iogauge.fleet.review(resume=store.path, scheduler="tcp://127.0.0.1:1")
    assert (store.path / "fleet.json").read_bytes() == before
    assert hosts.reached == 0


def test_missing_hosts_that_are_not_there_are_named(tmp_path: Path, hosts: Hosts) -> None:
    store = saved(tmp_path / "fleet")
    del hosts.hosts["r1"]
    with pytest.raises(IogaugeError, match="none of the missing hosts is there: r1"):
        iogauge.fleet.review(resume=store.path, scheduler="tcp://127.0.0.1:1")


def test_a_fleet_is_resumed_by_the_host_that_was_lost(tmp_path: Path, hosts: Hosts) -> None:
    store = saved(tmp_path / "fleet")
    fleet = iogauge.fleet.review(resume=store.path, scheduler="tcp://127.0.0.1:1")
    assert {host.outcome for host in fleet.hosts} == {HostOutcome.DONE}
    assert hosts.hosts["r2"].log == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"local": 2, "targets": ()}, "local1: it has no target"),
        ({"local": 2, "destroy": "foo"}, "names no host of this fleet"),
        ({"local": 2, "stagger": "3s"}, "only for hosts that are staggered"),
        ({"scheduler": "tcp://127.0.0.1:1", "stagger": "3s"}, "only for hosts that are staggered"),
    ],
)
def test_an_invalid_option_is_found_before_hosts_are_started(
    tmp_path: Path, hosts: Hosts, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        iogauge.fleet.review(**{"targets": "model:p4800x", "output": tmp_path / "fleet", **options})
    assert hosts.reached == 0


def test_a_worker_without_a_usable_name_is_the_users_error() -> None:
    with pytest.raises(UsageError, match="'é'"):
        host_name("é")
