"""Which hosts review what."""

from __future__ import annotations

from typing import Any

import pytest

from iogauge.errors import UsageError
from iogauge.fleet.hosts import HostEntry
from iogauge.fleet.planning import planned, requests
from iogauge.schema.fleet import FleetManifest, FleetMode, Reach


def fleet(**changes: Any) -> FleetManifest:
    names = changes.pop("names", ["x", "y"])
    arguments: dict[str, Any] = {
        "entries": {},
        "targets": ["model:p4800x"],
        "mode": FleetMode.TOGETHER,
        "stagger": "0s",
        "reach": Reach.LOCAL,
        "options": {"seed": 7, "suites": "mixed"},
    }
    arguments |= changes
    return planned(names, arguments.pop("entries"), arguments.pop("targets"), **arguments)


@pytest.mark.parametrize("mode", FleetMode)
def test_each_host_has_requests_of_its_own_that_follow_from_the_fleets_seed(mode: FleetMode) -> None:
    changes = {"stagger": "3s"} if mode is FleetMode.STAGGERED else {}
    manifest = fleet(mode=mode, **changes)
    seeds = [host.seed for host in manifest.hosts]
    assert len({*seeds, manifest.seed}) == 3
    assert seeds == [host.seed for host in fleet(mode=mode, **changes).hosts]
    # Whichever hosts a fleet has, a host has its seed.
    assert fleet(mode=mode, names=["y"], **changes).hosts[0].seed == seeds[1]


def test_hosts_that_start_together_have_their_steps_in_one_order() -> None:
    wanted = requests(fleet(), ["x", "y"], [])
    assert {request.order_seed for request in wanted.values()} == {7}
    assert len({request.seed for request in wanted.values()}) == 2
    alone = requests(fleet(mode=FleetMode.INDEPENDENT), ["x", "y"], [])
    assert {request.order_seed for request in alone.values()} == {None}


def test_each_drive_has_its_slot() -> None:
    entry = HostEntry(
        name="y",
        targets=("/dev/sda", "/data/{host}.bin"),
        slots={"/dev/sda": "bay 1", "/data/{host}.bin": "bay 2"},
    )
    (host,) = fleet(names=["y"], entries={"y": entry}, reach=Reach.SCHEDULER).hosts
    assert host.slots == {"/dev/sda": "bay 1", "/data/y.bin": "bay 2"}
    assert host.address == ""
    with pytest.raises(UsageError, match="y: a slot is named for /dev/sdb, which is no target"):
        fleet(names=["y"], entries={"y": entry.model_copy(update={"slots": {"/dev/sdb": "bay 1"}})})


def test_the_hosts_file_names_other_targets() -> None:
    entries = {"y": HostEntry(name="y", address="192.0.2.1", targets=("/dev/sdb",), labels={"zone": "b"})}
    hosts = fleet(entries=entries, targets=["/data/{host}.bin"], reach=Reach.SSH).hosts
    assert [host.targets for host in hosts] == [("/data/x.bin",), ("/dev/sdb",)]
    assert hosts[1].labels == {"zone": "b"}
    assert hosts[1].address == "192.0.2.1"


def test_relative_paths_are_for_this_computer_only() -> None:
    assert fleet(targets=["disk.bin"]).hosts[0].targets[0].startswith("/")
    with pytest.raises(UsageError, match=r"disk\.bin"):
        fleet(targets=["disk.bin"], reach=Reach.SSH)


def test_only_staggered_hosts_have_a_stagger() -> None:
    assert fleet(mode=FleetMode.STAGGERED, stagger="1.5").stagger_ns == 1_500_000_000
    with pytest.raises(UsageError, match="only for hosts that are staggered"):
        fleet(stagger="3s")
    with pytest.raises(UsageError):
        fleet(mode=FleetMode.STAGGERED, stagger="0s")


def test_each_host_may_destroy_what_is_named_for_it() -> None:
    wanted = requests(fleet(), ["x", "y"], ["y:S1", "y:/dev/by:path"])
    assert (wanted["x"].destroy, wanted["y"].destroy) == ((), ("S1", "/dev/by:path"))
    for text in ("S1", "y:"):
        with pytest.raises(UsageError, match="names no host and its drive, so nothing was begun"):
            requests(fleet(), ["x"], [text])
    with pytest.raises(UsageError, match="the fleet has no host z, so nothing was begun") as refused:
        requests(fleet(), ["x"], ["z:S1"])
    assert refused.value.hint == "its hosts are x, y"


def test_a_meter_is_never_stored() -> None:
    manifest = fleet(options={"seed": 7, "suites": ["idle-power"], "meter": "cat /dev/zero"})
    assert "meter" not in manifest.model_dump_json()
    assert requests(manifest, ["x"], [])["x"].options == {"suites": ["idle-power"]}
    assert requests(manifest, ["x"], [], meter="watts")["x"].options["meter"] == "watts"


def test_reads_go_on_if_told_so() -> None:
    manifest = fleet()
    stored = requests(manifest, ["x"], [], reads_go_on=True)["x"]
    assert (stored.reads_go_on, requests(manifest, ["x"], [])["x"].reads_go_on) == (True, False)
