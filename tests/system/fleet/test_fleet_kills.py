"""A fleet of which any processes are killed at random instants reports what is there, and completes once resumed.

After every life of the controller, all that is saved is read: lost hosts are named, and whatever is complete issued
exactly what it issues alone. Meanwhile a witness looks at which processes have each host's file open for writing, and
when the saved fleet names the hosts that were hit.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

import psutil
import pytest

from iogauge.fleet import open_fleet
from iogauge.fleet.planning import host_seed
from iogauge.store import Review
from tests.system.fleet import fleets

pytestmark = pytest.mark.fleet

KILLS = int(os.environ.get("FLEET_KILLS", "6"))
"""How many, by all seeds together; 200 take about half an hour with two processes."""
FIRST_SEED = int(os.environ.get("FLEET_SEED", "1"))
SEEDS = (FIRST_SEED, FIRST_SEED + 1)
HOSTS = ("local1", "local2", "local3")
IOS = 800
HORIZON_S = 10.0
"""About how long a fleet runs after its preflight: kills fall into that."""
LIVES = 4
"""How often a fleet is killed before it may complete, at most."""
SOON_S = {"worker": 10.0, "review": 10.0, "worker hangs": 20.0}
"""How long after it is hit a host is named as missing, and how long after the last loss there is a report, at most in
half of all cases; one that hangs is given ten seconds to answer."""
ENOUGH = 10
"""So many cases have a half: fewer are looked at only one by one."""
LATE_S = 60.0
"""The same in all cases: this machine may be busy."""


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


@dataclass
class Figures:
    """What all lives together have shown."""

    kills: Counter[str] = field(default_factory=Counter)
    named_s: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds from each hit until the saved fleet named the host, by what was hit."""
    reports_s: list[float] = field(default_factory=list)
    """Seconds until the report, from the last hit, or from the end of the last host that was not lost."""

    def require_soon(self) -> None:
        for kind, seconds in {**self.named_s, "worker hangs or less": self.reports_s}.items():
            soon_s = SOON_S.get(kind, SOON_S["worker hangs"])
            assert len(seconds) < ENOUGH or statistics.median(seconds) <= soon_s, (kind, seconds)
            assert max(seconds, default=0.0) <= LATE_S, (kind, seconds)

    def __str__(self) -> str:
        kills = ", ".join(f"{kind} {number}" for kind, number in sorted(self.kills.items()))
        lines = [f"{self.kills.total()} kills: {kills}"]
        all_seconds = {f"named, {kind}": seconds for kind, seconds in sorted(self.named_s.items())}
        for what, seconds in {**all_seconds, "report": self.reports_s}.items():
            middle_s, most_s = statistics.median(seconds or [0.0]), max(seconds, default=0.0)
            lines.append(f"{what}: {middle_s:.1f} s median, {most_s:.1f} s most of {len(seconds)}")
        return "\n".join(lines)


