"""``iogauge query``: ask saved reviews questions in SQL.

Ask saved reviews a question in SQL.

SQL is one statement in DuckDB's dialect. The view 'figures' has a row for each complete step: review, target, suite,
series, label, position, repeat, direction, iops, rate_Bps, mean_ns, p50_ns to p99.999_ns (in double quotes), and more.
'steps' has the plan, 'totals' and 'intervals' the measurements; DESCRIBE figures lists the columns of 'figures'.

The built-in review 'published' adds a row for each published drive and load. Its columns pattern, block_bytes,
read_percent, threads and depth join it with the steps of the same load.

Columns such as lat of totals and intervals are histograms: quantile_ns(lat, 0.99) and mean_ns(lat) read one. Never
average percentiles; merged_quantile_ns(list(lat), 0.99) merges several histograms and reads the result.

A collection (iogauge collect) has the views 'figures' and 'reviews', a row for each review.

    iogauge query 'select step, "p99.9_ns" / 1000 as us from figures' saved
"""

from __future__ import annotations

import datetime
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.terminal import process, status, streams

if TYPE_CHECKING:
    import pyarrow as pa


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement.", show_default=False)],
    reviews: Annotated[
        list[str],
        typer.Argument(
            metavar="REVIEW...", help="Saved reviews, 'published', or a collection.", show_default=False
        ),
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object for each row.")] = False,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write a Parquet file instead.")
    ] = None,
) -> None:
    """Print the answer."""
    from iogauge.index.collection.place import is_collection
    from iogauge.library.reading import questions
    from iogauge.library.reading.report import output_claims
    from iogauge.report.tables_text import aligned_table, csv_text, write_parquet
    from iogauge.store.outputs import Existing
    from iogauge.text import numbers
    from iogauge.text.grid import shortened

    process.begin()
    if as_csv + as_json + (parquet is not None) > 1:
        raise status.UsageError("--csv, --json and --parquet exclude each other", hint="ask for one of them")
    if os.path.exists(sql):  # noqa: PTH110 (False also for a name that is too long)
        raise status.UsageError(
            f"{sql}: is a path, not SQL", hint="write the SQL first: iogauge query SQL REVIEW..."
        )
    saved = [name for name in reviews if not is_collection(name)]
    claims = output_claims(saved, say=streams.say) if parquet is not None else None
    output = claims.file(parquet, existing=Existing.OWN) if claims and parquet is not None else None
    answer = questions.query(sql, reviews)
    if output is not None:
        write_parquet(answer, output)
        streams.show(f"{parquet}\n")
    elif as_csv:
        streams.show(csv_text(answer))
    elif as_json:
        streams.show(json.dumps(_plain(answer), indent=2, allow_nan=False) + "\n")
    else:
        text, left_out = aligned_table(answer, columns=streams.table_columns())
        streams.show(text)
        if left_out:
            names = shortened(", ".join(left_out), streams.columns() - 40)
            count = numbers.counted(len(left_out), "column")
            streams.say(f"{count} did not fit ({names}): --csv has all")


def _plain(answer: pa.Table) -> Any:
    """Return an answer in JSON's types: bytes as hexadecimal text, times in ISO 8601, null for infinity and NaN."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(name): plain(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            return value.isoformat()
        return value if isinstance(value, (str, int, bool, type(None))) else str(value)

    return [plain(row) for row in answer.to_pylist()]
