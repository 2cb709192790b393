"""``iogauge model compare``: published figures beside what the models show.

For every published figure of a modelled drive, print what its model shows, the error, and how the figure was used.
fitted: the model was fitted to it. predicted: a fifth of every drive's figures is kept out of the fit. given: a
parameter of the model states it outright. A star marks an error above its limit; a bound either holds or does not. Your
own file replaces the shipped drive of the same name. It takes some minutes.

--state is that of 'iogauge review'. With as-is, flash starts as its file says, or as a figure's source implies: a
maker's figures in order, for instance, on a filled drive. Any other state holds for all figures.

Exit status: 0 all within their limits; 3 some are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.review_options import State
from iogauge.cli.terminal import process, status, streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.calibrate.verdict import Verdict
    from iogauge.catalog import ModelFile


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
    from iogauge import catalog
    from iogauge.calibrate.assess import comparable, shipped, verdicts
    from iogauge.cli.terminal.progress import Progress
    from iogauge.execution import check_model
    from iogauge.execution.interrupts import Interrupts

    process.begin()
    every = {name: catalog.drive(name) for name in catalog.shipped("drive")}
    drives = _named(names, every) if names else every
    for drive in drives.values():
        check_model(drive, catalog.machine(drive.machine or "ideal"))
    wanted = {name for drive in drives.values() for name in drive.published_as}
    rows = [point for point in comparable() if point.drive in wanted]
    if not rows:
        raise IogaugeError(
            f"nothing is published of {', '.join(drives)}",
            hint="'iogauge model compare' alone compares all of which something is",
        )
    with Interrupts() as interrupts, Progress(title="iogauge model compare") as progress:
        progress.step(f"{len(rows)} published figures", expected_s=None)
        trial = replace(shipped(interrupts), state=state.value)
        for name, drive in drives.items():
            trial = trial.with_drive(name, drive.parameters)
        judged = verdicts(rows, trial, drives=every | drives, done=progress.counted)
    show = _markdown if output_format is Format.MD else _text
    streams.show(show(judged, begun=_begun(state)))
    if any(not verdict.holds for verdict in judged):
        raise typer.Exit(status.VIOLATED)


def _named(names: list[str], every: dict[str, ModelFile]) -> dict[str, ModelFile]:
    """Return the named drives, by the names of the shipped drives that they are or replace."""
    from iogauge import catalog

    drives: dict[str, ModelFile] = {}
    for argument in names:
        drive = catalog.drive(argument)
        name = next(
            (shipped.name for shipped in every.values() if drive.name in (shipped.name, *shipped.also)), None
        )
        if name is None:
            raise status.UsageError(
                f"{drive.path}: no shipped drive is named {drive.name}, so that nothing published is known to be of it",
                hint="name the file like a drive that 'iogauge model list' shows, as fit --published does",
            )
        if name in drives:
            raise status.UsageError(f"{argument}: {name} is named twice", hint="leave one of them out")
        drives[name] = drive
    return drives


def _cells(verdict: Verdict) -> list[str]:
    point = verdict.point
    published = f"{point.relation or ''} {point.value:.4g}".strip()
    if point.span:
        published = f"{point.span[0]:.4g} to {point.span[1]:.4g}"
    error = f"{100 * verdict.error:+.1f} %"
    if point.use == "bound":
        error = "holds" if verdict.holds else "does not hold"
    mark = "" if verdict.holds else " *"
    host = point.host or "not said"
    if verdict.machine != point.host:
        host += f" ({verdict.machine})"
    return [
        host,
        point.label,
        f"{published} {point.unit}",
        f"{verdict.modelled:.4g}",
        error + mark,
        verdict.part,
    ]


_HEAD = ["host", "figure", "published", "modelled", "error", ""]


def _by_drive(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.point.drive, []).append(verdict)
    return groups


def _begun(state: State) -> str:
    """Say what flash begins in, where that is not what its file or a row says."""
    return "" if state is State.AS_IS else f" All modelled flash starts {state.value}."


def _text(verdicts: Sequence[Verdict], *, begun: str) -> str:
    from iogauge.text.grid import aligned

    parts = []
    for drive, group in _by_drive(verdicts).items():
        parts += [drive, "-" * len(drive), *aligned([_HEAD, *map(_cells, group)], left=2), ""]
    return "\n".join([*parts, _summary(verdicts) + begun, *_reasons(verdicts), ""])


def _markdown(verdicts: Sequence[Verdict], *, begun: str) -> str:
    lines = []
    for drive, group in _by_drive(verdicts).items():
        lines += [f"**{drive}**", "", f"| {' | '.join(_HEAD)} |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {' | '.join(cell.replace('|', '/') for cell in _cells(verdict))} |" for verdict in group
        ]
        lines.append("")
    return "\n".join([*lines, _summary(verdicts) + begun, "", *_reasons(verdicts), ""])


def _reasons(verdicts: Sequence[Verdict]) -> list[str]:
    """Why rows miss their limits, where that is known."""
    from iogauge.calibrate.misses import REASONS

    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        if not verdict.holds and verdict.point.row in REASONS:
            name = f"{verdict.point.drive} {verdict.point.host or 'specified'}, {verdict.point.label}"
            by_reason.setdefault(REASONS[verdict.point.row], []).append(name)
    return [f"- {'; '.join(rows)}: {reason}" for reason, rows in by_reason.items()]


def _summary(verdicts: Sequence[Verdict]) -> str:
    from iogauge.calibrate.verdict import Part

    counts = []
    for part in Part:
        held = [verdict.holds for verdict in verdicts if verdict.part == part]
        if held:
            counts.append(f"{sum(held)} of {len(held)} {part}")
    return f"Within their limits: {', '.join(counts)}."
