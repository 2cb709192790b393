"""Models fitted: a twin of your own drive, or the shipped models to published figures."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.library.models.own import require_toml
from iogauge.library.options import StrPath, as_list
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.public import public
from iogauge.text import html

if TYPE_CHECKING:
    from iogauge.calibrate.fit import Fitted
    from iogauge.calibrate.published import Outcome
    from iogauge.calibrate.trial import Trial
    from iogauge.calibrate.twins.fit import FittedFigure
    from iogauge.store.outputs import Output


@dataclass(frozen=True)
class FittedModel:
    """A model whose numbers were fitted. ``str()`` is what ``iogauge model fit`` prints."""

    name: str
    """The model that the fit began with."""
    path: Path
    """The TOML file that was written; ``model:PATH`` is it as a target."""
    fitted: Fitted
    """Each fitted number with its interval, and whether the figures identify it."""
    figures: tuple[FittedFigure, ...] = ()
    """Of a twin: each figure of the review, and the twin's."""

    def __str__(self) -> str:
        from iogauge.text.grid import aligned

        fitted = self.fitted
        head = f"{self.name}: errors are {fitted.rms:.2f} of their limits (root mean square)"
        return "\n".join(
            [
                head,
                *aligned([["", "value", "95 %", ""], *self._rows()], left=1),
                *_residuals(self.figures),
                "",
            ]
        )

    def _rows(self) -> Iterator[list[str]]:
        for number in self.fitted.numbers:
            interval = f"{number.interval[0]:.4g} to {number.interval[1]:.4g}"
            identified = "" if number.identified else "hardly identified"
            yield [number.free.place, f"{number.value:.5g}", interval, identified]

    def _repr_html_(self) -> str:
        title = html.heading(f"{self.name}: errors are {self.fitted.rms:.2f} of their limits")
        return title + html.table(("number", "value", "95 %", ""), list(self._rows()))


@public
def fit_twin(
    review: StrPath,
    begin_with: str,
    output: StrPath,
    *,
    machine: str | None = None,
    on_progress: OnProgress = lambda _: None,
) -> FittedModel:
    """Fit a drive model to a saved review of a real drive, write it as a TOML file, and return it.

    The fit runs every step of the review on the model, and moves its numbers until it behaves as the drive did. The
    same arguments give the same numbers. It takes minutes.

    Args:
        review: a saved review, or its directory.
        begin_with: a drive that ``models`` lists, or the path of a TOML file: a model of the drive's kind.
        output: the TOML file to write, which must not exist.
        machine: the machine in front of the twin; by default that of ``begin_with``.
        on_progress: is called with each piece of news (``Progress``), such as how many trials were made.

    Raises:
        UsageError: the file's name does not end in .toml.
        IogaugeError: the review or the model cannot be read, no step is complete, or no number of the model is
            fitted.
        Interrupted: Ctrl-C, a KeyboardInterrupt; nothing is written.
    """
    command = ["iogauge", "model", "fit", f"--review={fspath(review)}", f"--from={begin_with}"]
    command += [f"--machine={machine}"] if machine is not None else []
    return fitted_twin(
        Path(review),
        begin_with,
        Path(output),
        machine=machine,
        command=[*command, f"--output={fspath(output)}"],
        on_progress=on_progress,
    )


@public
def fit_published(
    output: StrPath, names: StrPath | Sequence[StrPath] = (), *, on_progress: OnProgress = lambda _: None
) -> tuple[FittedModel, ...]:
    """Fit the shipped models to published figures, machines first, and write each into a directory. This takes hours.

    Args:
        output: the directory; models are written below ``drives`` and ``machines`` in it, each as soon as it is fitted.
        names: models; by default all.
        on_progress: is called with each piece of news (``Progress``): which model is fitted, how many trials were made.

    Raises:
        UsageError: no published figure is of a model of such a name.
        IogaugeError: a file cannot be written.
        Interrupted: Ctrl-C, a KeyboardInterrupt; the models that were fitted are written.
    """
    return tuple(fitting(Path(output), as_list(names), on_progress=on_progress))


