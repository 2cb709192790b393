"""The figures of a run as tables: one row for each job and direction, or for each interval of time of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from iogauge.report.run.rows import histogram_of
from iogauge.results.figures import quantile_metric
from iogauge.results.tabular import Tabular
from iogauge.schema import Interval, Kind, RunRecord

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)

_NAME: list[pa.Field[Any]] = [pa.field("job", pa.string()), pa.field("direction", pa.string())]


def bounded(metric: str, *values: float | None) -> dict[str, float | None]:
    """Return the cells of a figure and of the bounds of its interval; a unit stays at the end of the name.

    >>> bounded("p50_ns", 2.0, 1.0, 3.0)
    {'p50_ns': 2.0, 'p50_low_ns': 1.0, 'p50_high_ns': 3.0}
    """
    name, _, unit = metric.partition("_")
    end = f"_{unit}" if unit else ""
    return dict(zip((metric, f"{name}_low{end}", f"{name}_high{end}"), values, strict=True))


_FIGURES = pa.schema(
    [
        *_NAME,
        pa.field("ios", pa.int64()),
        pa.field("bytes", pa.int64()),
        *(
            pa.field(column, pa.float64())
            for metric in ("iops", "rate_Bps", "mean_ns", *map(quantile_metric, QUANTILES))
            for column in bounded(metric, None, None, None)
        ),
        pa.field("max_ns", pa.float64()),
        pa.field("supported", pa.float64()),
        pa.field("errors", pa.int64()),
    ]
)

_OVER_TIME = pa.schema(
    [
        *_NAME,
        pa.field("stage", pa.int64()),
        pa.field("start_s", pa.float64()),
        pa.field("end_s", pa.float64()),
        pa.field("ramp", pa.bool_()),
        pa.field("ios", pa.int64()),
        pa.field("iops", pa.float64()),
        pa.field("rate_Bps", pa.float64()),
        *(pa.field(name, pa.float64()) for name in ("mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns")),
    ]
)


def figures_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return rows of figures, each of a job and direction, as a table."""
    return pa.Table.from_pylist(list(rows), schema=_FIGURES)


class OverTime(Tabular):
    """A run over time: a row for each interval, row of results and direction. Latencies are lat, in nanoseconds.

    Clones of a job that are reported one by one have rows of their own; an interval in which nothing completed has
    zeros, and no latency.
    """

    def __init__(self, record: RunRecord, intervals: Sequence[Interval]) -> None:
        self._record = record
        self._intervals = intervals

    def to_arrow(self) -> pa.Table:
        """Return the table; ``start_s`` and ``end_s`` count from the start of the stage."""
        return pa.Table.from_pylist(list(self._rows()), schema=_OVER_TIME)

    def _rows(self) -> Iterator[dict[str, Any]]:
        rows = {(row.stage, row.row): row for row in self._record.result.rows}
        for interval in self._intervals:
            row = rows[interval.stage, interval.row]
            seconds = (interval.end_ns - interval.start_ns) / 1e9
            for direction in row.tallies:
                tally = interval.tallies.get(direction)
                lat = histogram_of(tally, Kind.LAT) if tally else None
                line: dict[str, Any] = {
                    "job": row.name,
                    "direction": direction.value,
                    "stage": interval.stage,
                    "start_s": interval.start_ns / 1e9,
                    "end_s": interval.end_ns / 1e9,
                    "ramp": interval.ramp,
                    "ios": tally.ios if tally else 0,
                    "iops": tally.ios / seconds if tally and seconds else 0.0,
                    "rate_Bps": tally.bytes / seconds if tally and seconds else 0.0,
                }
                if lat and lat.count:
                    line |= {
                        "mean_ns": lat.mean,
                        **{quantile_metric(q): float(lat.quantile(q)) for q in (0.5, 0.99, 0.999)},
                        "max_ns": float(lat.max),
                    }
                yield line
