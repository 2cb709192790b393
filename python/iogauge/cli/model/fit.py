"""``iogauge model fit``: models fitted to published figures, or a twin of your own drive.

With --review, fit a drive model to a saved review of a real drive. The fit starts from a model of its kind (--from),
runs every step of the review on it, and moves its fitted numbers until it behaves as the drive did. The result is a
TOML file and a target: model:./mine.toml.

With --published, fit the shipped models, or those named, to the published figures: machines first, then drives. They
are written to DIRECTORY/drives and DIRECTORY/machines, as iogauge ships them.

Every number comes with its interval; a number that the figures hardly identify is marked. The same command gives the
same numbers.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams

if TYPE_CHECKING:
    from iogauge.calibrate.fit import Fitted
    from iogauge.calibrate.published import Outcome
    from iogauge.calibrate.trial import Trial
    from iogauge.catalog import ModelFile
    from iogauge.store import Review
    from iogauge.store.outputs import Output


def fit(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="With --published: these models only.", show_default="all"),
    ] = None,
    review: Annotated[
        Path | None, typer.Option("--review", metavar="DIRECTORY", help="Fit a twin to this review.")
    ] = None,
    begin_with: Annotated[
        str | None, typer.Option("--from", metavar="MODEL", help="With --review: the drive to begin with.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="NAME", help="In front of the twin.", show_default="the drive's"),
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
            "fit to what?", hint="--review DIRECTORY --from MODEL for a drive of your own, or --published"
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


def _fit_twin(directory: Path, begin_with: str, machine_name: str | None, output: Path) -> None:
    from iogauge import catalog
    from iogauge.execution import check_model
    from iogauge.library.reading.report import claims_beside
    from iogauge.store import Review
    from iogauge.store.outputs import Existing

    saved = Review.open(directory)
    drive = catalog.drive(begin_with)
    machine = catalog.machine(machine_name or drive.machine or "ideal")
    check_model(drive, machine)
    if output.suffix != ".toml":
        raise status.UsageError(
            f"--output {output}: a model's file ends in .toml", hint=f"write {output}.toml"
        )
    # Claimed now, so that hours are not lost because a directory is missing.
    claimed = claims_beside([str(directory)], say=streams.say).file(output, existing=Existing.KEEP)
    claimed.write(_twin_text(saved, drive, machine_name, machine).encode())
    streams.show(f"wrote {output}: try iogauge review model:{_place(output)}\n")


def _twin_text(saved: Review, drive: ModelFile, machine_name: str | None, machine: ModelFile) -> str:
    """Fit, show the numbers, and return the file's text."""
    from iogauge import catalog
    from iogauge.calibrate.trial import SEED
    from iogauge.calibrate.twin import fit_twin
    from iogauge.calibrate.write import with_fit
    from iogauge.cli.terminal.progress import Progress
    from iogauge.execution.interrupts import Interrupts

    with Interrupts() as interrupts, Progress(title=f"twin of {saved.manifest.targets[0].path}") as progress:
        progress.step(f"from {drive.name}", expected_s=None)
        twin = fit_twin(saved, drive, machine, interrupts=interrupts, on_trial=progress.trial)
    lines = [
        f"{figure.step} {figure.job} {figure.direction} {figure.what}: {figure.measured:.6g}, "
        + (
            "not modelled"
            if figure.modelled is None
            else f"modelled {figure.modelled:.6g} ({figure.error:+.1%})"
        )
        for figure in twin.figures
    ]
    model = with_fit(
        twin.model,
        twin.fitted,
        source=f"review {saved.manifest.id}",
        command=shlex.join(("iogauge", *process.arguments())),
        seed=SEED,
        residuals=lines,
    )
    title = saved.manifest.targets[0].model or saved.manifest.targets[0].path
    own = replace(
        model,
        title=f"twin of {title}",
        version=1,
        also=(),
        published_as=(),
        machine=machine_name or drive.machine,
    )
    _show(drive.name, twin.fitted)
    streams.show("\n".join([*lines, ""]))
    return catalog.to_toml(own)


def _fit_published(names: list[str], output: Path) -> None:
    from iogauge.calibrate.assess import shipped
    from iogauge.calibrate.published import begun, fit_stages, stages
    from iogauge.cli.terminal.progress import Progress
    from iogauge.execution.interrupts import Interrupts
    from iogauge.store.outputs import Claims, Existing

    every = stages()
    if unknown := set(names) - {stage.name for stage in every}:
        raise status.UsageError(
            f"{sorted(unknown)[0]}: is not fitted to anything published",
            hint=f"these are: {', '.join(dict.fromkeys(stage.name for stage in every))}",
        )
    wanted = [stage for stage in every if not names or stage.name in names]
    claims = Claims(say=streams.say)
    places = {
        stage.name: claims.make_directory(output / f"{stage.what}s") / f"{stage.name}.toml"
        for stage in wanted
    }
    outputs = {name: claims.file(place, existing=Existing.REPLACE) for name, place in places.items()}
    with (
        Interrupts() as interrupts,
        Progress(title="fit to published figures", steps=len(wanted)) as progress,
    ):
        trial = begun(shipped(interrupts), wanted)
        outcomes = []
        for outcome in fit_stages(
            wanted, trial, began=lambda name: progress.step(name, expected_s=None), on_trial=progress.trial
        ):
            outcomes.append(outcome)
            _write_fitted(outputs[outcome.stage.name], outcome, outcome.trial, names)
            _show(outcome.stage.name, outcome.fitted)
        # A machine was fitted before the drive that it was measured with: how near both come is known only now.
        for outcome in outcomes[:-1]:
            _write_fitted(outputs[outcome.stage.name], outcome, outcomes[-1].trial, names)


def _write_fitted(output: Output, outcome: Outcome, trial: Trial, names: list[str]) -> None:
    """Write a fitted model's file, with how near it comes in a trial."""
    from iogauge import catalog
    from iogauge.calibrate.fit import root_mean_square
    from iogauge.calibrate.trial import SEED
    from iogauge.calibrate.write import with_fit

    stage, verdicts = outcome.stage, outcome.verdicts(trial)
    lines = [
        f"{verdict.point.row}: {verdict.point.label} {verdict.point.value:g} {verdict.point.unit}, "
        f"modelled {verdict.modelled:.4g} ({verdict.error:+.1%})"
        for verdict in verdicts
    ]
    model = with_fit(
        stage.file,
        replace(outcome.fitted, rms=root_mean_square([verdict.residual for verdict in verdicts])),
        source=f"{len(lines)} published figures",
        # Where it was written to is no part of how it came about.
        command=shlex.join(("iogauge", "model", "fit", "--published", *names)),
        seed=SEED,
        residuals=lines,
    )
    output.write(catalog.to_toml(model, on_base=True).encode())


def _show(name: str, fitted: Fitted) -> None:
    """Print each fitted number and its interval."""
    from iogauge.text.grid import aligned

    rows = [["", "value", "95 %", ""]]
    rows += [
        [
            number.free.place,
            f"{number.value:.5g}",
            f"{number.interval[0]:.4g} to {number.interval[1]:.4g}",
            "" if number.identified else "hardly identified",
        ]
        for number in fitted.numbers
    ]
    head = f"{name}: errors are {fitted.rms:.2f} of their limits (root mean square)"
    streams.show("\n".join([head, *aligned(rows, left=1), ""]))


def _place(path: Path) -> str:
    return str(path) if "/" in str(path) else f"./{path}"