def fitted_twin(
    directory: Path,
    begin_with: str,
    output: Path,
    *,
    machine: str | None,
    command: Sequence[str],
    on_progress: OnProgress,
) -> FittedModel:
    """Do what ``fit_twin`` does. ``command`` is the command line that the file names."""
    from iogauge import catalog
    from iogauge.calibrate.trial import SEED
    from iogauge.calibrate.twins.fit import fit_twin as fit
    from iogauge.calibrate.write import with_fit
    from iogauge.execution import check_model
    from iogauge.execution.interrupts import Interrupts
    from iogauge.library.reading.report import output_claims
    from iogauge.store import Review
    from iogauge.store.outputs import Existing

    saved = Review.open(directory)
    drive = catalog.drive(begin_with)
    behind = catalog.machine(machine or drive.machine or "ideal")
    check_model(drive, behind)
    require_toml(output)
    # Claimed now, so that hours are not lost because a directory is missing.
    claims = output_claims([str(directory)], say=_message(on_progress))
    claimed = claims.file(output, existing=Existing.KEEP)
    on_progress(Progress(event="begin", step=f"from {drive.name}"))
    with Interrupts() as interrupts:
        twin = fit(saved, drive, behind, interrupts=interrupts, on_trial=_trials(on_progress))
    measured = saved.manifest.targets[0]
    model = with_fit(
        twin.model,
        twin.fitted,
        source=f"review {saved.manifest.id}",
        command=shlex.join(command),
        seed=SEED,
        residuals=_residuals(twin.figures),
    )
    own = replace(
        model,
        title=f"twin of {measured.model or measured.path}",
        version=1,
        also=(),
        published_as=(),
        machine=machine or drive.machine,
    )
    claimed.write(catalog.to_toml(own).encode())
    return FittedModel(drive.name, output, twin.fitted, tuple(twin.figures))


def fitting(output: Path, names: Sequence[str], *, on_progress: OnProgress) -> Iterator[FittedModel]:
    """Do what ``fit_published`` does, and yield each model once it is written."""
    from iogauge.calibrate.assess import shipped
    from iogauge.calibrate.published import begun, fit_stages, stages
    from iogauge.execution.interrupts import Interrupts
    from iogauge.store.outputs import Claims, Existing

    every = stages()
    if unknown := set(names) - {stage.name for stage in every}:
        raise UsageError(
            f"{sorted(unknown)[0]}: no published figure is of this model",
            hint=f"use one of: {', '.join(dict.fromkeys(stage.name for stage in every))}",
        )
    wanted = [stage for stage in every if not names or stage.name in names]
    claims = Claims(say=_message(on_progress))
    places = {
        stage.name: claims.make_directory(output / f"{stage.what}s") / f"{stage.name}.toml"
        for stage in wanted
    }
    outputs = {name: claims.file(place, existing=Existing.REPLACE) for name, place in places.items()}
    numbers = {stage.name: number for number, stage in enumerate(wanted, 1)}

    def began(name: str) -> None:
        on_progress(Progress(event="begin", step=name, number=numbers[name], steps=len(wanted)))

    with Interrupts() as interrupts:
        trial = begun(shipped(interrupts), wanted)
        outcomes = []
        for outcome in fit_stages(wanted, trial, began=began, on_trial=_trials(on_progress)):
            name = outcome.stage.name
            outcomes.append(outcome)
            _write(outputs[name], outcome, outcome.trial, names)
            yield FittedModel(name, places[name], outcome.fitted)
        # A machine is fitted before the drive that it was measured with: only now is it known how near both come.
        for outcome in outcomes[:-1]:
            _write(outputs[outcome.stage.name], outcome, outcomes[-1].trial, names)


def _write(output: Output, outcome: Outcome, trial: Trial, names: Sequence[str]) -> None:
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
        # The directory has no influence on the numbers, so the command is stored without it.
        command=shlex.join(("iogauge", "model", "fit", "--published", *names)),
        seed=SEED,
        residuals=lines,
    )
    output.write(catalog.to_toml(model, on_base=True).encode())


def _residuals(figures: Sequence[FittedFigure]) -> list[str]:
    """Return a line for each figure of a review, with the twin's and its error."""
    return [
        f"{figure.step} {figure.job} {figure.direction} {figure.what}: {figure.measured:.6g}, "
        + (
            "not modelled"
            if figure.modelled is None
            else f"modelled {figure.modelled:.6g} ({figure.error:+.1%})"
        )
        for figure in figures
    ]


def _trials(on_progress: OnProgress) -> Callable[[int, float], None]:
    return lambda done, rms: on_progress(Progress(event="trial", number=done, rms=rms))


def _message(on_progress: OnProgress) -> Callable[[str], None]:
    return lambda text: on_progress(Progress(event="message", message=text))
