"""Where the time of a run's requests went: the parts of lat, as means and, where they were traced, as distributions."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from iogauge.schema.base import Direction, Encoded, Model, NonNegative
from iogauge.schema.results import Exact


class LatencySplit(Model):
    """The mean lat of one direction on one device: the part in block layer and device, and the software around it.

    Both cover all requests of the run, ramps included, because the device's counters do.
    """

    device: str
    direction: Direction
    ios: NonNegative
    """Requests of the run on this device that succeeded."""
    lat_ns: float
    """Their mean lat."""
    block_ns: float | None = None
    """Mean time between the allocation of a request and its completion, by the device's counters; None: unknown."""
    error_ns: float = 0
    """How far off ``block_ns`` may be (95 %), where the device counts its time in ticks of the kernel's timer."""
    unknown: str = ""
    """Why the counters do not tell."""
    ramp: bool = False
    """Whether the requests include those of a ramp."""

    @property
    def outside_ns(self) -> float | None:
        """Mean time outside: the system call before, and from the interrupt to the program after; None: unknown."""
        return None if self.block_ns is None else self.lat_ns - self.block_ns


class Part(StrEnum):
    """A part of a request's time inside the kernel, between two of its trace events."""

    SUBMISSION = "submission"
    """From the system call (``sys_enter_*``) to the block layer's entry (``block_bio_queue``)."""
    QUEUE = "queue"
    """From the block layer's entry (``block_bio_queue``) to the driver (``block_rq_issue``)."""
    DEVICE = "device"
    """From the driver (``block_rq_issue``) to the completion (``block_rq_complete``)."""
    BLOCK = "block"
    """From the block layer's entry to the completion: both."""


class PartLatency(Model):
    """The distribution of one part, of the traced requests of one direction."""

    direction: Direction
    part: Part
    histogram: Encoded
    """As in ``Tally``. Requests that were cut off count with their age, a lower bound."""
    exact: Exact


class LatencyTrace(Model):
    """Requests of one device that were traced, in windows spread over a run, and what the tracing cost."""

    device: str
    requests: bool
    """Whether the driver has requests. Without them (zram, device-mapper) only ``Part.BLOCK`` is known."""
    windows: NonNegative
    traced_ns: NonNegative
    """Time in which events were recorded, or were being switched on or off."""
    elapsed_ns: NonNegative
    """From the first window's beginning to the end of the trace."""
    matched: NonNegative
    """Traced requests whose every event is known: those in the histograms, but for those cut off."""
    cut: NonNegative = 0
    """Requests that had not come back when their window ended."""
    unmatched: NonNegative = 0
    """Requests that were split, merged or mixed up with others at the same place: not in the histograms."""
    foreign: NonNegative = 0
    """Requests of other programs: not in the histograms."""
    lost_events: NonNegative = 0
    """Events for which the kernel's buffer had no room."""
    slowdown: float | None = None
    """The share of its rate that the run lost while it was traced, by comparing windows and pauses; None: unknown."""
    slowdown_low: float | None = None
    slowdown_high: float | None = None
    """Its 95 % interval; None: too few windows."""
    latencies: tuple[PartLatency, ...] = Field(default=())
    stopped: str = ""
    """Why tracing ended early; empty: it did not."""

    @property
    def share(self) -> float:
        """The share of its time in which the run was traced."""
        return self.traced_ns / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def cost(self) -> tuple[float, float, float] | None:
        """The share of its rate that the whole run lost by tracing, and its 95 % interval; None: unknown."""
        if self.slowdown is None or self.slowdown_low is None or self.slowdown_high is None:
            return None
        return self.slowdown * self.share, self.slowdown_low * self.share, self.slowdown_high * self.share

    def latency(self, direction: Direction, part: Part) -> PartLatency | None:
        """Return the distribution of one part; None: there is none."""
        return next(
            (known for known in self.latencies if (known.direction, known.part) == (direction, part)), None
        )
