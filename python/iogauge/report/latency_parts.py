"""The parts of lat at the mean and at quantiles, of traced requests, for the table of a run and for the report.

A request spends lat in the system call that submits it, in the block layer's queue, in driver and device, and from the
completion to the program. The last part is what remains of lat: at a quantile a difference of quantiles, not the
quantile of a difference, because the same requests need not be the slowest in every part.

Source: Intel's evaluation guide, "SSD latency and system latency".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.report.run.rows import fraction, rows, supported
from iogauge.schema import Direction, LatencyTrace, Part, RunRecord
from iogauge.stats.histogram import Histogram
from iogauge.stats.traced import histogram_of, supports

PERCENTILES = (50, 90, 99, 99.9, 99.99, 99.999)
NAMES = {
    Part.SUBMISSION: "submission",
    Part.QUEUE: "queue",
    Part.DEVICE: "device",
    Part.BLOCK: "block layer + device",
}
DIRECTIONS = (Direction.READ, Direction.WRITE, Direction.TRIM)


@dataclass(frozen=True)
class PartsAt:
    """The parts of lat at its mean or at one quantile, in ns, by their names in the order of a request."""

    label: str
    """``mean``, or a quantile such as ``p99.9``."""
    parts_ns: dict[str, float]
    """The last is what remains of lat; it is below zero where the others are too long: see ``exceeds``."""
    lat_ns: float

    @property
    def exceeds(self) -> bool:
        """Whether the traced parts are longer than lat: the windows had slower requests than the whole run, or tracing
        made them slower.
        """
        return list(self.parts_ns.values())[-1] < 0


def parts_at(traces: Sequence[LatencyTrace], direction: Direction, lat: Histogram) -> list[PartsAt]:
    """Return the parts at the mean and at every percentile that traces of one load and its lat support.

    Empty: no request of this direction was traced.
    """
    merged = {part: _merged(traces, direction, part) for part in Part}
    known = {part: histogram for part, histogram in merged.items() if histogram.count}
    block = known.pop(Part.BLOCK, None)
    if block is None or not lat.count:
        return []
    if Part.DEVICE not in known:
        known[Part.BLOCK] = block
    # Requests that other threads submit have no submission: then it is part of what remains.
    rest = "completion" if Part.SUBMISSION in known else "software"
    cut = sum(trace.cut for trace in traces)

    def at(label: str, values: Sequence[float], lat_ns: float) -> PartsAt:
        parts = dict(zip((NAMES[part] for part in known), values, strict=True))
        return PartsAt(label, {**parts, rest: lat_ns - sum(values)}, lat_ns)

    points = [at("mean", [histogram.mean for histogram in known.values()], lat.mean)]
    for percentile in PERCENTILES:
        q = fraction(percentile)
        if not supported(lat, q) or not all(supports(part, q, cut=cut) for part in known.values()):
            break
        values = [histogram.quantile(q) for histogram in known.values()]
        points.append(at(f"p{percentile:.12g}", values, lat.quantile(q)))
    return points


def quantiles(trace: LatencyTrace, histogram: Histogram) -> Iterator[tuple[float, int]]:
    """Yield the percentiles that one part's distribution supports, and their values in ns."""
    for percentile in PERCENTILES:
        if supports(histogram, fraction(percentile), cut=trace.cut):
            yield percentile, histogram.quantile(fraction(percentile))


def lat_on(record: RunRecord, device: str, direction: Direction) -> Histogram:
    """Return the merged lat of all rows that used this device alone; empty if none did."""
    device_of = {facts.path: facts.device for facts in record.targets}
    parts = []
    for row in rows(record):
        used = {device_of.get(file.path) for plan in row.plans for file in plan.files}
        if used == {device}:
            parts.append(row.lat(direction))
    return Histogram.merge(parts)


def _merged(traces: Sequence[LatencyTrace], direction: Direction, part: Part) -> Histogram:
    histograms = (histogram_of(trace, direction, part) for trace in traces)
    return Histogram.merge(histogram for histogram in histograms if histogram is not None)
