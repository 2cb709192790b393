"""Checks of what an NVMe drive says itself, by admin commands that only read; without root they are unknown.

Source: NVM Express Base Specification, Get Features and the SMART / Health Information log.
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge.machine.audit.check import Check, Judge, Look, Seen, at_most, equals, without_nvme
from iogauge.machine.audit.subject import Subject
from iogauge.machine.nvme.features import Features
from iogauge.machine.nvme.logs import Smart

_SOURCE = "NVM Express Base Specification"


def feature(number: str, value_of: Callable[[Features], object | None]) -> Look:
    """Look at one of the drive's features; None: it does not say."""

    def look(subject: Subject) -> Seen:
        return _answer(f"feature {number}", subject, subject.answers and value_of(subject.answers.features))

    return look


def health(value_of: Callable[[Smart], object | None]) -> Look:
    """Look at a field of the drive's SMART log."""

    def look(subject: Subject) -> Seen:
        smart = subject.answers.smart if subject.answers else None
        return _answer("log 02h", subject, None if smart is None else value_of(smart))

    return look


def _answer(command: str, subject: Subject, value: object | None) -> Seen:
    if value is None:
        return Seen(command, problem=subject.silence or "the drive does not say")
    return Seen(command, ({True: "on", False: "off"}[value] if isinstance(value, bool) else str(value),))


def _check(
    name: str,
    title: str,
    look: Look,
    why: str,
    *,
    wanted: str = "",
    judge: Judge | None = None,
    change: str = "",
    weight: int = 0,
    volatile: bool = False,
) -> Check:
    return Check(
        id=f"nvme.{name}", weight=weight, volatile=volatile,
        title=title, look=look, why=why, wanted=wanted, judge=judge, change=change, source=_SOURCE,
        excused=without_nvme,
    )  # fmt: skip


CHECKS = (
    Check(
        id="nvme.power_state", volatile=True, title="power state now",
        look=feature("02h", lambda said: said.power.state if said.power else None),
        wanted="0", judge=at_most(0), why="the other states are slower, or do no work", source=_SOURCE,
        change="nvme set-feature /dev/{nvme} --feature-id=2 --value=0", excused=without_nvme,
    ),
    _check(
        "volatile_cache", "volatile write cache", feature("06h", lambda said: said.write_cache),
        "writes return before they are durable; PTS wants it off", weight=3,
    ),
    _check(
        "coalescing", "interrupts held back, us",
        feature("08h", lambda said: said.coalescing.time_us if said.coalescing else None),
        "the drive waits this long for more completions before it interrupts", wanted="0", judge=at_most(0),
        change="nvme set-feature /dev/{nvme} --feature-id=8 --value=0", weight=3,
    ),
    _check(
        "sleeps_alone", "sleeping on its own (APST)",
        feature("0Ch", lambda said: said.apst.enabled if said.apst else None),
        "a drive that sleeps must wake before a request", wanted="off", judge=equals("off"),
        change="nvme set-feature /dev/{nvme} --feature-id=0xc --value=0", weight=3,
    ),
    _check(
        "host_memory_used", "memory of the host in use (HMB)",
        feature("0Dh", lambda said: said.host_memory.enabled if said.host_memory else None),
        "the drive keeps tables there, and reads them over the link", weight=1,
    ),
    _check(
        "critical", "critical warnings", health(lambda smart: ", ".join(smart.critical) or "none"),
        "the drive reports that it is failing, hot, or read-only", wanted="none", judge=equals("none"),
    ),
    _check(
        "power_on_hours", "power-on hours", health(lambda smart: smart.power_on_h),
        "they may leave out hours asleep; for 3D XPoint the hours since the start count", volatile=True,
    ),
    _check(
        "worn", "life used, %", health(lambda smart: smart.used_percent),
        "worn flash is slower to write and needs more correction", volatile=True,
    ),
    _check(
        "media_errors", "errors of the media", health(lambda smart: smart.media_errors),
        "each was data that could not be read", wanted="0", judge=at_most(0),
    ),
    _check(
        "hot_minutes", "minutes above its own warning", health(lambda smart: smart.warning_min),
        "the drive has throttled itself", wanted="0", judge=at_most(0),
    ),
)  # fmt: skip
