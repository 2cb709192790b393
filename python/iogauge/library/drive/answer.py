"""The answer in a sentence: which drive it is, and whether it is healthy. What is wrong comes first."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.machine.ata.health import problems as ata_problems
from iogauge.machine.ata.statistics import Statistics
from iogauge.machine.drive import Drive
from iogauge.machine.nvme.health import problems
from iogauge.text import numbers


def problems_of(drive: Drive) -> list[str] | None:
    """Return what is wrong with a drive, a clause for each, the worst first; None if its health is unknown."""
    if drive.ata is not None and drive.ata.answers is not None:
        return ata_problems(drive.ata.answers)
    if drive.nvme is None or drive.nvme.smart is None:
        return None
    return problems(drive.nvme.smart, drive.nvme.controller)


def temperature_C(drive: Drive) -> float | None:
    """Return the drive's temperature: by its SMART log or statistics, or else by the kernel's sensor."""
    logged_C: float | None = drive.nvme.smart.temperature_C if drive.nvme and drive.nvme.smart else None
    if counters := _statistics(drive):
        logged_C = counters.temperature_C
    return drive.temperature_C if logged_C is None else logged_C


def _statistics(drive: Drive) -> Statistics | None:
    return drive.ata.answers.statistics if drive.ata and drive.ata.answers else None


def answer(drive: Drive) -> str:
    """Return the sentence."""
    name = ", ".join(_identity(drive))
    if drive.restriction:
        return f"{name}: {drive.restriction}."
    condition = f"{name}: {', '.join(_condition(drive))}."
    if wrong := problems_of(drive):
        return f"{'Problem' if len(wrong) == 1 else 'Problems'}: {'; '.join(wrong)}. {condition}"
    return condition


def _identity(drive: Drive) -> Iterator[str]:
    yield drive.facts.model or drive.facts.device or drive.facts.path
    yield numbers.size(drive.facts.size_bytes)
    if drive.facts.firmware:
        yield f"firmware {drive.facts.firmware}"


def _condition(drive: Drive) -> Iterator[str]:
    smart, counters = drive.nvme.smart if drive.nvme else None, _statistics(drive)
    wrong = problems_of(drive)
    if wrong is None:
        yield f"health unknown ({_why_unknown(drive)})"
    elif not wrong:
        yield "healthy"
    worn = smart.used_percent if smart else counters and counters.used_percent
    if worn is not None:
        yield f"{worn} % worn"
    if (celsius := temperature_C(drive)) is not None:
        yield f"{celsius:.0f} C"
    hours = smart.power_on_h if smart else counters and counters.power_on_h
    if hours is not None:
        yield f"{hours:,} h on"


def _why_unknown(drive: Drive) -> str:
    return next(
        (item.hint or item.why for item in drive.unread if item.what.startswith("SMART")),
        "it has no SMART log",
    )
