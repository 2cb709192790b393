"""Tuning recorded machines: what is changed, what they cannot do, what somebody else changes, and who may tune."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.machine.audit import CHECKS
from iogauge.machine.tuning import guardian, load_profile, owner, session
from iogauge.machine.tuning.door import Door, ForbiddenError
from iogauge.machine.tuning.guard import guarded
from iogauge.machine.tuning.journal import Entry, State
from iogauge.machine.tuning.profile import Profile, SettingValue
from iogauge.machine.tuning.session import Tuning
from iogauge.machine.tuning.settings import SETTINGS
from iogauge.machine.tuning.status import tuning_status
from tests.audit_trees import NAMES, Tree, write
from tests.fast.machine.tuning import tuning_machine
from tests.fast.machine.tuning.test_transaction import nobody
from tests.fast.machine.tuning.tuning_machine import APST_ON, Kernel, contents


@pytest.fixture
def intel(tmp_path: Path) -> Tree:
    """Return the machine with two sockets."""
    return tuning_machine.machine("intel-two-sockets", tmp_path / "machine")


def kernel(tmp_path: Path, **options: object) -> Kernel:
    """Return the door to it."""
    return Kernel(tmp_path / "machine", **options)  # type: ignore[arg-type]


class Session:
    """A tuning of one machine, with its messages."""

    def __init__(self, tree: Tree, door: Kernel, tmp_path: Path) -> None:
        self.tree, self.door, self.state = tree, door, tmp_path / "state"
        self.messages: list[str] = []

    def tuned(self, profile: Profile, **options: str):
        """Tune while a context lasts."""
        return session.tuned(
            profile, self.tree.subject, on_message=self.messages.append, state_dir=self.state,
            door=self.door, guard=nobody, **options,
        )  # fmt: skip

    def apply(self, profile: Profile) -> Tuning:
        """Tune to stay."""
        return session.apply_to_stay(
            profile, self.tree.subject, on_message=self.messages.append, state_dir=self.state,
            door=self.door, guard=nobody,
        )  # fmt: skip

    def undo(self) -> object:
        """Undo what stays."""
        return session.undo_applied(
            self.tree.subject.host, on_message=self.messages.append, state_dir=self.state, door=self.door
        )

    def recover(self) -> None:
        """Start again."""
        session.recover(self.tree.subject.host, self.messages.append, state_dir=self.state, door=self.door)


def profile(**values: str) -> Profile:
    """Return a profile; ``cpu__governor`` stands for ``cpu.governor``."""
    settings = tuple(SettingValue(name.replace("__", "."), value) for name, value in values.items())
    return Profile("mine", "Mine", "", settings)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chosen", ["latency", "published-linux"])
def test_every_machine_is_tuned_and_put_back_to_the_byte(tmp_path: Path, name: str, chosen: str) -> None:
    tree = tuning_machine.machine(name, tmp_path / "machine")
    before = contents(tmp_path / "machine")
    door = kernel(tmp_path)
    wanted = load_profile(chosen)
    with Session(tree, door, tmp_path).tuned(wanted) as tuning:
        ids = [*tuning.settings, *tuning.already]
        ids += [item.id for item in (*tuning.unavailable, *tuning.not_applicable)]
        assert {value.id for value in wanted.settings} == set(ids), "nothing is passed over in silence"
        assert [door.read(change.place) for change in tuning.changes if change.place.startswith("/sys")] == [
            change.after for change in tuning.changes if change.place.startswith("/sys")
        ]
    assert contents(tmp_path / "machine") == before
    assert tuning.left == ()


def test_an_error_puts_everything_back(intel: Tree, tmp_path: Path) -> None:
    before = contents(tmp_path / "machine")
    run = Session(intel, kernel(tmp_path), tmp_path)

    def fail() -> None:
        with run.tuned(load_profile("latency")):
            assert contents(tmp_path / "machine") != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert contents(tmp_path / "machine") == before
    assert run.messages[-1].startswith("put back: ")


def test_what_the_audit_of_a_tuned_machine_says(intel: Tree, tmp_path: Path) -> None:
    """Audit and tuning have one name for one thing, and one mind about what is wanted."""
    checks = {check.id: check for check in CHECKS}
    with Session(intel, kernel(tmp_path), tmp_path).tuned(load_profile("latency")) as tuning:
        verdicts = {id_: checks[id_].fact(intel.subject).verdict for id_ in tuning.settings}
    unknown = {"nvme.sleeps_alone", "nvme.coalescing"}  # what was read of the drive was read before
    assert {id_ for id_, verdict in verdicts.items() if verdict == "differs"} == set()
    assert {id_ for id_, verdict in verdicts.items() if verdict == "unknown"} == unknown


def test_every_setting_is_a_check_of_the_audit() -> None:
    assert set(SETTINGS) <= {check.id for check in CHECKS}


def test_idle_states_go_by_exit_latency(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    cpu = "sys/devices/system/cpu/cpu3/cpuidle"
    # The numbers of the states say nothing: here the shallow one has the higher number.
    write(tmp_path / f"machine/{cpu}/state1/latency", "133")
    write(tmp_path / f"machine/{cpu}/state2/latency", "2")
    run.apply(profile(cpu__idle_states="3"))
    assert [run.door.read(f"/{cpu}/state{number}/disable") for number in range(3)] == ["0", "1", "0"]
    assert run.door.read("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable") == "1"


def test_a_latency_is_held_where_the_owner_stays_and_the_kernel_can(intel: Tree, tmp_path: Path) -> None:
    (tmp_path / "machine/dev").mkdir()
    write(tmp_path / "machine/dev/cpu_dma_latency", "hex 00943577")
    run = Session(intel, kernel(tmp_path), tmp_path)
    before = contents(tmp_path / "machine")
    with run.tuned(profile(cpu__idle_states="3")) as tuning:
        assert run.door.held_us == 3
        assert contents(tmp_path / "machine") == before, "nothing needs a journal"
    assert [change.after for change in tuning.changes] == ["3 us"]


def test_managed_interrupts_are_named_and_the_others_move(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path, managed=(41, 42)), tmp_path)
    with run.tuned(profile(interrupts__affinity="local")) as tuning:
        assert run.door.read("/proc/irq/40/smp_affinity_list") == "4-7"
    (item,) = tuning.unavailable
    assert (item.id, item.why) == (
        "interrupts.affinity",
        "Linux manages these interrupts and lets nobody move them (2 of 3)",
    )
    assert "1 this machine cannot do" in run.messages[0]
    assert "cannot do       interrupts.affinity: Linux manages these interrupts" in run.messages[0]


def test_a_setting_that_is_passed_over_is_named(tmp_path: Path) -> None:
    """Of a cloud's virtual machine nobody sets the governor: a profile of it alone changes nothing, and says why."""
    tree = tuning_machine.machine("cloud-vm", tmp_path / "machine")
    run = Session(tree, kernel(tmp_path), tmp_path)
    with run.tuned(profile(cpu__governor="performance", kernel__stat_interval="20")):
        pass
    assert run.messages[0] == (
        "tuned: 1 setting changed, 1 not applicable\n"
        "  changed         kernel.stat_interval\n"
        "  not applicable  cpu.governor"
    )


