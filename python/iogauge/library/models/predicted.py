"""Published figures predicted by models whose fit did not see their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError, UsageError
from iogauge.library.models import predicted_text
from iogauge.library.progress import OnProgress, Progress

if TYPE_CHECKING:
    from iogauge.calibrate.left_out import Effort, Prediction
    from iogauge.catalog.left_out import PredictedRow
    from iogauge.store.outputs import Output


class PredictedFigures:
    """How well models predict tables that their fit did not see."""

    def __init__(self, rows: Sequence[PredictedRow], *, of: int) -> None:
        self.rows = tuple(rows)
        """A row for every published figure that a model can show."""
        self.of = of
        """How many such figures there are; more than ``rows`` if some tables are still to be left out."""

    def to_text(self, *, columns: int | None = None) -> str:
        """Return the errors by kind of figure as a table for a terminal of this width; None: every column."""
        return predicted_text.text(self.rows, of=self.of, columns=columns)

    def to_markdown(self) -> str:
        """Return the same as Markdown."""
        return predicted_text.markdown(self.rows, of=self.of)

    @property
    def holds(self) -> bool:
        """Whether every median is within its goal, and every figure that is far off has a reason."""
        from iogauge.calibrate.judgement import far_off, groups, reason_of

        far = [row for row in far_off(self.rows) if reason_of(row.row) is None]
        return not far and all(group.reached for group in groups(self.rows))


def leave_out(
    output: Path,
    names: Sequence[str] = (),
    *,
    sources: Sequence[str] | None = None,
    effort: Effort | None = None,
    on_progress: OnProgress = lambda _: None,
) -> PredictedFigures:
    """Fit the shipped models again without one table after the other, and predict its figures. This takes hours.

    The file is written after each table. Tables that it already has, by the same models, are not fitted again.

    Args:
        output: the CSV file.
        names: only tables with a figure of these drives; by default all.
        sources: only these tables, as ``published_points.csv`` names them.
        effort: how thorough the fits are.
        on_progress: is called with each piece of news (``Progress``): which model is fitted without which table.

    Raises:
        UsageError: a name is of no drive of which something is published.
        IogaugeError: the file cannot be read or written, or is another file.
        KeyboardInterrupt: Ctrl-C; the file has the tables that are done.
    """
    from iogauge.calibrate import left_out as fits
    from iogauge.calibrate.assess import shipped
    from iogauge.catalog import left_out as table
    from iogauge.execution.interrupts import Interrupts
    from iogauge.store.outputs import Claims, Existing

    effort = effort or fits.Effort()
    wanted = [source for source in fits.sources() if sources is None or source in sources]
    wanted = _about(names, wanted) if names else wanted
    models = fits.models_digest(effort)
    try:
        rows = {row.row: row for row in table.read(output)}
    except (OSError, UnicodeError, ValueError) as error:
        raise IogaugeError(
            f"{output}: it is no file of predictions: {error}", hint="name another file"
        ) from error
    claimed = Claims(say=_message(on_progress)).file(output, existing=Existing.REPLACE)
    every = {point.row for source in fits.sources() for point in fits.rows_of_source(source)}
    rows = {number: row for number, row in rows.items() if number in every}
    open_sources = [source for source in wanted if not _is_done(source, rows, models)]
    if done := len(wanted) - len(open_sources):
        on_progress(Progress(event="message", message=f"{done} of {len(wanted)} tables are done already"))
    with Interrupts() as interrupts:
        trial = shipped(interrupts)
        for number, source in enumerate(open_sources, 1):
            predicted = fits.predict(
                source,
                # A cache of its own: the loads of a fit are of no use to the next.
                replace(trial, known=type(trial.known)()),
                effort=effort,
                began=_began(source, number, len(open_sources), on_progress),
                on_trial=lambda done, rms: on_progress(Progress(event="trial", number=done, rms=rms)),
            )
            rows |= {row.row: row for row in _rows(predicted, models)}
            _write(claimed, list(rows.values()))
    return PredictedFigures(sorted(rows.values(), key=lambda row: row.row), of=len(every))


def _about(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Return the sources that have a row about a named drive."""
    from iogauge import catalog
    from iogauge.calibrate.left_out import rows_of_source

    about = {title for name in names for title in catalog.drive(name).published_as}
    wanted = [source for source in sources if any(point.drive in about for point in rows_of_source(source))]
    if not wanted:
        raise UsageError(
            f"nothing is published of {', '.join(names)}", hint="leave the names out: all tables"
        )
    return wanted


def _is_done(source: str, rows: dict[int, PredictedRow], models: str) -> bool:
    from iogauge.calibrate.left_out import rows_of_source

    return all(
        (row := rows.get(point.row)) is not None and row.models == models and row.source == source
        for point in rows_of_source(source)
    )


def _rows(predicted: Sequence[Prediction], models: str) -> list[PredictedRow]:
    from iogauge.catalog.left_out import PredictedRow

    return [
        PredictedRow(
            row=prediction.fitted.point.row,
            source=prediction.fitted.point.source,
            drive=prediction.fitted.point.drive,
            host=prediction.fitted.point.host,
            figure=prediction.fitted.point.label,
            unit=prediction.fitted.point.unit,
            published=prediction.fitted.point.value,
            part=str(prediction.fitted.part),
            fitted=float(f"{prediction.fitted.modelled:.5g}"),
            left_out=float(f"{prediction.left_out.modelled:.5g}"),
            models=models,
        )
        for prediction in predicted
    ]


def _write(output: Output, rows: Sequence[PredictedRow]) -> None:
    from iogauge.catalog.left_out import text

    output.write(text(rows).encode())


def _began(source: str, number: int, of: int, on_progress: OnProgress) -> Callable[[str], None]:
    return lambda name: on_progress(
        Progress(event="begin", step=f"{name} without {source}", number=number, steps=of)
    )


def _message(on_progress: OnProgress) -> Callable[[str], None]:
    return lambda text: on_progress(Progress(event="message", message=text))
