"""What a drive said of itself before, during and after a run."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from iogauge.schema.base import Model, NonNegative

Value = int | float | None


class DriveReading(Model):
    """What a drive said at one instant. None: unknown, or the drive does not report it.

    Counters count over the life of the drive. Temperatures are in degrees Celsius.
    """

    temperature_C: float | None = None
    """NVMe: the composite temperature. Other drives: the kernel's sensor."""
    sensors_C: tuple[int | None, ...] = ()
    """NVMe: the drive's eight sensors."""
    power_state: NonNegative | None = None
    critical: tuple[str, ...] = ()
    """What the drive itself calls critical, in words."""
    temperature_alarm: bool | None = None
    """Whether it says that a temperature is beyond its threshold."""
    warning_min: NonNegative | None = None
    """Minutes at or above its warning temperature."""
    critical_min: NonNegative | None = None
    light_throttles: NonNegative | None = None
    """How often the host's thermal management throttled lightly."""
    heavy_throttles: NonNegative | None = None
    light_throttled_s: NonNegative | None = None
    heavy_throttled_s: NonNegative | None = None
    media_errors: NonNegative | None = None
    error_entries: NonNegative | None = None
    """Entries that its error log has had."""
    read_bytes: NonNegative | None = None
    written_bytes: NonNegative | None = None
    read_commands: NonNegative | None = None
    write_commands: NonNegative | None = None
    busy_min: NonNegative | None = None
    power_cycles: NonNegative | None = None
    power_on_h: NonNegative | None = None
    unsafe_shutdowns: NonNegative | None = None
    spare_percent: NonNegative | None = None
    used_percent: NonNegative | None = None


SAMPLED = (
    "temperature_C",
    "power_state",
    "temperature_alarm",
    "warning_min",
    "critical_min",
    "light_throttles",
    "heavy_throttles",
    "light_throttled_s",
    "heavy_throttled_s",
    "media_errors",
    "error_entries",
    "written_bytes",
)
"""Fields of a reading that every sample holds. Each sensor is a column of its own, ``sensor_1_C`` and so on."""


class DriveSamples(Model):
    """One drive over a run: a sample just before it, one a second, and one just after it."""

    device: str
    """Kernel name of the disk."""
    warning_C: float | None = None
    """The temperature from which the drive warns (WCTEMP, or the limit of the kernel's sensor)."""
    critical_C: float | None = None
    before: DriveReading | None = None
    """None: it did not answer in time."""
    after: DriveReading | None = None
    stage: tuple[NonNegative, ...] = ()
    """The stage of each sample."""
    at_ns: tuple[int, ...] = ()
    """When each sample was taken, since the start of its stage; the first one is negative."""
    took_us: tuple[NonNegative, ...] = ()
    """How long the drive and the kernel took to answer."""
    columns: dict[str, tuple[Value, ...]] = Field(default_factory=dict)
    """The values of each sample by name. A column of equal values holds one; of unknown values, it is left out."""
    unread: str = ""
    """Why something is missing; empty: nothing is."""

    def column(self, name: str) -> tuple[Value, ...]:
        """Return a value for every sample.

        >>> DriveSamples(device="a", at_ns=(0, 1), columns={"power_state": (3,)}).column("power_state")
        (3, 3)
        """
        values = self.columns.get(name, (None,))
        return values * len(self.at_ns) if len(values) == 1 else values

    @property
    def changes(self) -> Mapping[str, int]:
        """How much each counter grew from before the run to after it; those that did not are left out."""
        if self.before is None or self.after is None:
            return {}
        return {
            name: grown
            for name in COUNTERS
            if (grown := (getattr(self.after, name) or 0) - (getattr(self.before, name) or 0))
            and getattr(self.after, name) is not None
        }


COUNTERS = tuple(
    name
    for name in DriveReading.model_fields
    if name not in ("temperature_C", "sensors_C", "power_state", "critical", "temperature_alarm")
)
