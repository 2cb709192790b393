"""``iogauge export``: write the figures of saved reviews as tidy files, for other programs.

--csv writes a file for each plan of a suite, named by its key (mixed.csv; mixed.t2.csv of a second target), with a row
for each complete step, and intervals.csv with a row for each interval of time of every step. Units end the columns'
names: position is in the column unit, latencies are in nanoseconds, each with the bounds of its 95 % interval,
mean_low_ns and mean_high_ns. --parquet writes one file with all that the CSV files of suites have.

'published', the built-in review, has no intervals of time.

For histograms and questions in SQL see 'iogauge query'.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli import process, status, streams


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
    import pyarrow.compute as pc

    from iogauge.report.figures_table import figures_table, moments_table
    from iogauge.report.published import parted
    from iogauge.report.tables_text import write_csv, write_parquet
    from iogauge.store.durable import explained

    process.begin()
    if csv is None and parquet is None:
        raise status.UsageError("say what to write", hint="--csv DIRECTORY, --parquet FILE, or both")
    paths, published = parted(reviews)
    figures = figures_table(paths, published=published)
    if parquet is not None:
        write_parquet(figures, parquet)
        streams.show(f"{parquet}\n")
    if csv is not None:
        with explained("create", csv):
            csv.mkdir(parents=True, exist_ok=True)
        for key in figures["plan"].unique():
            file = csv / f"{key}.csv"
            write_csv(figures.filter(pc.equal(figures["plan"], key)), file)
            streams.show(f"{file}\n")
        if paths:
            write_csv(moments_table(paths), csv / "intervals.csv")
            streams.show(f"{csv / 'intervals.csv'}\n")
