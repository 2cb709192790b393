"""``iogauge model compare``: published figures beside what the models show.

Compare the drive models with the published figures of their drives.

For every published figure of a modelled drive, print what its model shows, the error, and how the figure was used.
fitted: the model was fitted to it. predicted: a fifth of every drive's figures is kept out of the fit. stated: a
parameter of the model states it outright. A star marks an error above its limit; a bound either holds or does not. Your
own file replaces the shipped drive of the same name. The comparison takes some minutes.

--state is that of 'iogauge review'. With as-is, flash starts as its file says, or as a figure's source implies: a
maker's figures in order, for instance, on a filled drive. Any other state holds for all figures.

--left-out says how well the models predict. For each published table it fits the models of its drives and machines
again without that table, and compares what they then show with it. This takes hours. FILE keeps the finished tables, so
an interrupted run continues. NAME then chooses tables with figures of these drives.

Exit status: 0 if all figures are within their limits (with --left-out: all medians within their goals); 3 if not.

    iogauge model compare p4800x
    iogauge model compare --left-out left_out.csv
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.cli.terminal.review_options import State

if TYPE_CHECKING:
    from iogauge.library.models.compared import ModelComparison
    from iogauge.library.models.predicted import PredictedFigures


class Format(StrEnum):
    """``--format``."""

    TEXT = "text"
    MD = "md"


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Drives, or files of them; by default all that are shipped."
        ),
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="A table for the terminal, or for a document.")
    ] = Format.TEXT,
    state: Annotated[
        State, typer.Option("--state", help="State in which modelled flash starts, as for 'iogauge review'.")
    ] = State.AS_IS,
    left_out: Annotated[
        Path | None,
        typer.Option(
            "--left-out",
            metavar="FILE",
            help="This CSV file receives predictions of tables left out of the fit.",
        ),
    ] = None,
) -> None:
    """Run every load behind the figures, and print the table."""
    if left_out is not None and state is not State.AS_IS:
        raise status.UsageError("--state has no effect on --left-out", hint="leave one of them out")
    process.begin()
    comparison = _compared(names or [], state) if left_out is None else _predicted(names or [], left_out)
    markdown = output_format is Format.MD
    streams.show(
        comparison.to_markdown() if markdown else comparison.to_text(columns=streams.table_columns())
    )
    if not comparison.holds:
        raise typer.Exit(status.VIOLATED)


def _compared(names: list[str], state: State) -> ModelComparison:
    from iogauge.cli.model.display import Display
    from iogauge.library.models.compared import compare_models

    with Display(title="iogauge model compare") as display:
        return compare_models(names, state=state.value, on_progress=display)


def _predicted(names: list[str], output: Path) -> PredictedFigures:
    from iogauge.cli.model.display import Display
    from iogauge.library.models.predicted import leave_out

    with Display(title="tables left out of the fit") as display:
        return leave_out(output, names, on_progress=display)
