"""Tuning a machine for low latency: while a block lasts, or until it is undone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from iogauge.library.options import StrPath
from iogauge.library.public import public

if TYPE_CHECKING:
    from iogauge.machine.audit.subject import Subject
    from iogauge.machine.tuning.session import Tuning
    from iogauge.machine.tuning.status import TuningStatus
    from iogauge.machine.tuning.undo import Undone


def _silent(_: str) -> None:
    pass


@public
def tune(
    profile: StrPath = "latency",
    target: StrPath | None = None,
    *,
    on_message: Callable[[str], object] | None = None,
    command: str = "",
) -> AbstractContextManager[Tuning]:
    """Tune this machine while a ``with`` block lasts; everything is put back at its end, and if the process dies.

    Needs root. Every change is written down before it is made, read back after it, and undone in reverse. A small
    second process undoes it if this one is killed, and the next start of iogauge if both are. A value that somebody
    else changes meanwhile stays as it is, and is reported.

    Args:
        profile: ``latency``, ``published-linux``, or the path of a TOML file of your own.
        target: a drive, or a file on it; its interrupts, link and queues are tuned, too. By default the machine
            alone.
        on_message: gets a text after the settings are changed, and one after they are put back.
        command: what the tuning is for; ``tuning_status`` shows it.

    Raises IogaugeError where the machine may not be changed or is being tuned, and UsageError for an unknown profile.

    Examples:
        with iogauge.tune("latency", "/dev/nvme0n1") as tuning:
            result = iogauge.run("job.fio")
        print(tuning.settings, tuning.unavailable)
    """
    from iogauge.machine.tuning.profile import load_profile
    from iogauge.machine.tuning.session import tuned

    return tuned(
        load_profile(str(profile)),
        _subject(target),
        on_message=on_message or _silent,
        command=command,
        target=None if target is None else str(target),
    )


@public
def apply_tuning(
    profile: StrPath = "latency",
    target: StrPath | None = None,
    *,
    on_message: Callable[[str], object] | None = None,
) -> Tuning:
    """Tune this machine until ``undo_tuning``, or until it is started again.

    Arguments and errors are those of ``tune``. A latency that only an open file can ask for is not held: idle states
    are switched off one by one instead.
    """
    from iogauge.machine.tuning.profile import load_profile
    from iogauge.machine.tuning.session import apply_to_stay

    return apply_to_stay(
        load_profile(str(profile)),
        _subject(target),
        on_message=on_message or _silent,
        target=None if target is None else str(target),
    )


@public
def undo_tuning(*, on_message: Callable[[str], object] | None = None) -> Undone | None:
    """Put back what ``apply_tuning`` changed, or what a dead process left. None: there was nothing.

    Raises IogaugeError while a process tunes: its end puts everything back.
    """
    from iogauge.machine.tuning.session import undo_applied

    return undo_applied(on_message=on_message or _silent)


@public
def tuning_status() -> TuningStatus:
    """Return what is tuned on this machine, by whom and since when, and whether the values still hold.

    Only root sees it. Raises IogaugeError.
    """
    from iogauge.machine.tuning.session import require_root
    from iogauge.machine.tuning.status import tuning_status

    require_root()
    return tuning_status()


def _subject(target: StrPath | None) -> Subject:
    from iogauge.library.audit import subject_of
    from iogauge.machine.audit.subject import Subject

    return Subject() if target is None else subject_of(str(target))
