"""What the samples of a drive say of a run, on a line: its temperature, its power states, and what it counted."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.schema import DriveSamples
from iogauge.text import numbers

_COUNTED = {
    "media_errors": "unrecovered media error",
    "error_entries": "new entry in its error log",
    "unsafe_shutdowns": "unsafe shutdown",
}
_PLURALS = {"error_entries": "new entries in its error log"}


def text(samples: DriveSamples) -> str:
    """Return what a drive said of itself over a run; empty: nothing.

    >>> from iogauge.schema import DriveReading
    >>> text(DriveSamples(
    ...     device="nvme0n1", warning_C=75, at_ns=(-1, 10**9, 2 * 10**9), columns={"temperature_C": (40, 43, 44),
    ...     "power_state": (0,)}, before=DriveReading(media_errors=1), after=DriveReading(media_errors=2)))
    '40 to 44 C (warns from 75 C on); power state 0; 1 unrecovered media error; 3 samples'
    """
    said = list(_parts(samples))
    return "; ".join([*said, numbers.counted(len(samples.at_ns), "sample")] if said else said)


def _parts(samples: DriveSamples) -> Iterator[str]:
    temperatures = [value for value in samples.column("temperature_C") if value is not None]
    if temperatures:
        low, high = f"{min(temperatures):.0f}", f"{max(temperatures):.0f}"
        limit = "" if samples.warning_C is None else f" (warns from {samples.warning_C:.0f} C on)"
        yield f"{high if low == high else f'{low} to {high}'} C{limit}"
    if states := sorted({str(value) for value in samples.column("power_state") if value is not None}):
        yield f"power state{'s' if len(states) > 1 else ''} {numbers.listed(states)}"
    for name, noun in _COUNTED.items():
        if count := samples.changes.get(name, 0):
            plural = _PLURALS.get(name)
            yield f"{count:,} {plural}" if plural and count > 1 else numbers.counted(count, noun)
    if samples.unread:
        yield f"not complete: {samples.unread}"
