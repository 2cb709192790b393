"""``iogauge list``: the reviews that are saved in directories.

List saved reviews: the directory of each, when it began, what was measured, and how many of its steps are complete. A
damaged review is listed with its problem. Without DIRECTORY, search the current one. The search goes at most four
directories deep.

'published' is a built-in review without a directory; --published lists its drives. Name it like any other review:
'iogauge compare REVIEW published', or 'published:p4800x' for one of its drives.

    iogauge list reviews
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iogauge.library.reading.reviews import SavedReview
    from iogauge.schema import Manifest

HEAD = ("review", "begun", "age", "targets", "suites", "pace", "tags", "repeats", "steps")
LEFT_OUT_FIRST = ("repeats", "begun", "pace", "tags", "suites", "age", "targets")
"""The columns to leave out on a narrow terminal, in this order."""


def list_(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIRECTORY...]", help="Where to look.  [default: here]"),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="List the published drives instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print a line for each review."""
    from iogauge.library.reading.reviews import list_reviews
    from iogauge.text.grid import narrowed

    process.begin()
    if published:
        if directories:
            raise status.UsageError(
                "--published and DIRECTORY exclude each other", hint="leave one of them out"
            )
        _published(as_json=as_json)
        return
    reviews = list_reviews(*directories or ())
    if as_json:
        streams.show(json.dumps([saved.to_dict() for saved in reviews], indent=2, allow_nan=False) + "\n")
    elif shown := [saved for saved in reviews if saved.manifest]:
        columns = streams.table_columns()
        table: list[tuple[str, ...]] = [
            HEAD,
            *(
                _cells(saved, saved.manifest, full=columns == sys.maxsize)
                for saved in shown
                if saved.manifest
            ),
        ]
        if not any(saved.notes.tags for saved in shown):
            place = HEAD.index("tags")
            table = [(*row[:place], *row[place + 1 :]) for row in table]
        lines = narrowed(table, LEFT_OUT_FIRST, columns=columns, left=len(table[0]) - 1)
        streams.show("".join(f"{line}\n" for line in lines))
        streams.say(_built_in())
    for saved in reviews:
        if saved.problem and not as_json:
            streams.say(saved.problem.render())
    if not reviews:
        where = ", ".join(map(str, directories or [Path()]))
        streams.say(f"no review is saved in {where}\nhint: iogauge review TARGET makes one")


def _built_in() -> str:
    from iogauge.results.published import PUBLISHED, published_drives
    from iogauge.text import numbers

    drives = published_drives()
    figures = numbers.counted(sum(map(len, drives.values())), "figure")
    return f"built in: {PUBLISHED}, {figures} of {numbers.counted(len(drives), 'drive')} (iogauge list --published)"


def _cells(saved: SavedReview, manifest: Manifest, *, full: bool) -> tuple[str, ...]:
    """Return the cells of a review. ``full`` writes every name whole; otherwise several are counted."""
    from iogauge.results.names import short_name
    from iogauge.text import numbers

    models = [target.model or target.path for target in manifest.targets]
    suites = list(dict.fromkeys(plan.suite for plan in manifest.plans))

    def listed(names: Sequence[str], noun: str) -> str:
        return ", ".join(names) if full or len(names) == 1 else numbers.counted(len(names), noun)

    return (
        str(saved.path),
        manifest.created_at[:16].replace("T", " "),
        _age(manifest.created_at),
        listed(models if full else list(map(short_name, models)), "target"),
        listed(suites, "suite"),
        manifest.pace,
        " ".join(f"#{tag}" for tag in saved.notes.tags),
        str(manifest.repeats),
        f"{saved.complete} of {saved.planned}{'' if saved.all_planned else ' and more'}"
        + (f", {saved.reported} reported" if saved.reported else ""),
    )


def _age(created_at: str) -> str:
    """Return the age of a time in its largest unit; ``-`` if it is not a time."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(created_at)).total_seconds()
    except (ValueError, TypeError):
        return "-"
    for unit_s, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{seconds // unit_s:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def _published(*, as_json: bool) -> None:
    from iogauge.results.published import published_drives
    from iogauge.text.grid import narrowed

    drives = published_drives()
    if as_json:
        shown = [
            {"drive": drive, "figures": len(rows), "sources": [*dict.fromkeys(row.source for row in rows)]}
            for drive, rows in drives.items()
        ]
        streams.show(json.dumps(shown, indent=2) + "\n")
        return
    cells = [(drive, str(len(rows)), rows[0].source) for drive, rows in drives.items()]
    table = [("drive", "figures", "first source"), *cells]
    lines = narrowed(table, ["first source"], columns=streams.table_columns())
    streams.show("".join(f"{line}\n" for line in lines))
