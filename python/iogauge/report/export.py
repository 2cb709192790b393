"""Reports and charts as files. Charts, for scripts and papers, as SVG, PNG and CSV, drawn without a browser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import vl_convert

from iogauge.report.charts import Chart, Spec
from iogauge.store.durable import explained, write_output

VEGA_LITE = "6.4"
"""The version that Altair writes for and vl-convert carries."""

PNG_SCALE = 2.0


def svg(spec: Spec) -> str:
    """Return a whole specification as SVG."""
    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return drawn


def png(drawn: str, *, scale: float = PNG_SCALE) -> bytes:
    """Return a drawn chart as pixels, ``scale`` for each of its points."""
    pixels: bytes = vl_convert.svg_to_png(drawn, scale=scale)
    return pixels


def write_text(text: str, path: Path) -> None:
    """Write a report to ``path``, replacing what is there, or leaving it as it was where that fails.

    Raises IogaugeError where that cannot be done.
    """
    write_output(path, text.encode())


def write_charts(charts: Iterable[Chart], directory: Path) -> list[Path]:
    """Write each chart's pictures, one for each choice that it offers, and its data; return the files, in order.

    Raises IogaugeError where the directory or a file cannot be written.
    """
    written = []
    with explained("create", directory):
        directory.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        for name, content in _files(chart):
            path = directory / name
            write_output(path, content)
            written.append(path)
    return written


def _files(chart: Chart) -> Iterator[tuple[str, bytes]]:
    for choice in chart.choices:
        name = f"{chart.name}-{choice}" if len(chart.choices) > 1 else chart.name
        picture = svg(chart.spec(choice))
        yield f"{name}.svg", picture.encode()
        yield f"{name}.png", png(picture)
    yield f"{chart.name}.csv", chart.table.csv().encode()
