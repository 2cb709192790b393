"""Says what is wrong with an NVMe drive, from its SMART log and the limits of its controller."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.machine.nvme.identify import Controller
from iogauge.machine.nvme.logs import Smart

_SPARE_BIT = "the spare capacity is below its threshold"


def problems(smart: Smart, controller: Controller | None = None) -> list[str]:
    """Return what is wrong, a clause for each, the worst first; empty: the drive is healthy.

    A drive's own critical warnings come first, then what its counters say that the warnings do not.
    """
    return list(dict.fromkeys(_problems(smart, controller)))


def _problems(smart: Smart, controller: Controller | None) -> Iterator[str]:
    yield from smart.critical
    if smart.spare_percent < smart.spare_threshold_percent:
        yield _SPARE_BIT
    if smart.media_errors:
        times = "once" if smart.media_errors == 1 else f"{smart.media_errors:,} times"
        yield f"data could not be recovered {times}"
    if smart.used_percent >= 100:
        yield f"{smart.used_percent} % of its rated endurance is used"
    if controller is not None and smart.temperature_C is not None:
        for name, limit_C in (("critical", controller.critical_C), ("warning", controller.warning_C)):
            if limit_C is not None and smart.temperature_C >= limit_C:
                yield f"it is at {smart.temperature_C} C, and its {name} temperature is {limit_C} C"
                break
