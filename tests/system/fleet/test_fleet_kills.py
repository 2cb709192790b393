"""A fleet of which any processes are killed at random instants reports what is there, and completes once resumed.

After every life of the controller, all that is saved is read: lost hosts are named, and whatever is complete issued
exactly what it issues alone. Meanwhile a witness looks at which processes have each host's file open for writing.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import psutil
import pytest

from iogauge.fleet import open_fleet
from iogauge.store import Review
from tests.system.fleet import fleets

pytestmark = pytest.mark.fleet

KILLS = int(os.environ.get("FLEET_KILLS", "6"))
"""How many; 200 take about twenty minutes."""
HOSTS = ("local1", "local2", "local3")
IOS = 800
HORIZON_S = 10.0
"""About how long a fleet runs after its preflight: kills fall into that."""
IN_USE = re.compile("another iogauge is writing to it|a review of a fleet is using its drive")
LIVES = 2
"""How often a fleet is killed before it may complete."""


class Witness:
    """Looks all the time which processes have a file of a host open for writing; more than one is one too many."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.seen: set[str] = set()
        self.doubles: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        before: set[tuple[str, frozenset[int]]] = set()
        while not self._ended.wait(0.02):
            writers: dict[str, set[int]] = {}
            for pid, path in self._open_files():
                writers.setdefault(path, set()).add(pid)
            self.seen |= writers.keys()
            several = {(path, frozenset(pids)) for path, pids in writers.items() if len(pids) > 1}
            # The first of two may have ended while the second was looked at.
            self.doubles += [f"{path}: {sorted(pids)}" for path, pids in several & before]
            before = several

    def _open_files(self) -> Iterator[tuple[int, str]]:
        for pid in psutil.pids():
            with contextlib.suppress(OSError):
                if b"iogauge.fleet.host.child" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                    continue
                # Before it runs another program, a fork has the same name and files as the review.
                if os.getsid(pid) != pid:
                    continue
                for link in Path(f"/proc/{pid}/fd").iterdir():
                    path = str(link.readlink())
                    if path.startswith(str(self._folder)) and path.endswith(".bin"):
                        flags = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().split("flags:")[1]
                        if int(flags.split()[0], 8) & os.O_ACCMODE != os.O_RDONLY:
                            yield pid, path


