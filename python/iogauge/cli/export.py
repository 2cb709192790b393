"""``iogauge export``: write the figures of saved reviews as tidy files, for other programs.

Write the figures of saved reviews as CSV or Parquet, for other programs.

--csv writes one file for each suite in the plan, named by its key (mixed.csv; mixed.t2.csv for a second target), with
a row for each complete step. It also writes intervals.csv, with a row for each interval of time of every step. Names of
columns end in their unit; the column unit has the unit of position. Latencies are in nanoseconds, each with the bounds
of its 95 % interval, as mean_low_ns and mean_high_ns. --parquet writes the rows of all suites into one file.

The built-in review 'published' has no intervals of time.

For histograms and questions in SQL see 'iogauge query'.

    iogauge export saved --csv tables
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


def export(
    reviews: Annotated[
        list[str],
        typer.Argument(metavar="REVIEW...", help="Saved reviews, or 'published'.", show_default=False),
    ],
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIRECTORY", help="Write CSV files here.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write one Parquet file.")
    ] = None,
) -> None:
    """Write files and print their names, one a line."""
    from iogauge.library.reading.questions import export_tables, query
    from iogauge.library.reading.report import output_claims
    from iogauge.report.tables_text import write_csv, write_parquet
    from iogauge.store.outputs import Existing

    process.begin()
    if csv is None and parquet is None:
        raise status.UsageError(
            "--csv or --parquet is missing", hint="--csv DIRECTORY, --parquet FILE, or both"
        )
    claims = output_claims(reviews, say=streams.say)
    packed = claims.file(parquet, existing=Existing.OWN) if parquet is not None else None
    directory = claims.make_directory(csv) if csv is not None else None
    tables = export_tables(reviews) if directory is not None else {}
    files = {
        name: claims.file(directory / name, existing=Existing.OWN) for name in tables if directory is not None
    }
    if packed is not None:
        write_parquet(query("from figures", reviews), packed)
        streams.show(f"{packed.path}\n")
    for name, file in files.items():
        write_csv(tables[name], file)
        streams.show(f"{file.path}\n")
