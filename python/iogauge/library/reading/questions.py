"""Saved reviews as SQL and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import fspath
from typing import TYPE_CHECKING

from iogauge.library.options import StrPath

if TYPE_CHECKING:
    import pyarrow as pa


def query(reviews: Sequence[StrPath], sql: str) -> pa.Table:
    """Run one statement of DuckDB's SQL over saved reviews, of which one may be ``"published"``.

    Its views are ``figures`` (a row for each step), ``steps``, ``totals`` and ``intervals``.

    Raises IogaugeError if a review does not exist, or the statement fails.
    """
    from iogauge.report.query_functions import FUNCTIONS
    from iogauge.results.published import split_names
    from iogauge.results.tables import figures_table
    from iogauge.store.query import query as ask

    paths, published = split_names(fspath(review) for review in reviews)
    views = {"figures": partial(figures_table, published=published)}
    return ask(paths, sql, views=views, functions=FUNCTIONS)


def export_tables(reviews: Sequence[StrPath]) -> tuple[pa.Table, dict[str, pa.Table]]:
    """Return the figures of saved reviews, and tables by file name: one for each plan, and one of intervals of time."""
    import pyarrow.compute as pc

    from iogauge.results.published import split_names
    from iogauge.results.tables import figures_table, moments_table

    paths, published = split_names(fspath(review) for review in reviews)
    figures = figures_table(paths, published=published)
    tables = {
        f"{key}.csv": figures.filter(pc.equal(figures["plan"], key)) for key in figures["plan"].unique()
    }
    if paths:
        tables["intervals.csv"] = moments_table(paths)
    return figures, tables
