"""``iogauge model compare``: published figures beside what the models show.

Print, for every figure that was published of a modelled drive, what its model shows, how far that is off, and whether
the row was fitted or predicted: of every drive's rows a fifth is kept from the fit. A star marks what is further off
than its limit; a bound either holds or does not. It takes some minutes.

Exit status: 0 all within their limits; 3 some are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli import process, status, streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.calibrate.verdict import Verdict


class Format(StrEnum):
    """``--format``."""

    TEXT = "text"
    MD = "md"


def model_compare(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Drives; by default all that are shipped.")
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="A table for the terminal, or for a document.")
    ] = Format.TEXT,
) -> None:
    """Run every load behind the figures, and print the table."""
    from iogauge import models
    from iogauge.calibrate.assess import comparable, shipped, verdicts
    from iogauge.cli.progress import Progress
    from iogauge.run import check_model
    from iogauge.run.interrupts import Interrupts

    process.begin()
    drives = [models.drive(name) for name in names or models.shipped("drive")]
    for drive in drives:
        check_model(drive, models.machine(drive.machine or "ideal"))
        if drive.path.parent != models.drive("ram").path.parent:
            raise status.UsageError(
                f"{drive.path}: only what iogauge brings is compared",
                hint="name a drive that 'iogauge model list' shows; fit --published writes such files",
            )
    wanted = {name for drive in drives for name in drive.published_as}
    rows = [point for point in comparable() if point.drive in wanted]
    if not rows:
        raise IogaugeError(
            f"nothing is published of {', '.join(drive.name for drive in drives)}",
            hint="'iogauge model compare' alone compares all of which something is",
        )
    with Interrupts() as interrupts, Progress(title="iogauge model compare") as progress:
        progress.step(f"{len(rows)} published figures", expected_s=None)
        found = verdicts(rows, shipped(interrupts), done=progress.counted)
    streams.show(_markdown(found) if output_format is Format.MD else _text(found))
    if any(not each.holds for each in found):
        raise typer.Exit(status.VIOLATED)


def _cells(each: Verdict) -> list[str]:
    point = each.point
    published = f"{point.relation or ''} {point.value:.4g}".strip()
    if point.span:
        published = f"{point.span[0]:.4g} to {point.span[1]:.4g}"
    if point.use == "bound":
        error = "holds" if each.holds else "does not hold"
        kind = "bound"
    else:
        error = f"{100 * each.error:+.1f} %"
        kind = "predicted" if each.predicted else "fitted"
    mark = "" if each.holds else " *"
    host = point.host or "not said"
    return [host, point.label, f"{published} {point.unit}", f"{each.modelled:.4g}", error + mark, kind]


_HEAD = ["host", "figure", "published", "modelled", "error", ""]


def _by_drive(found: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for each in found:
        groups.setdefault(each.point.drive, []).append(each)
    return groups


def _text(found: Sequence[Verdict]) -> str:
    from iogauge.report.grid import aligned

    parts = []
    for drive, group in _by_drive(found).items():
        parts += [drive, "-" * len(drive), *aligned([_HEAD, *map(_cells, group)], left=2), ""]
    return "\n".join([*parts, _summary(found), *_reasons(found), ""])


def _markdown(found: Sequence[Verdict]) -> str:
    lines = []
    for drive, group in _by_drive(found).items():
        lines += [f"**{drive}**", "", f"| {' | '.join(_HEAD)} |", "|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in _cells(each))} |" for each in group]
        lines.append("")
    return "\n".join([*lines, _summary(found), "", *_reasons(found), ""])


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
    def count(kind: str, rows: list[Verdict]) -> str:
        return f"{sum(each.holds for each in rows)} of {len(rows)} {kind}"

    bounds = [each for each in found if each.point.use == "bound"]
    fitted = [each for each in found if each.point.use == "fit" and not each.predicted]
    predicted = [each for each in found if each.point.use == "fit" and each.predicted]
    parts = (count("fitted", fitted), count("predicted", predicted), count("bounds", bounds))
    return f"Within their limits: {', '.join(parts)}."
