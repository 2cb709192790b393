"""``iogauge tune`` on real settings: sysfs, /proc/irq and an emulated NVMe drive; undone after every kind of end."""

from __future__ import annotations

import json
import queue
import random
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.machine.tuning import STATE_DIRECTORY
from tests.vm.guest import PYTHON, Drive, Guest, Ran
from tests.vm.test_nvme import drive

PROFILE = """
title = "Everything that this guest has"
[settings]
load.irqbalance = "stopped"
block.scheduler = "mq-deadline"
block.nomerges = 1
block.rq_affinity = 0
block.add_random = 1
kernel.timer_migration = 0
kernel.stat_interval = 7
nvme.apst = 0
nvme.coalescing = 0
interrupts.affinity = "local"
"""
"""Values that the guest does not have by itself, so that each is a change."""


@pytest.fixture(scope="module")
def tuned_guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a guest whose state survives a reset: its root disk does, /root with it."""
    with Guest(tmp_path_factory.mktemp("guest"), [Drive("T1")]) as guest:
        guest.run("cat > /root/all.toml", input=PROFILE).ok()
        # A process that bears irqbalance's name, and does nothing.
        guest.sh("cp /usr/bin/sleep /root/irqbalance; setsid /root/irqbalance 1000000 >/dev/null 2>&1 & sync")
        yield guest


def settings(guest: Guest, path: str) -> dict[str, str]:
    """Return every setting that the profile can change, as the kernel has it."""
    queue = f"/sys/block/{Path(path).name}/queue"
    files = [
        f"{queue}/{name}" for name in ("scheduler", "nomerges", "rq_affinity", "add_random", "wbt_lat_usec")
    ]
    files += [f"/sys/class/nvme/{controller(path)}/power/pm_qos_latency_tolerance_us"]
    files += [
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/vm/stat_interval",
        "/proc/irq/*/smp_affinity_list",
    ]
    out = guest.sh(
        f"grep -H '' {' '.join(files)} 2>/dev/null; echo irqbalance:$(ps -o state= -C irqbalance);"
        f"echo coalescing:$(nvme get-feature /dev/{controller(path)} -f 8 -s 0 | tr -d :);"
        "echo held:$(od -An -td4 /dev/cpu_dma_latency)"
    )
    values = dict(line.split(":", 1) for line in out.splitlines())
    # Using a scheduler loads its module, which stays on offer.
    return {name: value[value.find("[") : value.find("]") + 1] or value for name, value in values.items()}


def controller(path: str) -> str:
    """Return the name of the controller of a namespace."""
    return Path(path).name.removesuffix("n1")


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def wait_for(guest: Guest, condition: str) -> None:
    """Wait in the guest until a shell condition holds."""
    guest.sh(f"until {condition}; do :; done")


def test_settings_change_while_a_command_runs_and_are_put_back(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    queue = f"/sys/block/{Path(path).name}/queue"
    command = shlex.quote(
        f"cat {queue}/nomerges {queue}/rq_affinity /proc/sys/vm/stat_interval; cat >&2; exit 7"
    )
    ran = tuned_guest.run(
        f"iogauge tune --profile /root/all.toml {path} -- sh -c {command}", input="through\n"
    )
    assert (ran.status, ran.out.split()) == (7, ["1", "0", "7"]), ran.err
    tuned, through, put_back = ran.err.partition("through\n")
    assert tuned.startswith("tuned: "), ran.err
    assert through, ran.err
    assert put_back.startswith("put back: "), ran.err
    assert settings(tuned_guest, path) == before


def test_the_profile_latency_holds_what_it_says(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    ran = tuned_guest.iogauge(f"tune --profile latency {path} -- iogauge audit --json {path}")
    assert ran.status == 0, ran.err
    facts = {fact["id"]: fact for fact in json.loads(ran.out)["facts"]}
    tuned, _, _ = ran.err.partition("put back: ")
    for name in (
        "block.nomerges",
        "block.rq_affinity",
        "kernel.stat_interval",
        "nvme.coalescing",
        "load.irqbalance",
    ):
        assert facts[name]["verdict"] == "pass" or name in tuned.partition("cannot do")[2], (
            facts[name],
            tuned,
        )
    assert settings(tuned_guest, path) == before


def start(guest: Guest, path: str) -> queue.SimpleQueue[Ran]:
    """Tune while a command runs that does not end by itself; /run/on has the process of iogauge."""
    guest.sh("rm -f /run/on")
    command = "echo $PPID > /run/on.new; mv /run/on.new /run/on; exec sleep 1000000"
    ended = guest.start(f"iogauge tune --profile /root/all.toml {path} -- sh -c '{command}'")
    wait_for(guest, "[ -s /run/on ]")
    return ended


def test_sigterm_ends_the_command_and_everything_is_put_back(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    ended = start(tuned_guest, path)
    assert settings(tuned_guest, path) != before
    tuned_guest.sh("kill -TERM $(cat /run/on)")
    ran = ended.get()
    assert ran.status == 128 + 15, ran.err
    assert settings(tuned_guest, path) == before


KILL = """
import glob, os, signal, sys
import iogauge
from iogauge.machine.nvme.set_feature import feature_value
from iogauge.machine.tuning import STATE_DIRECTORY, door
from iogauge.machine.tuning.journal import State

