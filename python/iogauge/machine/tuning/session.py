"""Begins and ends a tuning: checks who may tune, changes settings, and puts all of them back.

The order keeps the machine safe. The lock comes first, then what a dead process left is undone; the guardian watches
before the journal begins, and the journal is on disk before a setting is changed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.machine.audit.subject import Subject
from iogauge.machine.tuning import STATE_DIRECTORY
from iogauge.machine.tuning.apply import Applied, apply
from iogauge.machine.tuning.door import Door
from iogauge.machine.tuning.guard import Guard, guarded
from iogauge.machine.tuning.journal import BusyError, Journal, Record, State
from iogauge.machine.tuning.owner import boot_id
from iogauge.machine.tuning.profile import Profile
from iogauge.machine.tuning.undo import Left, Undone, undo
from iogauge.target.users.sysfs import HOST, Host
from iogauge.text.numbers import counted
from iogauge.text.option import either

OnMessage = Callable[[str], object]


@dataclass
class Tuning(Applied):
    """What a tuning changed, and what this machine cannot do; after its end, what was left."""

    left: tuple[Left, ...] = ()
    """What was not put back: somebody else has changed it meanwhile, or it has gone."""


def door_of(host: Host) -> Door:
    """Return the door of a machine."""
    return Door(host.sys, host.proc)


@contextlib.contextmanager
def tuned(
    profile: Profile,
    subject: Subject,
    *,
    on_message: OnMessage,
    state_dir: Path = STATE_DIRECTORY,
    command: str = "",
    target: str | None = None,
    door: Door | None = None,
    guard: Guard = guarded,
) -> Iterator[Tuning]:
    """Tune the machine of ``subject`` while the context lasts, and put everything back at its end.

    ``on_message`` gets a text when the settings are changed, one when they are put back, and one for what a dead
    process had left. ``command`` and ``target`` are shown by ``--status``; ``door`` and ``guard`` are the tests'.

    Raises BusyError if somebody else tunes, IogaugeError if the machine is tuned to stay or may not be changed.
    """
    state, door = State(state_dir), door or door_of(subject.host)
    _require_writable(door)
    # The guardian ends after the lock is free: it takes the lock to look whether anything is left.
    with contextlib.ExitStack() as watched, _locked(state):
        _refuse_applied(_recovered(state, door, on_message))
        watched.enter_context(guard(state, door))
        journal = state.begin(profile=profile.name, target=target, command=command)
        tuning = Tuning()
        with contextlib.ExitStack() as held:
            try:
                apply(profile, subject, door, journal, tuning, hold=lambda fd: held.callback(os.close, fd))
                on_message(tuning.summary())
                yield tuning
            finally:
                with _uninterrupted():
                    held.close()
                    tuning.left = _end(journal, door)
                    on_message(_undone_text(counted(len(tuning.settings), "setting"), tuning.left))


def apply_to_stay(
    profile: Profile,
    subject: Subject,
    *,
    on_message: OnMessage,
    state_dir: Path = STATE_DIRECTORY,
    target: str | None = None,
    door: Door | None = None,
    guard: Guard = guarded,
) -> Tuning:
    """Tune the machine until ``undo_applied``, or until it is started again. Raises as ``tuned`` does."""
    state, door = State(state_dir), door or door_of(subject.host)
    _require_writable(door)
    with contextlib.ExitStack() as watched, _locked(state):
        _refuse_applied(_recovered(state, door, on_message))
        watched.enter_context(guard(state, door))  # until it is complete: half a profile does not stay
        journal = state.begin(profile=profile.name, target=target, command="")
        tuning = Tuning()
        try:
            apply(profile, subject, door, journal, tuning, hold=None)
            journal.applied()
        except BaseException:
            with _uninterrupted():
                _end(journal, door)
            raise
        journal.release()
    on_message(tuning.summary())
    return tuning


def undo_applied(
    host: Host = HOST, *, on_message: OnMessage, state_dir: Path = STATE_DIRECTORY, door: Door | None = None
) -> Undone | None:
    """Put back what ``apply_to_stay`` changed, or what a dead process left; None: there is nothing.

    Raises BusyError if a process tunes now: ending it undoes its tuning.
    """
    state = State(state_dir)
    if host == HOST:
        require_root()
    with _locked(state):
        record = state.read()
        if record is None:
            return None
        return _recover(state, record, door or door_of(host), on_message, also_applied=True)


def recover(
    host: Host, on_message: OnMessage, *, state_dir: Path = STATE_DIRECTORY, door: Door | None = None
) -> None:
    """Undo what a dead process left, if there is anything; do nothing while a process tunes. Raises IogaugeError."""
    state = State(state_dir)
    if not state.journal.exists():
        return
    with contextlib.suppress(BusyError), _locked(state):
        _recovered(state, door or door_of(host), on_message)


def _recovered(state: State, door: Door, on_message: OnMessage) -> Record | None:
    """Undo what a dead process left; return the tuning that is to stay, if there is one."""
    record = state.read()
    if record is None:
        if state.journal.exists():
            state.discard()
        return None
    if record.applied and record.closed is None and record.owner.boot == boot_id():
        return record
    _recover(state, record, door, on_message)
    return None


def _recover(
    state: State, record: Record, door: Door, on_message: OnMessage, *, also_applied: bool = False
) -> Undone:
    journal = state.reopen(record)
    try:
        if record.closed is not None:  # its end was interrupted
            journal.close(record.closed)
            return Undone(0, (), ())
        rebooted = record.owner.boot != boot_id()
        with _uninterrupted():
            result = undo(record, door, rebooted=rebooted)
            journal.close(result.report("--undo" if also_applied else "the next start"))
    finally:
        journal.release()
    who = (
        f"the tuning of {record.since}" if also_applied and record.applied else f"process {record.owner.pid}"
    )
    if rebooted:
        on_message(f"the machine was started again since {who} tuned it: the start has reset its settings")
    elif record.entries:
        on_message(
            f"{who}: {_undone_text(counted(result.restored, 'value'), (*result.left, *result.failed))}"
        )
    return result


def _end(journal: Journal, door: Door) -> tuple[Left, ...]:
    """Undo, and put the journal away; what the kernel refuses stays in it, and the guardian tries again."""
    try:
        result = undo(journal.record, door)
        if not result.failed:
            journal.close(result.report("itself"))
        return (*result.left, *result.failed)
    finally:
        journal.release()


def require_root() -> None:
    """Raise IogaugeError for anybody else than root."""
    if os.geteuid() != 0:
        raise IogaugeError(
            "only root may tune this machine, or see how it is tuned", hint="run it as root, such as by sudo"
        )


def _require_writable(door: Door) -> None:
    if door.sys == HOST.sys:
        require_root()
    if os.statvfs(door.sys).f_flag & os.ST_RDONLY:
        raise IogaugeError(
            f"{door.sys} can only be read",
            hint="tune on the machine itself: a container may not change its settings",
        )


def _refuse_applied(record: Record | None) -> None:
    if record is not None:
        raise IogaugeError(
            f"this machine is tuned to {record.profile} since {record.since}, to stay",
            hint=f"put it back first: {either(command='iogauge tune --undo', library='iogauge.undo_tuning()')}",
        )


def _undone_text(what: str, left: tuple[Left, ...]) -> str:
    if not left:
        return f"put back: {what}, every value as before"
    whys = "; ".join(f"{item.id} ({item.place}): {item.why}" for item in left[:3])
    more = f"; and {len(left) - 3} more" if len(left) > 3 else ""
    return f"not put back: {whys}{more}"


@contextlib.contextmanager
def _locked(state: State) -> Iterator[None]:
    """Hold the lock; an error of the system is one that names the directory."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(state.locked())
        except OSError as error:
            raise IogaugeError(
                f"{state.directory}: {error.strerror}", hint="tuning needs root, and a journal on disk"
            ) from None
        yield


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay signals that end the process: undoing takes no longer than a moment. SIGKILL is the guardian's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
