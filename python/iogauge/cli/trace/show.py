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


def show(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The trace.", show_default=False)],
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIRECTORY", help="Draw the charts here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers.")] = False,
) -> None:
    """Print what the trace has."""
    from iogauge.report.export import claim_charts, write_charts
    from iogauge.report.trace.charts import trace_charts
    from iogauge.report.trace.text import screen, to_dict
    from iogauge.store.outputs import Claims
    from iogauge.traces.file import Trace
    from iogauge.traces.summary import summarise

    process.begin()
    with Trace(trace) as opened:
        summary = summarise(opened)
    if as_json:
        streams.show(json.dumps(to_dict(summary), indent=2, allow_nan=False) + "\n")
    else:
        streams.show("".join(f"{line}\n" for line in screen(summary, trace.name)))
    if charts is not None:
        drawn = trace_charts(summary, trace.name)
        outputs = claim_charts(drawn, charts, Claims(inputs=[trace], say=streams.say))
        for path in write_charts(drawn, outputs):
            streams.say(str(path))
