r"""``iogauge export``: write the figures and charts of saved reviews as files, for other programs.

Write the figures of saved reviews as CSV or Parquet, and their charts as pictures.

--csv writes one file for each suite in the plan, named by its key (mixed.csv; mixed.t2.csv for a second target), with a
row for each complete step. It also writes intervals.csv, with a row for each interval of time of every step. Names of
columns end in their unit; the column 'unit' has the unit of 'position'. Latencies are in nanoseconds, each with the
bounds of its 95 % interval, as mean_low_ns and mean_high_ns. --parquet writes the rows of all suites into one file.

--pictures writes the charts of the report: an SVG and a PNG for each statistic or step that a chart can show, with a
caption of drives, kernel, date and version, and the chart's data as CSV. --charts chooses some by name, or by a pattern
such as 'mixed*'; an unknown name lists the names.

The built-in review 'published' has no intervals of time.

For histograms and questions in SQL see 'iogauge query'.

    iogauge export saved --csv tables

    iogauge export saved --pictures figures --charts write-pressure \
        --charts 'mixed*'
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.cli.terminal.judge_by import JudgeBy
from iogauge.cli.terminal.report_progress import ReportProgress

if TYPE_CHECKING:
    from iogauge.store.outputs import Claims


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
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="DIRECTORY", help="Write charts as SVG, PNG and CSV here."),
    ] = None,
    charts: Annotated[
        list[str] | None,
        typer.Option(
            "--charts", metavar="NAME", help="Write only these charts, such as 'mixed*'; repeatable."
        ),
    ] = None,
    judge_by: JudgeBy = None,
) -> None:
    """Write files and print their names, one a line."""
    from iogauge.library.reading.report import output_claims

    process.begin()
    if csv is None and parquet is None and pictures is None:
        raise status.UsageError(
            "--csv, --parquet or --pictures is missing",
            hint="add --csv DIRECTORY, --parquet FILE or --pictures DIRECTORY",
        )
    for name, value in (("--charts", charts), ("--judge-by", judge_by)):
        if value and pictures is None:
            raise status.UsageError(f"{name} needs --pictures", hint="add --pictures DIRECTORY")
    if csv is not None and pictures is not None and csv.resolve() == pictures.resolve():
        raise status.UsageError(
            "--csv and --pictures would write files of the same names", hint="name two directories"
        )
    claims = output_claims(reviews, say=streams.say)
    if csv is not None or parquet is not None:
        _export_figures(reviews, csv, parquet, claims)
    if pictures is not None:
        _export_charts(reviews, pictures, charts or [], judge_by or [], claims)


def _export_figures(reviews: list[str], csv: Path | None, parquet: Path | None, claims: Claims) -> None:
    from iogauge.library.reading.questions import export_tables, query
    from iogauge.report.tables_text import write_csv, write_parquet
    from iogauge.store.outputs import Existing

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


def _export_charts(
    reviews: list[str], directory: Path, names: list[str], judge_by: list[Path], claims: Claims
) -> None:
    from iogauge.library.reading.judge_by import absolute
    from iogauge.library.reading.report import parts, read_report
    from iogauge.report.export import chosen_charts, claim_charts, write_charts

    with ReportProgress() as progress:
        report = read_report(reviews, judge_by=absolute(judge_by), on_progress=progress)
        chosen = chosen_charts(report.charts, names)
        outputs = claim_charts(chosen, directory, claims)
        for path in list(write_charts(chosen, outputs, on_progress=parts("drawing", progress))):
            streams.show(f"{path}\n")
