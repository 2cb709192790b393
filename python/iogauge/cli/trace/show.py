"""``iogauge trace show``: what a trace has.

Show what a trace has: rates, sizes, the mix of directions, the times between arrivals, the footprint, and how much a
cache of which size would serve (reuse). --charts draws each as SVG and PNG, with its data as CSV.

    iogauge trace show hm.trace

    iogauge trace show hm.trace --charts pictures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.report_progress import ReportProgress


def show(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The trace.", show_default=False)],
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIRECTORY", help="Draw the charts here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers.")] = False,
) -> None:
    """Print what the trace has."""
    from iogauge.library.traces.opened import open_trace

    process.begin()
    with ReportProgress("trace") as progress:
        opened = open_trace(trace, on_progress=progress)
        text = json.dumps(opened.to_dict(), indent=2, allow_nan=False) + "\n" if as_json else str(opened)
    streams.show(text)
    if charts is not None:
        for path in opened.write_charts(charts):
            streams.say(str(path))
