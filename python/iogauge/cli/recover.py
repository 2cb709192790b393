"""``iogauge recover``: make the logs of a run that was killed, or interrupted before they were made.

A run that logs every request writes them into a file iogauge-*.spill while it lasts, and makes the logs of that file
afterwards. The spill of a run that was killed has its requests but for the last moments. Its logs are written where the
run would have written them: the request log, and the jobs' logs with a line for every request. Then the spill is
removed, unless it is damaged: then the logs have the requests before the damage, and that is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.run import log_place
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
    from iogauge.execution.spill import Spill
    from iogauge.report.run import fio_logs
    from iogauge.store.outputs import Claims, Existing
    from iogauge.target import is_model
    from iogauge.workload import driven_paths

    process.begin()
    source = Spill(spill)
    header = source.header()
    directory = Path(header.directory)
    wanted = request_log or (directory / header.request_log if header.request_log else None)
    targets = [name if is_model(name) else str(directory / name) for name in driven_paths(header.jobs)]
    claims = Claims(saved_targets=targets, inputs=[spill], say=streams.say)
    parquet = claims.file(wanted, existing=Existing.OWN) if wanted else None
    logs = fio_logs.claim(header.jobs, claims, names=fio_logs.request_names, directory=directory)
    log_place.convert(source, jobs=header.jobs, plan=header.plan, parquet=parquet, logs=logs)
    if source.damage is None:
        source.remove()
    for output in filter(None, (parquet, *logs.values())):
        streams.show(f"{output.path}\n")
