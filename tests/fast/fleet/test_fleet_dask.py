"""Fleets of real processes on this computer, by Dask: nothing fails, everything fails, and it is resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import iogauge.fleet
from iogauge.errors import IogaugeError
from iogauge.fleet import Fleet
from iogauge.fleet.control.link import LinkError
from iogauge.fleet.dask.cluster import connected, links_to, local_fleet, own_scheduler
from iogauge.fleet.keys import key_files, make_keys
from iogauge.fleet.progress import FleetProgress
from iogauge.reviews.ordering import in_order

PLAN = """
name = "few"
title = "A few reads"
axis = { name = "reads in flight", unit = "in flight" }

[options]
rw = "randread"
bs = "4k"
runtime = "{runtime}"
time_based = true

[[step]]
at = 1
options = { iodepth = 1 }

[[step]]
at = 4
options = { iodepth = 4 }
"""

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def plan(runtime: str = "200ms") -> str:
    Path("few.toml").write_text(PLAN.replace("{runtime}", runtime))
    return "few.toml"


def workers() -> dict[str, psutil.Process]:
    """Return the processes of hosts that this one has started, by name."""
    started = {}
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if "distributed.cli.dask_worker" in words:
            started[words[words.index("--name") + 1]] = process
    return started


def outcomes(fleet: Fleet) -> dict[str, str]:
    return {host.name: host.outcome.value for host in fleet.hosts}


def once(when: Callable[[FleetProgress], bool], do: Callable[[], None]) -> Callable[[FleetProgress], None]:
    """Return a callback that does something the first time that a piece of news is the expected one."""
    done = threading.Event()

    def hear(news: FleetProgress) -> None:
        if not done.is_set() and when(news):
            done.set()
            do()

    return hear


def test_a_fleet_from_begin_to_end(capfd: pytest.CaptureFixture[str]) -> None:
    fleet = iogauge.fleet.review(
        "model:p4800x", local=3, output="fleet", suites=plan(), seed=1, mode="independent"
    )
    assert outcomes(fleet) == {"local1": "done", "local2": "done", "local3": "done"}
    alone = iogauge.review("model:p4800x", output="alone", suites=plan(), seed=fleet.hosts[0].seed)
    ours = fleet.review("local1")
    for step in alone._saved.completed():
        assert ours._saved.record(step).result == alone._saved.record(step).result
    assert capfd.readouterr() == ("", "")
    assert workers() == {}


def test_hosts_that_start_together_have_one_order_and_requests_of_their_own() -> None:
    """With the seed of a host, a plain review issues what the host did, in another order."""
    options = {"suites": plan(), "repeats": 4}
    fleet = iogauge.fleet.review("model:p4800x", local=2, output="fleet", seed=1, **options)
    reviews = [fleet.review(name)._saved for name in ("local1", "local2")]
    orders = [[step.id for _, steps in in_order(review.manifest) for step in steps] for review in reviews]
    assert orders[0] == orders[1]
    seeds = [{step.seed for step in review.manifest.steps} for review in reviews]
    assert seeds[0].isdisjoint(seeds[1])
    for host, ours in zip(fleet.hosts, reviews, strict=True):
        assert (ours.manifest.seed, ours.manifest.order_seed) == (host.seed, 1)
        alone = iogauge.review("model:p4800x", output=f"alone-{host.name}", seed=host.seed, **options)
        for step in alone._saved.completed():
            # Alone, nothing tells when to start.
            result = ours.record(step).result.model_copy(update={"started_ns": None})
            assert result == alone._saved.record(step).result


def test_a_host_that_is_killed_is_lost_and_resumed() -> None:
    kill = once(lambda news: news.waiting == 3, lambda: os.kill(workers()["local2"].pid, signal.SIGKILL))
    fleet = iogauge.fleet.review(
        "model:p4800x", local=3, output="fleet", suites=plan(), seed=1, on_progress=kill
    )
    assert outcomes(fleet) == {"local1": "done", "local2": "lost", "local3": "done"}
    fleet = iogauge.fleet.review(resume="fleet")
    assert outcomes(fleet) == {"local1": "done", "local2": "done", "local3": "done"}


def test_a_host_that_hangs_is_lost_and_the_others_go_on() -> None:
    begun: list[float] = []

    def stop() -> None:
        begun.append(time.monotonic())
        workers()["local1"].suspend()

    fleet = iogauge.fleet.review(
        "model:p4800x",
        local=3,
        output="fleet",
        suites=plan(),
        seed=1,
        on_progress=once(lambda news: news.running == 3 and news.label != "", stop),
    )
    assert outcomes(fleet) == {"local1": "lost", "local2": "done", "local3": "done"}
    assert workers() == {}


def test_files_of_hosts_are_fetched_to_the_byte() -> None:
    fleet = iogauge.fleet.review("{host}.bin", local=2, output="fleet", suites=plan(), seed=1, size="1m")
    assert outcomes(fleet) == {"local1": "done", "local2": "done"}
    for name in ("local1", "local2"):
        kept = Path("state/iogauge/fleet", fleet.manifest.id, name, "review")
        files = {path.relative_to(kept) for path in kept.rglob("[!.]*") if path.is_file()}
        copy = Path("fleet/hosts", name)
        assert {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()} == files
        assert all((kept / path).read_bytes() == (copy / path).read_bytes() for path in files)
    # Every start is known to within its bound, on clocks that are one.
    assert len(fleet.skew().rows) == 4


def test_a_controller_that_is_killed_is_resumed() -> None:
    code = f"""
