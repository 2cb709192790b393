"""``iogauge trace fit``: write a job file that does what a trace does.

Write a job file whose requests resemble a trace's: rates, pauses and batches, sizes, the mix of reads and writes,
sequential runs, hot places; or the depth of a closed loop. It has fio's options alone, so fio runs it, too. The table
shows what differs: of the requests, and of the latency on a drive model beside a replay of the trace.

    iogauge trace fit hm.trace --output hm.fio

    iogauge run --filename=/dev/nvme1n1 hm.fio
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.report_progress import ReportProgress


def fit(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The trace.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="The job file to write.")] = Path(
        "fitted.fio"
    ),
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The drive model on which latencies are compared.")
    ] = "p4800x",
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="NUMBER", help="The seed of both runs.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers.")] = False,
) -> None:
    """Write the job file, and print how it differs from the trace."""
    from iogauge.library.traces.fitted import fit_trace
    from iogauge.text import numbers

    process.begin()
    with ReportProgress("trace") as progress:
        fitted = fit_trace(trace, output, model=model, seed=seed, on_progress=progress)
    text = json.dumps(fitted.to_dict(), indent=2, allow_nan=False) + "\n" if as_json else str(fitted)
    streams.show(text)
    streams.say(f"next: iogauge run --filename=TARGET {numbers.argument(output)}")
