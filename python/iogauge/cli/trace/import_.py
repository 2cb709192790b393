"""``iogauge trace import``: make a trace of what another program recorded.

Make a trace of what another program recorded: blktrace, fio (write_iolog), MSR Cambridge, SPC, Alibaba, Tencent,
VMware's vscsi, or a table whose columns a TOML file describes. The format is recognised; --format names it where it is
not. Files may be compressed (gzip, bzip2, zstd, lz4). Several files become one trace, in the order of time: volumes of
one server, or the files that blktrace wrote for each CPU.

    iogauge trace import hm_0.csv.gz hm_1.csv.gz --output hm.trace

    iogauge trace import sda.blktrace.* --output sda.trace

    iogauge trace import ours.csv --format ours.toml --output ours.trace
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.report_progress import ReportProgress


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="What was recorded.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", metavar="TRACE", help="The trace to write.", show_default=False)
    ],
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", metavar="NAME|TOML", help="The format of the files.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave lines out that cannot be read, and count them.")
    ] = False,
) -> None:
    """Write the trace and print its name."""
    from iogauge.library.traces.imported import import_trace
    from iogauge.text import numbers

    process.begin()
    with ReportProgress("trace") as progress:
        trace = import_trace(files, output, format=format, skip_bad=skip_bad, on_progress=progress)
    streams.show(f"{output}\n")
    streams.say(
        f"{numbers.counted(trace.facts.requests, 'request')} of {trace.facts.source}; next: iogauge trace show "
        f"{numbers.argument(output)}"
    )