path, controller, instants = sys.argv[1], sys.argv[2], map(int, sys.argv[3:])
write, count = door.Door.write, 0
state = State(STATE_DIRECTORY)

def counted(self, place, value, at):
    global count
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, place, value)
    if count == -at:
        os.kill(os.getpid(), signal.SIGKILL)

def values():
    files = [f"/sys/block/{os.path.basename(path)}/queue/{name}" for name in ("nomerges", "rq_affinity", "add_random")]
    files += ["/proc/sys/kernel/timer_migration", "/proc/sys/vm/stat_interval"]
    files += glob.glob("/proc/irq/*/smp_affinity_list")
    here = [open(file).read() for file in files]
    here += [open(f"/sys/block/{os.path.basename(path)}/queue/scheduler").read().split("[")[1].split("]")[0]]
    stat = os.popen("ps -o state= -C irqbalance").read()
    return [*here, stat, feature_value("/dev/" + controller, 8)]

with iogauge.tune("/root/all.toml", path):
    tuned = values()
before = values()
assert tuned != before
killed = 0
for at in instants:
    pid = os.fork()
    if pid == 0:
        door.Door.write = lambda self, place, value: counted(self, place, value, at)
        with iogauge.tune("/root/all.toml", path):
            if at == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    while state.journal.exists():  # the guardian has the lock, or is about to take it
        with state.locked(wait=True):
            pass
    assert values() == before, (at, values(), before)
print(killed)
"""
"""Tunes in process after process; each is killed before or after its n-th change, or while it is tuned."""


def test_thirty_sigkills(tuned_guest: Guest) -> None:
    """Killed while it tunes, while it is tuned and while it undoes: the guardian puts everything back."""
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    tuned_guest.run("cat > /root/kill.py", input=KILL).ok()
    dice = random.Random(30)
    instants = " ".join(str(dice.randint(-14, 14)) for _ in range(30))
    killed = tuned_guest.sh(f"{PYTHON} /root/kill.py {path} {controller(path)} {instants}")
    assert int(killed) > 20, killed
    assert settings(tuned_guest, path) == before


def test_the_command_is_killed_for_good_and_the_guardian_puts_everything_back(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    ended = start(tuned_guest, path)
    tuned_guest.sh("kill -KILL $(cat /run/on)")
    wait_for(tuned_guest, "! pgrep -f tuning[.]guardian >/dev/null")
    assert settings(tuned_guest, path) == before
    tuned_guest.sh("pkill -x sleep")  # the command outlives the process that started it
    ended.get()
    assert tuned_guest.iogauge("tune --status").ok().splitlines()[1].endswith("was put back by its guardian")


def test_a_tuning_that_stays_is_seen_refuses_another_and_is_undone(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    before = settings(tuned_guest, path)
    tuned_guest.iogauge(f"tune --apply --profile /root/all.toml {path}").ok()
    assert settings(tuned_guest, path) != before
    status = unwrapped(tuned_guest.iogauge("tune --status").ok())
    assert status.startswith("this machine is tuned to all, "), status
    assert "values hold" in status
    refused = tuned_guest.iogauge(f"tune --profile latency {path} -- true")
    assert (refused.status, "tune --undo" in refused.err) == (1, True), refused.err
    tuned_guest.iogauge("tune --undo").ok()
    assert settings(tuned_guest, path) == before


def test_a_reboot_with_a_journal_left(tuned_guest: Guest) -> None:
    path = drive(tuned_guest, "T1")
    tuned_guest.iogauge(f"tune --apply --profile /root/all.toml {path}").ok()
    tuned_guest.sh("sync")
    tuned_guest.reboot()
    path = drive(tuned_guest, "T1")
    assert tuned_guest.run(f"test -e {STATE_DIRECTORY}/journal.jsonl").status == 0, (
        "the journal outlived the power cut"
    )
    fresh = settings(tuned_guest, path)
    ran = tuned_guest.iogauge("tune --status")
    assert "started again" in ran.err, ran.err
    assert ran.ok().startswith("nothing is tuned")
    assert settings(tuned_guest, path) == fresh
    assert tuned_guest.run(f"test -e {STATE_DIRECTORY}/journal.jsonl").status == 1
    assert tuned_guest.iogauge("tune --status").err == "", "it says so once"
