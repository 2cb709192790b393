"""Export charts as SVG, PNG and CSV files, for scripts and papers, without a browser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from iogauge.report.charts.drawing import png, svg
from iogauge.report.charts.specification import Chart
from iogauge.store.outputs import Claims, Existing, Output

PNG_SCALE = 2.0


def claim_charts(charts: Iterable[Chart], directory: Path, claims: Claims) -> dict[str, Output]:
    """Claim the files of charts in a directory, which is created. Raises IogaugeError if one must not be written."""
    claims.make_directory(directory)
    return {
        name: claims.file(directory / name, existing=Existing.OWN)
        for chart in charts
        for name in _names(chart)
    }


def write_charts(charts: Iterable[Chart], outputs: Mapping[str, Output]) -> list[Path]:
    """Write the data of each chart, and a picture for each of its choices; return the paths of the files in order.

    ``outputs`` is what ``claim_charts`` returned for the charts. Raises IogaugeError if a file cannot be written.
    """
    written = []
    for chart in charts:
        for name, content in zip(_names(chart), _contents(chart), strict=True):
            outputs[name].write(content)
            written.append(outputs[name].path)
    return written


def _names(chart: Chart) -> Sequence[str]:
    stems = [f"{chart.name}-{choice}" for choice in chart.choices] if len(chart.choices) > 1 else [chart.name]
    return [*(f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")), f"{chart.name}.csv"]


def _contents(chart: Chart) -> Iterator[bytes]:
    for choice in chart.choices:
        picture = svg(chart.spec(choice))
        yield picture.encode()
        yield png(picture, scale=PNG_SCALE)
    yield chart.table.csv().encode()
