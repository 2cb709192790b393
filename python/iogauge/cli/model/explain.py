r"""``iogauge model explain``: where the time of a modelled drive's requests goes, by quantile.

Run a job file on a drive model, and say where the time of the requests went: in the machine before and after the drive,
in the drive's queues, in its medium. The parts of each column add up to its latency. A column is the mean of the
requests around its quantile; a quantile that the sample does not support is left out. The files that the jobs name are
ignored.

--set PARAMETER=VALUE also runs the jobs on a changed model. 'iogauge model show' lists the parameters; write machine.
before a parameter of the machine. Each model runs 8 times (--replications), both with the same requests and random
numbers, so each difference has a 95 % interval.

--chart writes the parts as stacked bars: an SVG with a bar for each column of all loads.

    iogauge model explain p4800x --job mixed.fio

    iogauge model explain p4800x --job mixed.fio \
        --set media.turnaround_ns=0 --set machine.wake_ns=0
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


class Format(StrEnum):
    """``--format``."""

    TEXT = "text"
    MD = "md"
    JSON = "json"


def explain(
    drive: Annotated[
        str, typer.Argument(metavar="DRIVE", help="NAME, DRIVE@MACHINE or FILE.toml.", show_default=False)
    ],
    job: Annotated[
        Path, typer.Option("--job", metavar="FILE", help="The fio job file to run.", show_default=False)
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="NAME", help="Machine model in front of the drive.  [default: the drive's]"
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="Compare with another value; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of all random choices.", min=0)] = 1,
    replications: Annotated[
        int, typer.Option(metavar="NUMBER", help="Number of pairs of runs, with --set.", min=2, max=100)
    ] = 8,
    output_format: Annotated[
        Format, typer.Option("--format", help="Text for a terminal, Markdown, or JSON with all digits.")
    ] = Format.TEXT,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="FILE.svg", help="Draw the parts as stacked bars.")
    ] = None,
) -> None:
    """Run the jobs, and print where the time went."""
    from iogauge.cli.model.display import Display
    from iogauge.library.models.explained import explain_model
    from iogauge.store.outputs import Claims, Existing

    changes = dict(map(_place_and_value, values or ()))
    if len(changes) < len(values or ()):
        raise status.UsageError("--set names a parameter twice", hint="leave one of them out")
    claimed = None
    if chart is not None:
        if chart.suffix != ".svg":
            raise status.UsageError(
                f"--chart {chart}: a chart's file ends in .svg", hint=f"write {chart}.svg"
            )
        claimed = Claims(say=streams.say).file(chart, existing=Existing.REPLACE)
    process.begin()
    with Display(title=f"iogauge model explain {drive}") as display:
        explained = explain_model(
            drive,
            job,
            machine=machine,
            changes=changes,
            seed=seed,
            replications=replications,
            on_progress=display,
        )
    if claimed is not None:
        claimed.write(explained.svg().encode())
    match output_format:
        case Format.TEXT:
            streams.show(explained.to_text())
        case Format.MD:
            streams.show(explained.to_markdown())
        case Format.JSON:
            streams.show(json.dumps(explained.to_dict(), indent=2) + "\n")


def _place_and_value(text: str) -> tuple[str, str]:
    place, equals, value = text.partition("=")
    if not (place and equals and value):
        raise status.UsageError(
            f"--set {text}: not PARAMETER=VALUE", hint="write for instance media.turnaround_ns=0"
        )
    return place, value