class Chaos:
    """Kills processes of a fleet, by chance. ``hit``: the hosts whose processes it hit, in this life."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self.hit: set[str] = set()

    def strike(self, controller: fleets.Command) -> str:
        """Kill something; return what."""
        kind = self._chance.choice(["worker", "worker hangs", "review", "review", "controller"])
        running = fleets.workers(self._folder)
        if kind == "controller" or not running:
            controller.kill()
            return "controller"
        name = self._chance.choice(sorted(running))
        self.hit.add(name)
        process = running[name]
        if kind == "review":
            process = fleets.reviewing(process) or process
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP if kind == "worker hangs" else signal.SIGKILL)
        return f"{kind} {name}"


def command(folder: Path) -> list[str]:
    """What begins the fleet, or goes on with it."""
    if (folder / "saved" / "fleet.json").exists():
        return ["--resume", "saved"]
    return [
        "--local",
        str(len(HOSTS)),
        "{host}.bin",
        "model:p4800x",
        *fleets.plan(folder, ios=IOS),
        "--output",
        "saved",
    ]


def require_right(folder: Path, alone: Review) -> None:
    """Check all that is saved of a fleet, and that drive models gave what they give alone, to the last digit."""
    fleets.require_whole_steps(folder / "saved", ios=IOS)
    steps = [
        step.id for plan in alone.manifest.plans if plan.targets == ("model:p4800x",) for step in plan.steps
    ]
    assert len(steps) == len(fleets.DEPTHS)
    for host in HOSTS:
        directory = folder / "saved" / "hosts" / host
        if (directory / "manifest.json").exists():
            review = Review.open(directory)
            for step in set(review.completed()) & set(steps):
                # Alone, nothing tells when to start.
                result = review.record(step).result.model_copy(update={"started_ns": None})
                assert result == alone.record(step).result


def require_named(folder: Path, said: str) -> None:
    """Check that what is shown of a fleet names every host that is missing, and no other."""
    text = " ".join(said.split())
    for host, outcome in fleets.outcomes(folder / "saved").items():
        assert (f"{host} ({outcome}" in text) == (outcome != "done"), text


def live(folder: Path, chance: random.Random, *, kills: int, horizon_s: float) -> tuple[list[str], float]:
    """A life of the controller, in which so much is killed; return what, and how long until there was a report."""
    controller = fleets.review(folder, *command(folder))
    chaos = Chaos(folder, chance)
    if chance.random() < 0.8:
        controller.until("host")  # the preflight is over, which takes most of the time
    begun = time.monotonic()
    struck = []
    for delay_s in sorted(chance.uniform(0, horizon_s) for _ in range(kills)):
        if controller.ends_within(max(0.0, begun + delay_s - time.monotonic())):
            break
        struck.append(chaos.strike(controller))
        if struck[-1] == "controller":
            break
    since = time.monotonic()
    status = controller.status()
    begun_before = (folder / "saved" / "fleet.json").exists()
    if struck[-1:] == ["controller"]:
        assert status in (-signal.SIGKILL, 0, 1)
        since = time.monotonic()
        if begun_before:
            require_named(folder, fleets.shown(Path("saved"), folder))
    elif "its process ended" in controller.stderr or "no host" in controller.stderr:
        assert status == 1  # a worker was killed before it was there
    else:
        assert begun_before, controller.stderr
        outcomes = fleets.outcomes(folder / "saved")
        assert status == (set(outcomes.values()) != {"done"}), controller.stderr
        untouched = [host for host in open_fleet(folder / "saved").hosts if host.name not in chaos.hit]
        # What the life before has left ends as its lease does, and is not disturbed until then.
        assert all(host.outcome == "done" or IN_USE.search(host.why) for host in untouched), untouched
        require_named(folder, controller.stdout)
    assert "defect" not in controller.stderr, controller.stderr
    return struck, time.monotonic() - since


@pytest.mark.timeout(7200)
def test_whatever_is_killed_a_fleet_reports_what_is_there_and_completes(home: Path) -> None:
    alone_folder = home / "alone"
    alone_folder.mkdir()
    alone = fleets.Command(
        alone_folder,
        *fleets.IOGAUGE,
        "review",
        "a.bin",
        "model:p4800x",
        *fleets.plan(home, ios=IOS),
        "--output",
        "saved",
    )
    assert alone.status() == 0, alone.stderr
    measured = Review.open(alone_folder / "saved")
    chance = random.Random(fleets.SEED)
    struck: list[str] = []
    waited_s = []
    number = 0
    while len(struck) < KILLS:
        folder = home / f"fleet{number}"
        folder.mkdir()
        number += 1
        with fleets.ended(folder), Witness(folder) as witness:
            for _ in range(LIVES):
                left = min(KILLS - len(struck), chance.randint(1, len(HOSTS)))
                hit, took_s = live(folder, chance, kills=left, horizon_s=HORIZON_S)
                struck += hit
                waited_s.append(took_s)
                if (folder / "saved").exists():
                    require_right(folder, measured)
                print(f"{len(struck)} kills: {', '.join(hit)}: report after {took_s:.1f} s", flush=True)
            fleets.require_reviews_end(folder)
            last = fleets.review(folder, *command(folder))
            assert last.status() == 0, last.stderr
            assert fleets.outcomes(folder / "saved") == dict.fromkeys(HOSTS, "done")
            require_right(folder, measured)
        assert witness.doubles == []
        assert len(witness.seen) == len(HOSTS)
    print(
        f"{number} fleets; until a report: {statistics.median(waited_s):.1f} s median, {max(waited_s):.1f} s most"
    )