import iogauge.fleet
iogauge.fleet.review("{{host}}.bin", local=2, output="fleet", suites={plan("1s")!r}, seed=1, size="1m",
                     on_progress=lambda news: print(news.steps_done, news.running, flush=True))
"""
    controller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert controller.stdout is not None
    for line in controller.stdout:
        if line.strip() == "1 2":  # the first step is complete, and the second one runs
            break
    controller.kill()
    controller.wait()
    fleet = iogauge.fleet.review(resume="fleet")
    assert outcomes(fleet) == {"local1": "done", "local2": "done"}
    assert [event.kind for event in fleet.events if event.kind in ("begun", "resumed")][:2] == ["begun"] * 2


def test_ctrl_c_ends_all_hosts() -> None:
    press = once(
        lambda news: news.running == 2 and news.label != "", lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    with pytest.raises(iogauge.Interrupted) as interrupted:
        iogauge.fleet.review(
            "{host}.bin", local=2, output="fleet", suites=plan("600s"), seed=1, size="1m", on_progress=press
        )
    assert interrupted.value.path == Path("fleet")
    assert set(outcomes(iogauge.fleet.open_fleet("fleet")).values()) == {"interrupted"}
    assert workers() == {}


def test_a_client_without_a_certificate_is_refused(tmp_path: Path) -> None:
    make_keys("keys", ["x"])
    make_keys("others", ["x"])
    with own_scheduler(host="127.0.0.1", keys=Path("keys")) as (scheduler, security):
        with connected(scheduler.address, security) as client:
            assert client.scheduler_info()["workers"] == {}
        for keys in (None, Path("others")):
            with pytest.raises(IogaugeError, match=r"no connection|TLS needs"):
                iogauge.fleet.review("model:p4800x", scheduler=scheduler.address, keys=keys)
        plain = subprocess.run(
            [
                "openssl",
                "s_client",
                "-connect",
                scheduler.address[6:],
                "-CAfile",
                "keys/ca.pem",
                "-verify_quiet",
                "-ign_eof",  # The server's refusal can come after the end of the input.
            ],
            input=b"",
            capture_output=True,
            check=False,
        )
        assert b"certificate required" in plain.stderr or plain.returncode


@pytest.mark.parametrize("keys", [Path("keys"), None])
def test_a_fleet_of_this_computer_has_tls(tmp_path: Path, keys: Path | None) -> None:
    make_keys("keys", ["local1", "local2"])
    with local_fleet(["local1", "local2"], keys=keys) as links:
        assert all("--tls-key" in worker.cmdline() for worker in workers().values())
        received, answered = links[0].call("exchange").result(timeout=600)
        assert received <= answered <= time.monotonic_ns()
        exchange = links[1].exchange(timeout_s=600)
        assert exchange.sent_ns <= exchange.received_ns <= exchange.answered_ns <= exchange.returned_ns


def test_a_worker_that_goes_before_it_has_its_host_is_not_awaited() -> None:
    make_keys("keys", ["x"])
    with (
        own_scheduler(host="127.0.0.1", keys=Path("keys")) as (scheduler, security),
        connected(scheduler.address, security) as client,
    ):
        (link,) = links_to(client, {"gone": "tls://127.0.0.1:1"})
        with pytest.raises(LinkError, match="its worker is gone"):
            link.call("preflight").result(timeout=600)


def test_the_workers_of_a_scheduler_are_the_hosts() -> None:
    from iogauge.fleet.dask.workers import local_workers, worker_command

    make_keys("keys", ["db1", "db2"])
    Path("hosts.toml").write_text(
        '[defaults]\nlabels = { zone = "a" }\nslots = { "model:p4800x" = "bay 1" }\n'
        '[[host]]\nname = "db1"\n[[host]]\nname = "db3"\n'
    )
    with own_scheduler(host="127.0.0.1", keys=Path("keys")) as (scheduler, _):
        where = {"scheduler": scheduler.address, "keys": "keys"}
        with pytest.raises(IogaugeError, match="has no worker"):
            iogauge.fleet.review("model:p4800x", **where)
        commands = {}
        for name in ("db1", "db2"):
            authority, certificate, key = map(str, key_files(Path("keys"), name))
            command = worker_command(
                scheduler.address, name, python=sys.executable, keys=(authority, certificate, key)
            )
            commands[name] = [*command, "--host", "127.0.0.1"]
        with local_workers(commands, scratch=Path.cwd()) as started:
            while len(scheduler.workers) < len(commands):
                assert [worker.failure() for worker in started] == [None, None]
                time.sleep(0.05)
            options = {"suites": str(Path(plan()).absolute()), "seed": 1}
            fleet = iogauge.fleet.review("model:p4800x", output="fleet", **where, **options)
            # Of a file, the hosts that it lists are the fleet; one that has no worker refuses.
            where["hosts"] = "hosts.toml"
            with pytest.raises(IogaugeError, match="db3: the scheduler has no worker of this name"):
                iogauge.fleet.review("model:p4800x", output="listed", **where, **options)
            listed = iogauge.fleet.review(
                "model:p4800x", output="listed", on_preflight=lambda _: True, **where, **options
            )
    assert outcomes(fleet) == {"db1": "done", "db2": "done"}
    assert fleet.hosts[0].hostname == os.uname().nodename
    assert outcomes(listed) == {"db1": "done", "db3": "refused"}
    assert [group.name for group in listed.merged(listed.steps[0], by="slot")] == ["bay 1"]
