"""SIGKILL at any instant: of the process that tunes, of its guardian, of the next start. All is undone to the byte."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import pytest

from iogauge.machine.tuning import load_profile
from tests.audit_trees import NAMES
from tests.fast.machine.tuning.tuning_machine import Rig, machine

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory if there is one: on a disk, each of a hundred thousand renames waits for it."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="iogauge-test-") as name:
        yield Path(name)


def rig(name: str, folder: Path, profile: str = "latency") -> Rig:
    """Return a machine to tune."""
    tree = machine(name, folder / name)
    return Rig(folder / name, tree, load_profile(profile), folder / f"{name}-state")


def killed(rig: Rig, dice: random.Random, owner: int, guardian: int) -> None:
    """Tune once with kills at random instants, and look that nothing remains of it."""
    guardian_at = dice.randint(1, guardian) if dice.random() < 0.6 else None
    rig.tune(owner_at=dice.randint(1, owner), guardian_at=guardian_at)
    if guardian_at is None:
        assert rig.changed() == [], "the guardian undoes it at once"
        assert not (rig.state / "journal.jsonl").exists()
        return
    if dice.random() < 0.5:
        rig.recover(end_at=dice.randint(1, guardian))
    rig.recover()
    assert rig.changed() == [], "the next start undoes it"
    assert not (rig.state / "journal.jsonl").exists()


def lives(rig: Rig) -> tuple[int, int]:
    """Return how many instants an owner lives, and a guardian that must undo everything."""
    owner, _ = rig.tune()
    assert rig.changed() == []
    guardian = max(rig.tune(owner_at=instant)[1] for instant in (owner // 3, owner // 2, 2 * owner // 3))
    assert rig.changed() == []
    assert min(owner, guardian) > 10
    return owner, guardian


def test_thirty_kills_at_random_instants(folder: Path) -> None:
    dice = random.Random(15)
    machine = rig("desktop", folder)
    owner, guardian = lives(machine)
    for _ in range(30):
        killed(machine, dice, owner, guardian)


@pytest.mark.release
@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_kills_at_random_instants(name: str, folder: Path) -> None:
    dice = random.Random(f"1000 {name}")
    machine = rig(name, folder)
    owner, guardian = lives(machine)
    for _ in range(ceil(1000 / len(NAMES))):
        killed(machine, dice, owner, guardian)


def test_a_machine_that_is_tuned_differs(folder: Path) -> None:
    """The kills above would all pass if nothing were ever changed."""
    machine = rig("intel-two-sockets", folder)
    owner, _ = machine.tune()
    machine.tune(owner_at=owner // 2, guardian_at=1)
    assert len(machine.changed()) > 20
    machine.recover()
    assert machine.changed() == []