def test_a_value_that_is_taken_and_does_not_change_counts_as_unavailable(intel: Tree, tmp_path: Path) -> None:
    door = kernel(tmp_path)
    door.stubborn["pm_qos_latency_tolerance_us"] = "100000"
    run = Session(intel, door, tmp_path)
    with run.tuned(profile(nvme__apst="0")) as tuning:
        pass
    assert tuning.changes == ()
    (item,) = tuning.unavailable
    assert item.why == "it takes '0' without an error and stays '100000'"


def test_a_value_that_lands_elsewhere_is_put_back_at_once(intel: Tree, tmp_path: Path) -> None:
    door = kernel(tmp_path)
    place = "/proc/sys/vm/stat_interval"
    door.stubborn["stat_interval"] = "9"
    with Session(intel, door, tmp_path).tuned(profile(kernel__stat_interval="10")) as tuning:
        assert tuning.unavailable[0].id == "kernel.stat_interval"
    door.stubborn.clear()
    assert door.read(place) == "9", "the kernel would not take the value from before either"


def test_what_somebody_else_changes_stays_and_is_reported(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    with run.tuned(profile(kernel__stat_interval="10", kernel__nmi_watchdog="0")) as tuning:
        write(tmp_path / "machine/proc/sys/vm/stat_interval", "5")
    assert run.door.read("/proc/sys/vm/stat_interval") == "5"
    assert run.door.read("/proc/sys/kernel/nmi_watchdog") == "1"
    assert [(item.id, item.why) for item in tuning.left] == [
        ("kernel.stat_interval", "it is '5' now: somebody else has changed it")
    ]
    assert "kernel.stat_interval" in run.messages[-1]


def test_a_device_that_goes_is_reported(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    with run.tuned(profile(kernel__stat_interval="10", kernel__nmi_watchdog="0")) as tuning:
        (tmp_path / "machine/proc/sys/vm/stat_interval").unlink()
    assert [item.why for item in tuning.left] == ["it has gone"]
    assert run.door.read("/proc/sys/kernel/nmi_watchdog") == "1"


def test_one_setting_that_changes_the_files_of_another(tmp_path: Path) -> None:
    """The policy performance switches the link's states off; both are as before at the end."""
    tree = tuning_machine.machine("desktop", tmp_path / "machine")
    before = contents(tmp_path / "machine")
    run = Session(tree, kernel(tmp_path), tmp_path)
    with run.tuned(profile(pcie__aspm="none", pcie__aspm_policy="performance")) as tuning:
        assert tuning.settings == ("pcie.aspm_policy", "pcie.aspm")
    assert tuning.left == ()
    assert contents(tmp_path / "machine") == before


def test_frequencies_are_fixed_and_never_cross(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    with run.tuned(profile(cpu__frequency_range="3000000")) as tuning:
        assert {run.door.read(f"{folder}/scaling_{name}_freq") for name in ("min", "max")} == {"3000000"}
    assert tuning.changes[0].place.endswith("scaling_min_freq"), "down from 3.5 GHz, up from 1.2 GHz"
    with run.tuned(profile(cpu__frequency_range="4000000")) as tuning:
        assert tuning.unavailable[0].why == "policy0 has 800000 to 3500000 kHz"


def test_sleeping_alone_is_switched_off_with_its_table(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    place = "feature:nvme0:S1:0x0c"
    with run.tuned(profile(nvme__sleeps_alone="off")) as tuning:
        assert run.door.read(place) == "off"
    assert [change.id for change in tuning.changes] == ["nvme.sleeps_alone"]
    assert run.door.read(place) == APST_ON


def test_irqbalance_is_stopped_and_goes_on(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    with run.tuned(profile(load__irqbalance="stopped")) as tuning:
        assert run.door.read(tuning.changes[0].place) == "stopped"
    assert run.door.read(tuning.changes[0].place) == "running"


def test_two_at_once(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    other = Session(intel, kernel(tmp_path), tmp_path)
    quick = profile(kernel__nmi_watchdog="0")
    with run.tuned(quick):
        with (
            pytest.raises(IogaugeError, match=f"is being tuned by process {os.getpid()}$"),
            other.tuned(quick),
        ):
            pass
        other.recover()
        assert run.door.read("/proc/sys/kernel/nmi_watchdog") == "0", "nobody undoes a living process"
    with other.tuned(quick):
        pass


def test_a_tuning_that_stays(intel: Tree, tmp_path: Path) -> None:
    before = contents(tmp_path / "machine")
    run = Session(intel, kernel(tmp_path), tmp_path)
    run.apply(load_profile("latency"))
    run.recover()
    assert contents(tmp_path / "machine") != before, "the next start leaves it"
    with pytest.raises(IogaugeError, match="to stay"):
        run.apply(load_profile("latency"))
    status = tuning_status(intel.subject.host, state_dir=run.state, door=run.door)
    assert (status.profile, status.owner_pid, status.drifted) == ("latency", None, ())
    assert status.values > 20
    assert run.undo() is not None
    assert contents(tmp_path / "machine") == before
    assert run.undo() is None


def test_the_status_of_a_tuning(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)

    def status() -> str:
        return str(tuning_status(intel.subject.host, state_dir=run.state, door=run.door))

    assert status() == "nothing is tuned\n"
    quick = profile(kernel__nmi_watchdog="0", kernel__stat_interval="10")
    with run.tuned(quick, command="fio job.fio", target="/dev/nvme0n1"):
        text = " ".join(status().split())
        assert text.startswith("this machine is tuned to mine, for /dev/nvme0n1, since 20")
        assert f"by process {os.getpid()} (fio job.fio); all 2 values hold" in text
        write(tmp_path / "machine/proc/sys/vm/stat_interval", "5")
        lines = status().splitlines()
        assert max(map(len, lines)) <= 80
        at = lines.index("  kernel.stat_interval: set to '10', now '5'")
        assert " ".join(lines[:at]).endswith("1 of 2 values do not hold")
        assert lines[at + 1] == "    /proc/sys/vm/stat_interval"
    first, *last = status().splitlines()
    assert first == "nothing is tuned"
    assert " ".join(last).endswith(
        "put back by itself, but 1 value: kernel.stat_interval (it is '5' now: somebody else has changed it)"
    )


def test_after_a_reboot_only_what_can_outlive_it_is_looked_at(
    intel: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    run.apply(profile(kernel__nmi_watchdog="0", nvme__coalescing="0"))
    for module in (owner, session):
        monkeypatch.setattr(module, "boot_id", lambda: "another")
    run.recover()
    assert run.door.read("/proc/sys/kernel/nmi_watchdog") == "0", "the new boot's own value is none of ours"
    assert run.door.read("feature:nvme0:S1:0x08") == "0x103"
    assert "started again" in run.messages[-1]
    assert not State(run.state).journal.exists()


@pytest.mark.parametrize(
    "place",
    [
        "/etc/passwd",
        "/sys/../etc/passwd",
        "/sys/devices/pci0000:00/../../../etc/queue/scheduler",
        "/sys/devices/system/cpu/cpu0/online",
        "/sys/block/sda/device/delete",
        "/proc/sys/kernel/core_pattern",
        "/proc/irq/1/smp_affinity",
        "/proc/sysrq-trigger",
        "/dev/nvme0",
        "process:1",
        "feature:nvme0:S1:0x02x",
        "",
    ],
)
def test_no_other_place_can_be_changed(tmp_path: Path, place: str) -> None:
    door = Door(tmp_path / "sys", tmp_path / "proc")
    for access in (lambda: door.read(place), lambda: door.write(place, "1")):
        with pytest.raises(ForbiddenError):
            access()


def test_a_link_leads_nowhere_else(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("as it was\n")
    link = tmp_path / "proc/sys/vm/swappiness"
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        Door(tmp_path / "sys", tmp_path / "proc").write("/proc/sys/vm/swappiness", "1")
    assert victim.read_text() == "as it was\n"


def test_no_feature_but_two_can_be_set() -> None:
    from iogauge.machine.nvme import set_feature

    with pytest.raises(ValueError, match="0x02 may not be set"):
        set_feature.feature_value(Path("/dev/null"), 0x02, "0x0")
    with pytest.raises(ValueError, match="not a value"):
        set_feature.feature_value(Path("/dev/null"), 0x08, "0x10000")


def test_a_real_guardian_puts_everything_back(tmp_path: Path) -> None:
    """The guardian as it is started in earnest: another program, in a session of its own."""
    folder = tmp_path / "machine"
    for name in ("stat_interval", "swappiness"):
        write(folder / f"proc/sys/vm/{name}", "10")
    (folder / "sys").mkdir()
    door = Door(folder / "sys", folder / "proc")
    state = State(tmp_path / "state")
    reader, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:  # the owner
        os.close(reader)
        with state.locked(), guarded(state, door):
            journal = state.begin(profile="p", target=None, command="")
            journal.intend([Entry("kernel.swappiness", "/proc/sys/vm/swappiness", "60", "10")])
            os.write(pipe, b"x")
            os.kill(os.getpid(), 9)
    os.close(pipe)
    assert os.read(reader, 1) == b"x"
    os.waitpid(pid, 0)
    with state.locked(wait=True):
        pass
    while state.journal.exists():  # until the guardian has put it away
        with state.locked(wait=True):
            pass
    assert door.read("/proc/sys/vm/swappiness") == "60"
    assert state.read_last() is not None


def test_a_guardian_with_nothing_to_undo_waits_for_nobody(tmp_path: Path) -> None:
    """Another tuning may begin before it has looked: its owner would wait for the end of that."""
    state, door = State(tmp_path / "state"), Door(tmp_path, tmp_path)
    with State(tmp_path / "state").locked():
        guardian.recover_from(state, door, owner=1, start=1)
        state.begin(profile="another's", target=None, command="").release()
        guardian.recover_from(state, door, owner=os.getpid(), start=1)
        assert state.journal.exists()


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "3", "null", '{"owner": {"pid": 1}}'])
def test_a_journal_of_something_else_is_an_error_that_names_it(
    intel: Tree, tmp_path: Path, text: str
) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    run.state.mkdir()
    journal = run.state / "journal.jsonl"
    journal.write_text(text)
    for attempt in (run.recover, run.undo, lambda: run.apply(profile(kernel__nmi_watchdog="0"))):
        with pytest.raises(IogaugeError, match="not a journal") as caught:
            attempt()
        assert str(journal) in str(caught.value)
    assert journal.read_text() == text, "nobody throws away what may say how the machine was"


def test_who_undid_the_last_tuning_is_named(intel: Tree, tmp_path: Path) -> None:
    run = Session(intel, kernel(tmp_path), tmp_path)
    run.apply(profile(kernel__stat_interval="20"))
    run.undo()
    status = tuning_status(intel.subject.host, state_dir=run.state, door=run.door)
    assert status.last.endswith("was put back by --undo")


def test_the_guardian_stays_small() -> None:
    """It is there while others measure: it needs neither numpy nor pydantic."""
    code = "import sys, iogauge.machine.tuning.guardian; print(*sorted(sys.modules))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "pydantic", "typer", "iogauge.schema", "subprocess"} & set(modules)


def test_only_root_and_only_where_sys_can_be_written(
    intel: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(IogaugeError, match="only root") as caught:
        session.apply_to_stay(profile(kernel__nmi_watchdog="0"), type(intel.subject)(), on_message=str)
    assert "sudo" in (caught.value.hint or "")
