"""Published figures of drives beside what their models show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from iogauge import schema
from iogauge.errors import IogaugeError, UsageError
from iogauge.library.models import compared_text
from iogauge.library.options import StrPath, as_list, require_choice
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.public import public
from iogauge.results.tabular import Tabular
from iogauge.text import html
from iogauge.text.option import call, either

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.calibrate.verdict import Verdict
    from iogauge.catalog import ModelFile


@public
def compare_models(
    names: StrPath | Sequence[StrPath] = (),
    *,
    state: schema.State = "as-is",
    on_progress: OnProgress = lambda _: None,
) -> ModelComparison:
    """Run the load of every published figure of modelled drives on their models. This takes minutes.

    Args:
        names: drives, or TOML files; by default all that come with iogauge. A file takes the place of the drive that
            it is named like.
        state: the state in which modelled flash starts; ``"as-is"``: as its file says, or as a figure's source implies.
        on_progress: is called with each piece of news (``Progress``): how many figures are done.

    Raises:
        UsageError: a name cannot be, or is of no drive of which something is published.
        IogaugeError: nothing is published of the drives.
        Interrupted: Ctrl-C, a KeyboardInterrupt.

    Examples:
        >>> import iogauge
        >>> comparison = iogauge.compare_models("optane-memory-32g")
        >>> sum(verdict.holds for verdict in comparison.verdicts) > len(comparison.verdicts) / 2
        True
    """
    from iogauge import catalog
    from iogauge.calibrate.assess import comparable, shipped, verdicts
    from iogauge.execution import check_model
    from iogauge.execution.interrupts import Interrupts

    require_choice("state", state, get_args(schema.State))
    every = {name: catalog.drive(name) for name in catalog.shipped("drive")}
    drives = _named(as_list(names), every) if names else every
    for drive in drives.values():
        check_model(drive, catalog.machine(drive.machine or "ideal"))
    wanted = {name for drive in drives.values() for name in drive.published_as}
    rows = [point for point in comparable() if point.drive in wanted]
    if not rows:
        every_one = either(command="'iogauge model compare' alone", library=call("compare_models"))
        raise IogaugeError(
            f"nothing is published of {', '.join(drives)}",
            hint=f"{every_one} compares all of which something is",
        )
    label = f"{len(rows)} published figures"
    on_progress(Progress(event="begin", step=label))

    def counted(done: int, of: int) -> None:
        on_progress(Progress(event="part", step=label, number=done, steps=of))

    with Interrupts() as interrupts:
        trial = replace(shipped(interrupts), state=state)
        for name, drive in drives.items():
            trial = trial.with_drive(name, drive.parameters)
        judged = verdicts(rows, trial, drives=every | drives, done=counted)
    return ModelComparison(judged, state)


class ModelComparison(Tabular):
    """How near models come to published figures. ``str()`` is what ``iogauge model compare`` prints."""

    def __init__(self, verdicts: Sequence[Verdict], state: str) -> None:
        self.verdicts = tuple(verdicts)
        """A verdict for each published figure that a model can show: its error, its limit and how it was used."""
        self._state = state

    @property
    def holds(self) -> bool:
        """Whether every error is within its limit."""
        return all(verdict.holds for verdict in self.verdicts)

    def to_arrow(self) -> pa.Table:
        """Return a row for each figure, as an Arrow table. ``error`` is relative; the limit of a bound is 0."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [
                {
                    "drive": verdict.point.drive,
                    "host": verdict.point.host,
                    "machine": verdict.machine,
                    "figure": verdict.point.label,
                    "unit": verdict.point.unit,
                    "published": verdict.point.value,
                    "modelled": verdict.modelled,
                    "error": verdict.error,
                    "limit": verdict.limit,
                    "part": str(verdict.part),
                    "holds": verdict.holds,
                    "source": verdict.point.source,
                }
                for verdict in self.verdicts
            ]
        )

    def to_text(self, *, columns: int | None = None) -> str:
        """Return the figures as tables for a terminal of this width; None: every column."""
        return compared_text.text(self.verdicts, state=self._state, columns=columns)

    def to_markdown(self) -> str:
        """Return the same as Markdown."""
        return compared_text.markdown(self.verdicts, state=self._state)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        title = html.heading(compared_text.summary(self.verdicts))
        return title + html.folded("tables", html.preformatted(self.to_text()))

    def __repr__(self) -> str:
        return f"<ModelComparison of {len(self.verdicts)} figures>"


def _named(names: Sequence[str], every: Mapping[str, ModelFile]) -> dict[str, ModelFile]:
    """Return the named drives, by the names of the shipped drives that they are or replace."""
    from iogauge import catalog

    drives: dict[str, ModelFile] = {}
    for argument in names:
        drive = catalog.drive(argument)
        name = next(
            (shipped.name for shipped in every.values() if drive.name in (shipped.name, *shipped.also)), None
        )
        if name is None:
            fit = either(command="fit --published", library="fit_published()")
            raise UsageError(
                f"{drive.path}: no shipped drive is named {drive.name}, so no published figure is known to be of it",
                hint=f"name the file like a drive that {call('models')} shows, as {fit} does",
            )
        if name in drives:
            raise UsageError(f"{argument}: {name} is named twice", hint="leave one of them out")
        drives[name] = drive
    return drives
