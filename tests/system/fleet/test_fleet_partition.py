"""A network that breaks between a controller and a host, and is mended: network namespaces, one of which is cut off."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from iogauge.fleet import make_keys, open_fleet
from tests.system.fleet import clusters, fleets
from tests.system.fleet.conftest import HOSTS
from tests.system.fleet.network import CONTROLLER, Network

pytestmark = pytest.mark.fleet

IOS = 36_000
"""A step of 18 s: a lease ends in it."""


def test_a_host_that_is_cut_off_is_lost_stops_and_completes_later(home: Path, network: Network) -> None:
    make_keys(home / "keys", HOSTS)
    address = f"tls://{network.address(CONTROLLER)}:8786"
    clusters.scheduler(home, address, *clusters.with_keys(home, CONTROLLER), on=network.on(CONTROLLER))

    def start(host: str) -> fleets.Command:
        keys = clusters.with_keys(home, host)
        return clusters.worker(home, address, host, *keys, on=network.on(host))

    for host in HOSTS:
        assert clusters.is_registered(start(host))
    where = ("--scheduler", address, "--keys", "keys")
    plan = fleets.plan(home, ios=IOS, depths=[1])
    on = network.on(CONTROLLER)
    fleet = fleets.review(home, *where, f"{home}/{{host}}.bin", *plan, "--output=saved", on=on)
    fleet.until("A few writes")
    review = fleets.reviewing(fleets.workers(home)["r1"])
    assert review is not None
    network.cut("r1")
    fleet.until("r1 is lost: it did not answer for 5 s")
    assert review.is_running()
    # Nobody can tell it: it ends by itself as its lease does, in the middle of a step, and issues nothing after.
    psutil.wait_procs([review], timeout=60)
    assert not review.is_running()
    assert fleet.status() == 1, fleet.stderr
    assert fleets.outcomes(home / "saved") == {"r1": "lost", "r2": "done"}
    fleets.require_whole_steps(home / "saved", ios=IOS)
    network.mend("r1")
    # It may have given its scheduler up by now; whatever keeps a worker running starts it again.
    old = fleets.workers(home).get("r1")
    if old is not None:
        old.kill()
    while not clusters.is_registered(start("r1")):
        pass  # the scheduler has not heard yet of the old one's end
    resumed = fleets.review(home, *where, "--resume", "saved", on=on)
    assert resumed.status() == 0, resumed.stderr
    assert fleets.outcomes(home / "saved") == {"r1": "done", "r2": "done"}
    fleets.require_whole_steps(home / "saved", ios=IOS)
    assert [event.host for event in open_fleet(home / "saved").events if event.kind == "resumed"] == ["r1"]
