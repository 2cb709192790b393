"""``iogauge model fit``: models fitted to published figures, or a twin of your own drive.

Fit a model of your own drive to a review, or the shipped models to published figures.

With --review, fit a drive model to a saved review of a real drive. The fit starts from a similar drive's model
(--from) and runs every step of the review on it, shortened. It changes the model's fitted numbers and what such a drive
is made of (channels, dies, program time, buffer, spare area) until the figures come nearest to the drive's. The result
is a TOML file and a target: model:./mine.toml.

With --published, fit the shipped models, or those named, to the published figures: machines first, then drives. They
are written to DIRECTORY/drives and DIRECTORY/machines, as iogauge ships them.

Every number comes with its interval; a number that the figures hardly identify is marked. The same command gives the
same numbers.

    iogauge model fit --review saved --from p4800x --output mine.toml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


def fit(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="With --published: these models only.  [default: all]"),
    ] = None,
    review: Annotated[
        Path | None, typer.Option("--review", metavar="DIRECTORY", help="Fit a twin to this review.")
    ] = None,
    begin_with: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Model that the twin starts from, with --review."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="NAME", help="Machine model in front of the twin.  [default: the drive's]"
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Fit shipped models to published figures.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="FILE.toml, or a DIRECTORY.")
    ] = None,
) -> None:
    """Fit, and print the fitted numbers."""
    if (review is None) == (not published):
        raise status.UsageError(
            "name one of --review and --published",
            hint="--review DIRECTORY --from MODEL for a drive of your own, or --published",
        )
    if output is None:
        raise status.UsageError("--output is missing", hint="name what to write: mine.toml, or a directory")
    process.begin()
    if review is not None:
        if begin_with is None or names:
            raise status.UsageError(
                "a twin begins with one model",
                hint="--from p4800x, or another that 'iogauge model list' shows",
            )
        _fit_twin(review, begin_with, machine, output)
    else:
        if begin_with is not None or machine is not None:
            raise status.UsageError("--from and --machine belong to --review", hint="leave them out")
        _fit_published(names or [], output)


def _fit_twin(directory: Path, begin_with: str, machine: str | None, output: Path) -> None:
    from iogauge.cli.model.display import Display
    from iogauge.library.models.fitted import fitted_twin
    from iogauge.library.models.own import place_of

    with Display(title=f"twin of {directory}") as display:
        twin = fitted_twin(
            directory,
            begin_with,
            output,
            machine=machine,
            command=("iogauge", *process.arguments()),
            on_progress=display,
        )
    streams.show(f"{twin}wrote {output}: try iogauge review model:{place_of(output)}\n")


def _fit_published(names: list[str], output: Path) -> None:
    from iogauge.cli.model.display import Display
    from iogauge.library.models.fitted import fitting

    with Display(title="fit to published figures") as display:
        for model in fitting(output, names, on_progress=display):
            streams.show(str(model))
