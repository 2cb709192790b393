"""``iogauge model compare``: published figures beside what the models show.

Print, for every figure that was published of a modelled drive, what its model shows, how far that is off, and whether
what the row had to do with the model: fitted; predicted, as of every drive's rows a fifth is kept from the fit; or
given, where a parameter says it outright. A star marks what is further off than its limit; a bound either holds or does
not. A file of your own takes the place of the shipped drive that it is named like. It takes some minutes.

--state has the words of 'iogauge review'. With as-is flash begins as its file says, or as a row's source means it: a
maker's figures in order on a drive that is filled, for instance. Any other holds for all rows.

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
        found = verdicts(rows, trial, drives=every | drives, done=progress.counted)
    show = _markdown if output_format is Format.MD else _text
    streams.show(show(found, begun=_begun(state)))
    if any(not each.holds for each in found):
        raise typer.Exit(status.VIOLATED)


def _named(names: list[str], every: dict[str, ModelFile]) -> dict[str, ModelFile]:
    """Return the drives asked for, by the names of the shipped ones that they are or take the place of."""
    from iogauge import catalog

    drives: dict[str, ModelFile] = {}
    for asked in names:
        drive = catalog.drive(asked)
        name = next((each.name for each in every.values() if drive.name in (each.name, *each.also)), None)
        if name is None:
            raise status.UsageError(
                f"{drive.path}: no shipped drive is named {drive.name}, so that nothing published is known to be of it",
                hint="name the file like a drive that 'iogauge model list' shows, as fit --published does",
            )
        if name in drives:
            raise status.UsageError(f"{asked}: {name} is named twice", hint="leave one of them out")
        drives[name] = drive
    return drives


def _cells(each: Verdict) -> list[str]:
    point = each.point
    published = f"{point.relation or ''} {point.value:.4g}".strip()
    if point.span:
        published = f"{point.span[0]:.4g} to {point.span[1]:.4g}"
    error = f"{100 * each.error:+.1f} %"
    if point.use == "bound":
        error = "holds" if each.holds else "does not hold"
    mark = "" if each.holds else " *"
    host = point.host or "not said"
    if each.machine != point.host:
        host += f" ({each.machine})"
    return [host, point.label, f"{published} {point.unit}", f"{each.modelled:.4g}", error + mark, each.part]


_HEAD = ["host", "figure", "published", "modelled", "error", ""]


def _by_drive(found: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for each in found:
        groups.setdefault(each.point.drive, []).append(each)
    return groups


def _begun(state: State) -> str:
    """Say what flash begins in, where that is not what its file or a row says."""
    return "" if state is State.AS_IS else f" All modelled flash starts {state.value}."


def _text(found: Sequence[Verdict], *, begun: str) -> str:
    from iogauge.text.grid import aligned

    parts = []
    for drive, group in _by_drive(found).items():
        parts += [drive, "-" * len(drive), *aligned([_HEAD, *map(_cells, group)], left=2), ""]
    return "\n".join([*parts, _summary(found) + begun, *_reasons(found), ""])


def _markdown(found: Sequence[Verdict], *, begun: str) -> str:
    lines = []
    for drive, group in _by_drive(found).items():
        lines += [f"**{drive}**", "", f"| {' | '.join(_HEAD)} |", "|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in _cells(each))} |" for each in group]
        lines.append("")
    return "\n".join([*lines, _summary(found) + begun, "", *_reasons(found), ""])


def _reasons(found: Sequence[Verdict]) -> list[str]:
    """Why rows miss their limits, where that is known."""
    from iogauge.calibrate.misses import REASONS

    by_reason: dict[str, list[str]] = {}
    for each in found:
        if not each.holds and each.point.row in REASONS:
            name = f"{each.point.drive} {each.point.host or 'specified'}, {each.point.label}"
            by_reason.setdefault(REASONS[each.point.row], []).append(name)
    return [f"- {'; '.join(rows)}: {reason}" for reason, rows in by_reason.items()]


def _summary(found: Sequence[Verdict]) -> str:
    from iogauge.calibrate.verdict import Part

    counts = []
    for part in Part:
        held = [each.holds for each in found if each.part == part]
        if held:
            counts.append(f"{sum(held)} of {len(held)} {part}")
    return f"Within their limits: {', '.join(counts)}."
