"""Tunings, crashes, changes by others and reboots in any order: what nobody else changed is as before at the end."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from iogauge.errors import IogaugeError
from iogauge.machine.audit.subject import Subject
from iogauge.machine.tuning import journal, owner, session
from iogauge.machine.tuning.profile import Profile, SettingValue
from iogauge.machine.tuning.status import tuning_status
from iogauge.target.users.sysfs import Host
from tests.audit_trees import write
from tests.fast.machine.tuning.tuning_machine import Clock, Disk, Kernel

GOVERNORS = {f"sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor" for number in range(3)}
NUMBERS = {"proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/numa_balancing", "proc/sys/vm/stat_interval"}
FILES = sorted(GOVERNORS | NUMBERS)
PROFILE = Profile(
    "p",
    "A profile",
    "",
    (
        SettingValue("kernel.stat_interval", "10"),
        SettingValue("cpu.governor", "performance"),
        SettingValue("kernel.nmi_watchdog", "0"),
        SettingValue("kernel.numa_balancing", "0"),
    ),
)
WANTED = dict.fromkeys(GOVERNORS, "performance") | dict.fromkeys(NUMBERS, "0")
WANTED["proc/sys/vm/stat_interval"] = "10"


class Killed(BaseException):
    """The process is gone: nothing that it does from now on happens."""


def die() -> None:
    raise Killed


class Machine(RuleBasedStateMachine):
    """A machine, its journal, and what each file must hold when nothing is tuned."""

    @initialize(numbers=strategies.lists(strategies.integers(0, 1), min_size=3, max_size=3))
    def build(self, numbers: list[int]) -> None:
        """Make the machine."""
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name) / "machine"
        self.state = Path(self.temporary.name) / "state"
        for path in GOVERNORS:
            write(self.folder / path, "powersave")
        for path, number in zip(sorted(NUMBERS), numbers, strict=True):
            write(self.folder / path, str(number))
        self.subject = Subject(Host(self.folder / "sys", self.folder / "proc"))
        self.own = {path: self.now(path) for path in FILES}
        """What each file holds by itself."""
        self.boot = "boot-1"
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(owner, "boot_id", lambda: self.boot)
        self.patch.setattr(session, "boot_id", lambda: self.boot)
        # A process of this test that was killed counts as dead, whatever runs under its number.
        self.applied = False

    def teardown(self) -> None:
        """Remove the machine."""
        if hasattr(self, "patch"):
            self.patch.undo()
            self.temporary.cleanup()

    def now(self, path: str) -> str:
        """Return what a file holds."""
        return (self.folder / path).read_text().strip()

    @contextlib.contextmanager
    def living(self, instants: int | None):
        """Yield a door; the process that uses it dies after so many instants."""
        clock = Clock(end_at=instants, end=die)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "os", Disk(clock))
            with contextlib.suppress(Killed):
                yield Kernel(self.folder, clock)

    @rule(instants=strategies.none() | strategies.integers(1, 90), stays=strategies.booleans())
    def tune(self, instants: int | None, stays: bool) -> None:
        """Tune, and die on the way or not; without a guardian, as if that died, too."""
        with self.living(instants) as door:
            try:
                if stays:
                    session.apply_to_stay(
                        PROFILE, self.subject, on_message=str, state_dir=self.state, door=door, guard=nobody
                    )
                else:
                    with session.tuned(
                        PROFILE, self.subject, on_message=str, state_dir=self.state, door=door, guard=nobody
                    ):
                        assert [self.now(path) for path in FILES] == [WANTED[path] for path in FILES]
                    self.settled()
            except IogaugeError:
                assert self.is_applied(), "only a tuning that stays refuses another"

    @rule(path=strategies.sampled_from(FILES), value=strategies.sampled_from(["0", "1", "7"]))
    def somebody_else_changes(self, path: str, value: str) -> None:
        """Write to a file as another program does."""
        value = (
            {"0": "powersave", "1": "schedutil", "7": "conservative"}[value] if path in GOVERNORS else value
        )
        write(self.folder / path, value)
        if self.is_tuned() and value == WANTED[path] and self.was_intended(path):
            return  # nobody can tell that it was not the tuning
        self.own[path] = value

    @rule(
        instants=strategies.none() | strategies.integers(20, 90),
        path=strategies.sampled_from(FILES),
        value=strategies.sampled_from(["0", "1", "7"]),
    )
    def somebody_else_changes_what_is_tuned(self, instants: int | None, path: str, value: str) -> None:
        """Tune to stay, or die on the way, and have another program write then."""
        self.tune(instants, stays=True)
        self.somebody_else_changes(path, value)

    @rule(instants=strategies.none() | strategies.integers(1, 40))
    def start(self, instants: int | None) -> None:
        """Start the next command, which may die, too."""
        with self.living(instants) as door:
            session.recover(self.subject.host, str, state_dir=self.state, door=door)
            if not self.is_applied():
                self.settled()

    @rule(instants=strategies.none() | strategies.integers(1, 40))
    def undo(self, instants: int | None) -> None:
        """Undo a tuning that stays."""
        with self.living(instants) as door:
            session.undo_applied(self.subject.host, on_message=str, state_dir=self.state, door=door)
            self.settled()

    @rule()
    def reboot(self) -> None:
        """Start the machine again: every setting is its default."""
        self.boot += "-1"
        for path in FILES:
            value = "powersave" if path in GOVERNORS else "1"
            write(self.folder / path, value)
            self.own[path] = value

    @rule()
    def ask(self) -> None:
        """Ask what is tuned: it never changes anything, whatever state there is."""
        before = [self.now(path) for path in FILES]
        status = tuning_status(self.subject.host, state_dir=self.state, door=Kernel(self.folder))
        assert status.answer
        assert [self.now(path) for path in FILES] == before

    @invariant()
    def nothing_is_tuned_without_a_journal(self) -> None:
        """Look at the machine whenever nothing is written down."""
        if hasattr(self, "own") and not (self.state / "journal.jsonl").exists():
            assert {path: self.now(path) for path in FILES} == self.own

    def settled(self) -> None:
        """Look that everything is as before."""
        assert {path: self.now(path) for path in FILES} == self.own

    def is_tuned(self) -> bool:
        """Return whether a journal of this boot says so."""
        record = journal.State(self.state).read()
        return record is not None and record.closed is None and record.owner.boot == self.boot

    def is_applied(self) -> bool:
        """Return whether a tuning is to stay."""
        record = journal.State(self.state).read()
        return self.is_tuned() and record is not None and record.applied

    def was_intended(self, path: str) -> bool:
        """Return whether the journal says that this file is changed."""
        record = journal.State(self.state).read()
        return record is not None and any(entry.place == f"/{path}" for entry in record.entries)


@contextlib.contextmanager
def nobody(*_: object):
    """Watch over nothing."""
    yield


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestMachine = Machine.TestCase
