"""The view that explores: any figure over positions, dates or drives, and SQL over all reviews."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from iogauge.errors import IogaugeError, UsageError
from iogauge.live.finding import feeds
from iogauge.report.page.render import BY_SCRIPT, FEW_CHOICES, chart_data
from iogauge.results.tables import METRICS
from iogauge.text import numbers
from iogauge.text.csv_cells import csv_of
from iogauge.web.exploring.answer import MOST_ROWS, MOST_SHOWN, Answer
from iogauge.web.exploring.columns import TABLES
from iogauge.web.exploring.figures import GROUPS, OVER, Figures, metric_name
from iogauge.web.exploring.queries import BUILT_IN
from iogauge.web.quiet import require_quiet

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from iogauge.index import Index
    from iogauge.index.explore import Load
    from iogauge.web.app import Web
    from iogauge.web.exploring.plot import Plot

TEMPLATE = "explore.html.j2"
MOST_CHOSEN = 100
"""Reviews that an address can choose."""
FIRST_METRIC = "p99_ns"
LONGEST_SQL = 6000
"""Characters of a statement: it is part of the address."""
TURN_S = 5.0
"""How long a statement waits for others."""
_turns = threading.BoundedSemaphore(2)
"""So many statements run at once: each takes memory and a CPU."""


@dataclass(frozen=True)
class Choice:
    """One field of the form."""

    name: str
    label: str
    value: str
    values: dict[str, str]
    """Each value that it can have, and its text."""


def routes() -> list[Route]:
    """Return the addresses of this view."""
    return [Route("/explore", explore), Route("/explore.csv", csv)]


async def explore(request: Request) -> Response:
    """Show figures, or the answer to a statement of SQL; with ``save``, as one file."""
    web: Web = request.app.state.web
    query = request.query_params
    content = await run_in_threadpool(content_of, web.index, query)
    if query.get("save"):
        return await run_in_threadpool(web.pages.attachment, TEMPLATE, name="explore.html", **content)
    return await run_in_threadpool(
        web.pages.page, TEMPLATE, status=400 if content["problem"] else 200, **content
    )


async def csv(request: Request) -> Response:
    """Return the answer to a statement as CSV."""
    web: Web = request.app.state.web
    answer = await run_in_threadpool(_answered, web.index, request.query_params.get("sql", ""))
    text = await run_in_threadpool(csv_of, answer.columns, answer.values)
    headers = {"content-disposition": 'attachment; filename="answer.csv"'}
    return Response(text, media_type="text/csv", headers=headers)


def content_of(index: Index, query: QueryParams) -> dict[str, Any]:
    """Return what the template shows of the figures, or of the statement, that the address names."""
    sql = query.get("sql", "").strip()
    content: dict[str, Any] = {
        "title": "Explore",
        "view": "explore",
        "heading": "Explore figures",
        "answer": "",
        "note": "",
        "problem": "",
        "hint": "",
        "fields": [],
        "chosen": [],
        "rows": [],
        "sql": sql,
        "result": None,
        "axes": [],
        "save": {},
        "tables": TABLES,
        "queries": BUILT_IN,
        "longest": LONGEST_SQL,
        "few_choices": FEW_CHOICES,
        "chart": None,
        "drawn": {},
        "data": None,
    }
    try:
        content |= _of_sql(index, sql, query) if sql else _of_figures(index, query)
    except IogaugeError as error:
        content |= {"problem": str(error), "hint": error.hint or ""}
    return content


def _of_figures(index: Index, query: QueryParams) -> dict[str, Any]:
    chosen = list(dict.fromkeys(query.getlist("review")))
    if len(chosen) > MOST_CHOSEN:
        raise UsageError(f"{len(chosen)} reviews are chosen", hint=f"choose at most {MOST_CHOSEN}, or all")
    loads = index.loads(chosen)
    if not loads:
        none = "None of these reviews has figures." if chosen else "No review here has figures yet."
        return {"answer": none, "chosen": chosen}
    load = _load(loads, query)
    metric, over = query.get("metric", FIRST_METRIC), query.get("x", "position")
    group, at = query.get("group", "drive"), _at(load, query.get("at", ""))
    explored = index.explore(load, metric, over=over, group=group, at=at, ids=chosen)
    figures = Figures(load, metric, over, at, explored)
    state = {
        "suite": load.suite,
        "series": load.series,
        "direction": load.direction,
        "metric": metric,
        "x": over,
        "group": group,
        "at": f"{at:g}",
        "review": chosen,
    }
    reviews = numbers.counted(explored.reviews, "review")
    return {
        "title": numbers.capitalised(figures.what),
        "answer": figures.answer,
        "note": " ".join(filter(None, [f"From {reviews}.", figures.left_out])),
        "chosen": chosen,
        "fields": _fields(loads, load, metric, over, group, at),
        "rows": figures.rows,
        "places": load.axis if over == "position" else OVER[over],
        "more": max(len(explored.points) - len(figures.rows), 0),
        "grouped": any(row["group"] for row in figures.rows) and group != "all",
        "marked": not all(point.supported for point in explored.points),
        "over": over,
        "save": {**state, "save": 1},
        **(_drawn(figures.plot) if explored.points else {}),
    }


def _of_sql(index: Index, sql: str, query: QueryParams) -> dict[str, Any]:
    result = _answered(index, sql)
    count = "more than " if result.is_cut else ""
    x, y = query.get("x", ""), query.get("y", "")
    plot = result.plot(x, y)
    return {
        "title": "Answer to a query",
        "heading": "Answer to a query",
        "answer": f"{count}{numbers.counted(len(result.values), 'row')} of "
        f"{numbers.counted(len(result.columns), 'column')}.",
        "note": f"The page shows the first {MOST_SHOWN}; the CSV has {'the first ' if result.is_cut else 'all '}"
        f"{len(result.values):,}."
        if len(result.values) > MOST_SHOWN
        else "",
        "result": result,
        "axes": [
            Choice("x", "Horizontal axis", plot.place, {name: name for name in result.columns}),
            Choice("y", "Values", plot.value, {name: name for name in result.numeric}),
        ]
        if plot
        else [],
        "save": {"sql": sql, "x": x, "y": y, "save": 1},
        **(_drawn(plot) if plot else {}),
    }


def _answered(index: Index, sql: str) -> Answer:
    """Return the answer to a statement. Raises IogaugeError."""
    if not sql.strip():
        raise UsageError(
            "the SQL statement is empty", hint="write one, such as: SELECT drives, headline FROM reviews"
        )
    if len(sql) > LONGEST_SQL:
        raise UsageError(f"{len(sql):,} characters are too many", hint=f"write at most {LONGEST_SQL:,}")
    require_quiet("a query", feeds())
    if not _turns.acquire(timeout=TURN_S):
        raise IogaugeError("other queries are still running", hint="try again in some seconds")
    try:
        return Answer.of(index.sql(sql, most_rows=MOST_ROWS + 1))
    finally:
        _turns.release()


def _drawn(plot: Plot) -> dict[str, Any]:
    chart = plot.chart()
    return {
        "chart": chart,
        "drawn": {chart.name: Markup(BY_SCRIPT)},
        "data": chart_data([chart]),
    }


def _load(loads: list[Load], query: QueryParams) -> Load:
    """Return the load that the address names. A name that does not fit gives way to the first that does.

    Raises UsageError if there is no such suite.
    """
    suite = query.get("suite") or max(loads, key=lambda load: load.reviews).suite
    named = [load for load in loads if load.suite == suite]
    if not named:
        suites = ", ".join(dict.fromkeys(load.suite for load in loads))
        raise UsageError(f"no review has the suite {suite[:80]!r}", hint=f"choose one of: {suites}")
    for name in ("series", "direction"):
        wanted = query.get(name)
        named = [load for load in named if getattr(load, name) == wanted] or named
    return named[0]


def _at(load: Load, text: str) -> float:
    """Return the position that the address names, or the first. Raises UsageError if it is no number."""
    places = [at for at, _ in load.positions]
    try:
        at = float(text) if text else places[0]
    except ValueError:
        raise UsageError(f"at {text[:40]!r} is not a number", hint="choose a position in the form") from None
    return at if at in places else places[0]


def _fields(loads: list[Load], load: Load, metric: str, over: str, group: str, at: float) -> list[Choice]:
    same_suite = [other for other in loads if other.suite == load.suite]
    same_series = [other for other in same_suite if other.series == load.series]
    metrics = {name: metric_name(name) for name in METRICS}
    fields = [
        Choice("suite", "Suite", load.suite, {other.suite: other.suite for other in loads}),
        Choice(
            "series", "Series", load.series, {other.series: other.series or "all" for other in same_suite}
        ),
        Choice(
            "direction",
            "Requests",
            load.direction,
            {other.direction: other.direction for other in same_series},
        ),
        Choice("metric", "Figure", metric, metrics),
        Choice("x", "Horizontal axis", over, OVER),
    ]
    if over != "drive":
        fields.append(Choice("group", "Lines", group, GROUPS))
    if over != "position":
        places = {f"{place:g}": label or numbers.placed(place, load.unit) for place, label in load.positions}
        fields.append(Choice("at", f"At {load.axis}", f"{at:g}", places))
    return [field for field in fields if len(field.values) > 1 or field.name == "suite"]
