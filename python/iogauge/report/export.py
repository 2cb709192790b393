"""Export charts as SVG, PNG and CSV files, for scripts and papers, without a browser."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from iogauge.errors import UsageError
from iogauge.report.charts.drawing import in_parallel, png, svg
from iogauge.report.charts.specification import Chart
from iogauge.results.review import OnProgress, no_progress
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.text.option import option

PNG_SCALE = 2.0


def chosen_charts(charts: Sequence[Chart], names: Sequence[str]) -> list[Chart]:
    """Return the charts of these names, which may contain shell wildcards; without names, all charts.

    Raises UsageError, with the names of all charts, if a name fits none.
    """
    known = [chart.name for chart in charts]
    for name in names:
        if not any(fnmatchcase(one, name) for one in known):
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {option('charts', close[0])}? " if close else ""
            raise UsageError(f"no chart is named {name}", hint=f"{meant}charts: {', '.join(known)}")
    return [chart for chart in charts if not names or any(fnmatchcase(chart.name, name) for name in names)]


def claim_charts(charts: Iterable[Chart], directory: Path, claims: Claims) -> dict[str, Output]:
    """Claim the files of charts in a directory, which is created. Raises IogaugeError if one must not be written."""
    claims.make_directory(directory)
    return {
        name: claims.file(directory / name, existing=Existing.OWN)
        for chart in charts
        for name in (
            f"{chart.name}.csv",
            *(f"{stem}.{kind}" for _, _, stem in _pictures(chart) for kind in ("svg", "png")),
        )
    }


def write_charts(
    charts: Sequence[Chart], outputs: Mapping[str, Output], *, on_progress: OnProgress = no_progress
) -> Iterator[Path]:
    """Write the data of each chart, and a picture for each of its choices; yield the path of each file.

    ``outputs`` is what ``claim_charts`` returned for the charts. ``on_progress`` gets the number of pictures drawn so
    far, and their total. Raises IogaugeError if a file cannot be written.
    """
    for chart in charts:
        yield _written(outputs[f"{chart.name}.csv"], chart.table.csv().encode())
    pictures = [picture for chart in charts for picture in _pictures(chart)]
    for number, (stem, drawn) in enumerate(in_parallel(_drawn, pictures), 1):
        for kind, content in drawn.items():
            yield _written(outputs[f"{stem}.{kind}"], content)
        on_progress(number, len(pictures))


_Picture = tuple[Chart, str, str]
"""A chart, one of its choices, and the name of their files without its suffix."""


def _pictures(chart: Chart) -> Iterator[_Picture]:
    for choice in chart.choices:
        yield chart, choice, f"{chart.name}-{choice}" if len(chart.choices) > 1 else chart.name


def _drawn(picture: _Picture) -> tuple[str, dict[str, bytes]]:
    chart, choice, stem = picture
    drawn = svg(chart.spec(choice), keep=False)
    return stem, {"svg": drawn.encode(), "png": png(drawn, scale=PNG_SCALE)}


def _written(output: Output, content: bytes) -> Path:
    output.write(content)
    return output.path