class Chaos:
    """Kills processes of a fleet, by chance, and looks when the saved fleet names what it hit, in one life."""

    def __init__(self, folder: Path, chance: random.Random, figures: Figures) -> None:
        self._folder = folder
        self._chance = chance
        self._figures = figures
        self._leases = self._begun()
        """How often each host had begun before this life."""
        self._hit: dict[str, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.hosts: set[str] = set()
        """Those whose processes it hit."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def strike(self, controller: fleets.Command) -> str:
        """Kill something; return what."""
        running = fleets.workers(self._folder)
        begun = {host for host, number in self._begun().items() if number > self._leases[host]}
        kinds = ["worker", "review", "review", "controller"]
        # Before a fleet begins, one that hangs is waited for, for minutes.
        kinds += ["worker hangs"] if begun & running.keys() else []
        kind = self._chance.choice(kinds)
        if kind == "controller" or not running:
            controller.kill()
            self._figures.kills["controller"] += 1
            return "controller"
        name = self._chance.choice(sorted(begun & running.keys() if kind == "worker hangs" else running))
        process = running[name]
        if kind == "review":
            review = fleets.reviewing(process)
            kind, process = ("worker", process) if review is None else (kind, review)
        if name in begun and name not in self.hosts and self._outcomes().get(name) == "planned":
            self._hit[name] = kind, time.monotonic()
        self.hosts.add(name)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP if kind == "worker hangs" else signal.SIGKILL)
        self._figures.kills[kind] += 1
        return f"{kind} {name}"

    def _look(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ended.wait(0.1)
            outcomes = self._outcomes() if self._hit else {}
            now = time.monotonic()
            for name, (kind, at) in list(self._hit.items()):
                if outcomes.get(name) != "planned":
                    del self._hit[name]
                    if outcomes.get(name) != "done":
                        self._figures.named_s[kind].append(now - at)

    def _outcomes(self) -> Mapping[str, str]:
        return fleets.outcomes(self._folder / "saved") if self._is_saved else {}

    def _begun(self) -> Counter[str]:
        events = open_fleet(self._folder / "saved").events if self._is_saved else ()
        return Counter(event.host for event in events if event.kind in ("begun", "resumed"))

    @property
    def _is_saved(self) -> bool:
        return (self._folder / "saved" / "fleet.json").exists()


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


def is_done(folder: Path) -> bool:
    """Return whether a fleet has completed: nothing hit it in time."""
    is_saved = (folder / "saved" / "fleet.json").exists()
    return is_saved and set(fleets.outcomes(folder / "saved").values()) == {"done"}


def alone(folder: Path, host: str) -> Review:
    """Return the review of what one host does, without a fleet."""
    own = folder / host
    own.mkdir()
    seed = ("--seed", str(host_seed(fleets.SEED, host)))
    targets = ("a.bin", "model:p4800x")
    reviewed = fleets.Command(
        own, *fleets.IOGAUGE, "review", *targets, *fleets.plan(own, ios=IOS), *seed, "--output", "saved"
    )
    assert reviewed.status() == 0, reviewed.stderr
    return Review.open(own / "saved")


def require_right(folder: Path, measured: Mapping[str, Review]) -> None:
    """Check all that is saved of a fleet, and that drive models gave what they give alone, to the last digit."""
    fleets.require_whole_steps(folder / "saved", ios=IOS)
    for host, by_itself in measured.items():
        steps = [
            step.id
            for plan in by_itself.manifest.plans
            if plan.targets == ("model:p4800x",)
            for step in plan.steps
        ]
        assert len(steps) == len(fleets.DEPTHS)
        directory = folder / "saved" / "hosts" / host
        if (directory / "manifest.json").exists():
            review = Review.open(directory)
            for step in set(review.completed()) & set(steps):
                # Alone, nothing tells when to start.
                result = review.record(step).result.model_copy(update={"started_ns": None})
                assert result == by_itself.record(step).result


def require_named(folder: Path, said: str) -> None:
    """Check that what is shown of a fleet names every host that is missing, and no other."""
    text = " ".join(said.split())
    for host, outcome in fleets.outcomes(folder / "saved").items():
        shown = "not ended" if outcome == "planned" else outcome
        assert (f"{host} ({shown}" in text) == (outcome != "done"), text


def live(folder: Path, chance: random.Random, figures: Figures, *, kills: int) -> list[str]:
    """A life of the controller, in which so much is killed; return what."""
    controller = fleets.review(folder, *command(folder))
    struck: list[str] = []
    with Chaos(folder, chance, figures) as chaos:
        if chance.random() < 0.8:
            controller.until("host")  # the preflight is over, which takes most of the time
        begun = time.monotonic()
        struck_at = time.time()
        for delay_s in sorted(chance.uniform(0, HORIZON_S) for _ in range(kills)):
            if controller.ends_within(max(0.0, begun + delay_s - time.monotonic())):
                break
            struck.append(chaos.strike(controller))
            struck_at = time.time()
            if struck[-1] == "controller":
                break
        status = controller.status()
        ended_at = time.time()
    is_saved = (folder / "saved" / "fleet.json").exists()
    if struck[-1:] == ["controller"]:
        assert status in (-signal.SIGKILL, 0, 1)
        if is_saved:
            require_named(folder, fleets.shown(Path("saved"), folder))
    elif not controller.stdout:
        # Nothing began: the hosts that were to run were hit before.
        assert status == 1, controller.stderr
        assert chaos.hosts, controller.stderr
        assert "error: " in controller.stderr
    else:
        assert is_saved, controller.stderr
        outcomes = fleets.outcomes(folder / "saved")
        assert status == (set(outcomes.values()) != {"done"}), controller.stderr
        untouched = [host for host in open_fleet(folder / "saved").hosts if host.name not in chaos.hosts]
        # Where what the life before has left still runs, this one has waited for its end.
        assert all(host.outcome == "done" for host in untouched), untouched
        require_named(folder, controller.stdout)
        last = max([struck_at, *ends(folder)])
        figures.reports_s.append(ended_at - last)
        print(f"report after {ended_at - last:.1f} s", flush=True)
    assert "defect" not in controller.stderr, controller.stderr
    return struck


def ends(folder: Path) -> list[float]:
    """Return when hosts of a fleet ended that were not lost."""
    kinds = ("done", "failed", "interrupted", "refused")
    events = open_fleet(folder / "saved").events
    return [datetime.fromisoformat(event.at).timestamp() for event in events if event.kind in kinds]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_killed_a_fleet_reports_what_is_there_and_completes(home: Path, seed: int) -> None:
    measured = {host: alone(home, host) for host in HOSTS}
    chance = random.Random(seed)
    figures = Figures()
    number = 0
    kills = KILLS // len(SEEDS)
    while figures.kills.total() < kills:
        folder = home / f"fleet{number}"
        folder.mkdir()
        number += 1
        with fleets.ended(folder), Witness(folder) as witness:
            for _ in range(LIVES):
                if figures.kills.total() >= kills or is_done(folder):
                    break
                left = min(kills - figures.kills.total(), chance.randint(1, len(HOSTS)))
                begun = time.monotonic()
                struck = live(folder, chance, figures, kills=left)
                if (folder / "saved").exists():
                    require_right(folder, measured)
                took_s = time.monotonic() - begun
                print(f"{figures.kills.total()} kills: {', '.join(struck)}; {took_s:.0f} s", flush=True)
            begun = time.monotonic()
            last = fleets.review(folder, *command(folder))
            assert last.status() == 0, last.stderr
            assert fleets.outcomes(folder / "saved") == dict.fromkeys(HOSTS, "done")
            require_right(folder, measured)
            print(f"completed in {time.monotonic() - begun:.0f} s", flush=True)
            fleets.require_reviews_end(folder)
        assert witness.doubles == []
        assert len(witness.seen) == len(HOSTS)
    print(f"{number} fleets, no double\n{figures}", flush=True)
    figures.require_soon()
