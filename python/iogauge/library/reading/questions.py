"""Saved reviews as SQL and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.library.options import StrPath, flat
from iogauge.library.public import public

if TYPE_CHECKING:
    import pyarrow as pa


@public
def query(sql: str, *reviews: StrPath | Sequence[StrPath]) -> pa.Table:
    """Run one statement of DuckDB's SQL over saved reviews, of which one may be ``"published"``, or over a collection.

    Its views are ``figures`` (a row for each step), ``steps``, ``totals`` and ``intervals``, and columns of histograms
    have functions (docs/formats.md). A collection has the tables ``figures`` and ``reviews``.

    Raises IogaugeError if a review does not exist, or the statement fails; UsageError if no review is named.

    Examples:
        >>> import iogauge
        >>> iogauge.query("select count(*) > 0 as known from figures", "published")["known"][0].as_py()
        True
    """
    from iogauge.index.collection.place import is_collection

    names = flat(reviews)
    if any(map(is_collection, names)):
        from iogauge.library.reading.collected import open_collection

        if len(names) > 1:
            raise UsageError("a collection is asked by itself", hint="name one collection, or reviews")
        with open_collection(names[0]) as collection:
            return collection.query(sql)
    from iogauge.report.query_functions import FUNCTIONS
    from iogauge.results.published import split_names
    from iogauge.results.tables import figures_table
    from iogauge.store import query as sql_over

    paths, published = split_names(names)
    views = {"figures": partial(figures_table, published=published)}
    return sql_over.query(paths, sql, views=views, functions=FUNCTIONS)


@public
def export_tables(*reviews: StrPath | Sequence[StrPath]) -> dict[str, pa.Table]:
    """Return the tables that ``iogauge export --csv`` writes, by their files' names.

    One for each plan of a suite has a row for each complete step and direction; ``intervals.csv`` has a row for each
    interval of time. Names of columns end in their unit. ``query("from figures", ...)`` has the rows of all suites.

    Raises IogaugeError if a review does not exist; UsageError if no review is named.

    Examples:
        >>> import iogauge
        >>> any(table.num_rows for table in iogauge.export_tables("published:p4800x").values())
        True
    """
    import pyarrow.compute as pc

    from iogauge.results.published import split_names
    from iogauge.results.tables import figures_table, moments_table

    paths, published = split_names(flat(reviews))
    figures = figures_table(paths, published=published)
    tables = {
        f"{key}.csv": figures.filter(pc.equal(figures["plan"], key)) for key in figures["plan"].unique()
    }
    if paths:
        tables["intervals.csv"] = moments_table(paths)
    return tables
