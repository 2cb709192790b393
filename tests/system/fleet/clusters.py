"""A Dask scheduler and its workers, started as ``docs/fleet.md`` says."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from iogauge.fleet import make_keys
from tests.system.fleet.fleets import Command
from tests.system.fleet.network import CONTROLLER

DASK = str(Path(sys.executable).with_name("dask"))


def scheduler(home: Path, address: str, *options: str, on: Sequence[str] = ()) -> Command:
    """Start a scheduler at an address such as ``tcp://127.0.0.1:8786``; return when it listens."""
    started = Command(home, *on, DASK, "scheduler", "--host", address, "--no-dashboard", *options)
    started.until("Scheduler at:")
    return started


def worker(
    home: Path, address: str, name: str, *options: str, on: Sequence[str] = (), state: str = "state"
) -> Command:
    """Start a host. ``state``: where below the home it keeps its review."""
    words = ("--name", name, "--nthreads", "1", "--memory-limit", "0", "--no-nanny", "--no-dashboard")
    return Command(home, *on, DASK, "worker", address, *words, *options, state=state)


def on_loopback(home: Path, states: Mapping[str, str]) -> str:
    """Start a scheduler and hosts on loopback, with certificates; return its address. ``states``: see ``worker``."""
    if not (home / "keys").exists():
        make_keys(home / "keys", [*states])
    started = scheduler(home, "tls://127.0.0.1:0", *with_keys(home, CONTROLLER))
    address = started.word_after("Scheduler at:")
    workers = [
        worker(home, address, name, "--host", "127.0.0.1", *with_keys(home, name), state=state)
        for name, state in states.items()
    ]
    assert all(map(is_registered, workers))
    return address


def is_registered(worker: Command) -> bool:
    """Wait until the scheduler knows a worker, or it has ended; return which."""
    return worker.says("Registered to:")


def with_keys(home: Path, name: str) -> tuple[str, ...]:
    """Return the options for the certificate of a host or of the controller."""
    keys = home / "keys"
    files = {"ca-file": keys / "ca.pem", "cert": keys / f"{name}.pem", "key": keys / f"{name}-key.pem"}
    return tuple(word for option, path in files.items() for word in (f"--tls-{option}", str(path)))
