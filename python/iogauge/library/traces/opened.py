"""A trace that is opened: what it has, its charts, its rows."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.library.options import StrPath
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.library.reading.chart import Chart
from iogauge.library.reading.report import parts
from iogauge.results.tabular import Tabular
from iogauge.traces import file
from iogauge.traces.file import Facts
from iogauge.traces.summary import Summary, summarise

if TYPE_CHECKING:
    import pyarrow as pa


@public
def open_trace(path: StrPath, *, on_progress: OnProgress = lambda _: None) -> Trace:
    """Open a trace: a file of ``import_trace``, ``record_trace`` or ``iogauge trace``.

    ``on_progress`` is called with how many requests are read, once the trace is summarised.

    Raises IogaugeError if it is none.

    Examples:
        >>> import iogauge
        >>> trace = iogauge.open_trace("hm.trace")  # doctest: +SKIP
        >>> trace.facts.requests, trace.summary.served(1 << 30)  # doctest: +SKIP
        (3993316, 0.41)
    """
    return Trace(Path(path), on_progress)


class Trace(Tabular):
    """A trace. ``str()`` is what ``iogauge trace show`` prints; the table has a row for each request."""

    def __init__(self, path: Path, on_progress: OnProgress = lambda _: None) -> None:
        self._on_progress = on_progress
        self.path = path
        """Its file: Parquet, which other programs can read, too."""
        with file.Trace(path) as opened:
            self.facts: Facts = opened.facts
            """Where it comes from, and what is missing."""

    @cached_property
    def summary(self) -> Summary:
        """Rates, sizes, arrivals, footprint and reuse. Reads all of the trace once.

        Raises IogaugeError if it is damaged or empty.
        """
        with file.Trace(self.path) as opened:
            return summarise(opened, on_progress=parts("requests", self._on_progress))

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Its charts: rates, mix, sizes, arrivals, footprint, reuse."""
        from iogauge.report.trace.charts import trace_charts

        return tuple(map(Chart, trace_charts(self.summary, self.path.name)))

    def write_charts(self, directory: StrPath) -> list[Path]:
        """Write the charts as SVG and PNG, and their data as CSV; return the files written.

        Raises IogaugeError if a file must not be written.
        """
        from iogauge.report import export
        from iogauge.report.trace.charts import trace_charts
        from iogauge.store.outputs import Claims

        charts = trace_charts(self.summary, self.path.name)
        outputs = export.claim_charts(charts, Path(directory), Claims(inputs=[self.path]))
        return list(export.write_charts(charts, outputs))

    def to_dict(self) -> dict[str, object]:
        """Return all numbers of the summary, with units in their names."""
        from iogauge.report.trace.text import to_dict

        return to_dict(self.summary)

    def to_arrow(self) -> pa.Table:
        """Return all requests as an Arrow table."""
        import pyarrow.parquet as pq

        return pq.read_table(self.path)

    def __str__(self) -> str:
        from iogauge.report.trace.text import screen

        return "".join(f"{line}\n" for line in screen(self.summary, self.path.name))

    def __repr__(self) -> str:
        return f"<Trace {self.path}: {self.facts.requests:,} requests>"
