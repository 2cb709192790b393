"""``iogauge fleet report``: write one self-contained page of a saved fleet.

Write a fleet as one page with a picture of all its drives, or as Markdown.

On the picture each drive is a point: its latency beside that of its peers, by host, or against its rate. Drives that
are judged slow have their names beside them. Below are percentiles of all hosts together over time, how far from the
plan hosts began, and what differs between hosts. The page needs no network. Without --output it is fleet.html in the
fleet's directory.

--format md prints Markdown of at most 8 kB; --verbose prints all of it. The suffix of --output decides the format too.

    iogauge fleet report saved --output page.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.fleet.arguments import SavedFleet
from iogauge.cli.report import Format
from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.report_progress import ReportProgress
from iogauge.cli.terminal.shared_options import Verbose


def report(
    directory: SavedFleet,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="A page with charts, or Markdown; by default as --output ends."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write the page and print its name, or print Markdown."""
    from iogauge.fleet import open_fleet
    from iogauge.fleet.shown import view_of
    from iogauge.library.reading.report import format_of, parts
    from iogauge.report.fleet.markdown import markdown
    from iogauge.report.fleet.page import page
    from iogauge.store.outputs import Claims, Existing

    process.begin()
    layout = format_of(output, None if format_ is None else format_.value)
    fleet = open_fleet(directory)
    claimed = None
    if layout == "html" or output is not None:
        # Targets are paths on other computers; here, only an output in the fleet's own place can be meant.
        existing = Existing.REPLACE
        claimed = Claims(say=streams.say).file(output or directory / "fleet.html", existing=existing)
    with ReportProgress("fleet") as progress:
        view = view_of(fleet, every_group=True)
        if layout == "html":
            text = page(view, on_progress=parts("drawing", progress))
        else:
            text = markdown(view, verbose=verbose)
    if claimed is None:
        streams.show(text)
    else:
        claimed.write(text.encode())
        streams.show(f"{claimed.path}\n")
