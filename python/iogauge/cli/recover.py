"""``iogauge recover``: write the logs of a run that was killed or interrupted.

Write the logs of a run that was killed or interrupted, from the file that it left.

A run that logs every request writes a file iogauge-*.spill while it lasts, and makes its logs from that file at its
end. The spill of a killed run has all requests but those of its last moments.

Recover writes the logs where the run would have written them: the request log, and the jobs' logs with a line for every
request. Then it removes the spill. A damaged spill is kept: the logs have the requests before the damage, and a warning
says so.

    iogauge recover iogauge-x1y2.spill
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams


def recover(
    spill: Annotated[
        Path,
        typer.Argument(
            metavar="SPILL", help="The iogauge-*.spill file that the run left.", show_default=False
        ),
    ],
    request_log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet", help="Write the request log here.  [default: the run's --request-log]"
        ),
    ] = None,
) -> None:
    """Write the logs and print their names, one a line."""
    from iogauge.cli.terminal.progress import Progress
    from iogauge.library.running.recover import recovered

    process.begin()
    logs, plan = recovered(spill, request_log=request_log, say=streams.say)
    with Progress(title="iogauge run") as progress:
        progress.step(logs.label, expected_s=None)
        logs.convert(plan, on_share=progress.share, say=streams.say)
    if logs.spill and logs.spill.damage is None:
        logs.remove_spill()
    for output in logs.outputs:
        streams.show(f"{output.path}\n")
