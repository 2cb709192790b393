"""``iogauge model compare``: published figures beside what the models show.

Compare the drive models with the published figures of their drives.

For every published figure of a modelled drive, print what its model shows, the error, and how the figure was used.
fitted: the model was fitted to it. predicted: a fifth of every drive's figures is kept out of the fit. stated: a
parameter of the model states it outright. A star marks an error above its limit; a bound either holds or does not. Your
own file replaces the shipped drive of the same name. It takes some minutes.

--state is that of 'iogauge review'. With as-is, flash starts as its file says, or as a figure's source implies: a
maker's figures in order, for instance, on a filled drive. Any other state holds for all figures.

Exit status: 0 all within their limits; 3 some are not.

    iogauge model compare p4800x
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.cli.terminal.review_options import State


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
) -> None:
    """Run every load behind the figures, and print the table."""
    from iogauge.cli.model.display import Display
    from iogauge.library.models.compared import compare_models

    process.begin()
    with Display(title="iogauge model compare") as display:
        comparison = compare_models(names or (), state=state.value, on_progress=display)
    markdown = output_format is Format.MD
    streams.show(
        comparison.to_markdown() if markdown else comparison.to_text(columns=streams.table_columns())
    )
    if not comparison.holds:
        raise typer.Exit(status.VIOLATED)
