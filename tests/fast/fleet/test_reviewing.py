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
from iogauge.fleet.control.patience import Patience, patience_on_one_computer
from iogauge.fleet.control.preflight import Preflight
from iogauge.fleet.dask.cluster import host_name
from iogauge.fleet.hosts import HostEntry
from iogauge.schema.fleet import FleetHost, FleetManifest, HostOutcome, Reach
from iogauge.store.fleet import FleetStore
from tests.fast.fleet.control.fake_hosts import IMPATIENT, FakeHost, FakeLink


class Hosts:
    """Stands for all ways to reach hosts; ``names`` of those that are there."""

    def __init__(self, *names: str) -> None:
        self.hosts = {name: FakeHost(name) for name in names}
        self.reached = 0
        self.listed: Sequence[HostEntry] = ()

    @contextmanager
    def __call__(self, *_: Any, listed: Sequence[HostEntry] = (), **__: Any) -> Iterator[Sequence[FakeLink]]:
        self.reached += 1
        self.listed = listed
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


def test_a_host_of_this_computer_that_hangs_is_named_within_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If it is not crowded. The first call that shows it is at most a renewal later, and a look at it a moment."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(8)})
    patience = patience_on_one_computer(4)
    assert patience.silent_s + patience.renew_s + patience.poll_s < 10
    assert patience.lease_s > patience.silent_s
    assert patience_on_one_computer(80).silent_s == 5 * patience.silent_s / 1.6


def test_a_resumed_fleet_is_as_patient_as_it_was(
    tmp_path: Path, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host is missing; what it left running has a lease for a computer that all hosts crowd."""
    numbers: list[int] = []

    def patience(number: int) -> Patience:
        numbers.append(number)
        return IMPATIENT

    monkeypatch.setattr(reviewing, "patience_on_one_computer", patience)
    del hosts.hosts["r2"]
    iogauge.fleet.review(resume=saved(tmp_path / "fleet", reach=Reach.LOCAL).path)
    assert numbers == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"local": 2, "targets": ()}, "local1: it has no target"),
        ({"local": 2, "destroy": "foo"}, "names no host and its drive"),
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


def test_what_may_be_destroyed_on_a_schedulers_hosts_is_checked_before_anything_is_written(
    tmp_path: Path, hosts: Hosts
) -> None:
    """Its hosts have no names before it is asked."""
    options = {"targets": "model:p4800x", "output": tmp_path / "fleet", "scheduler": "tls://127.0.0.1:1"}
    with pytest.raises(UsageError, match="the fleet has no host r3, so nothing was begun") as refused:
        iogauge.fleet.review(destroy="r3:S1", **options)
    assert refused.value.hint == "its hosts are r1, r2"
    assert hosts.reached == 1
    assert [*tmp_path.iterdir()] == []
    assert all(host.log == [] for host in hosts.hosts.values())


def test_a_file_lists_which_workers_of_a_scheduler_are_hosts(tmp_path: Path, hosts: Hosts) -> None:
    listed = tmp_path / "hosts.toml"
    listed.write_text(
        """
        [[host]]
        name = "r1"
        targets = ["model:p4800x", "model:p5510"]
        labels = { zone = "a" }
        slots = { "model:p4800x" = "bay 1", "model:p5510" = "bay 2" }
        """
    )
    del hosts.hosts["r2"]  # the fake ways to hosts choose none
    where = {"scheduler": "tls://127.0.0.1:1", "hosts": listed}
    fleet = iogauge.fleet.review(output=tmp_path / "fleet", **where)
    (host,) = fleet.hosts
    assert (host.name, host.labels, host.slots["model:p5510"]) == ("r1", {"zone": "a"}, "bay 2")
    assert fleet.manifest.reach is Reach.SCHEDULER
    assert [entry.name for entry in hosts.listed] == ["r1"]
    with pytest.raises(UsageError, match="the fleet has no host r2"):
        iogauge.fleet.review(output=tmp_path / "other", destroy="r2:S1", **where)
    assert hosts.reached == 1


def test_a_scheduler_without_tls_is_warned_of_before_the_fleet_begins(tmp_path: Path, hosts: Hosts) -> None:
    said: list[str] = []
    checks: list[Preflight] = []

    def before(checked: Preflight) -> bool:
        checks.append(checked)
        return True

    options = {"targets": "model:p4800x", "scheduler": "tcp://127.0.0.1:1"}
    iogauge.fleet.review(output=tmp_path / "x", on_progress=lambda news: said.append(str(news)), **options)
    assert any(text.startswith("warning: tcp://127.0.0.1:1 has no TLS") for text in said)
    fleet = iogauge.fleet.review(output=tmp_path / "y", on_preflight=before, **options)
    assert ["has no TLS" in text for text in checks[0].warnings] == [True]
    assert any(event.kind == "warning" for event in fleet.events)


def test_a_worker_without_a_usable_name_is_the_users_error() -> None:
    with pytest.raises(UsageError, match="'é'"):
        host_name("é")
