"""The view that compares reviews: the answer, the differences in setup, and every figure with its interval.

Up to eight reviews are compared as the library compares them: each with the baseline, figure by figure, with tests
where there are repeats. More of them, up to fifty, are put side by side from the index, without tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from iogauge.comparison.sides import refuse_nothing
from iogauge.comparison.text import HEAD
from iogauge.errors import IogaugeError, UsageError
from iogauge.report.page.first_screen import MOST_FINDINGS, ranked_differences
from iogauge.report.page.render import BY_SCRIPT, FEW_CHOICES, chart_data
from iogauge.report.sections import Report
from iogauge.results.figures import IOPS, MEAN, metric_text, quantile_metric
from iogauge.results.review import keep_computed
from iogauge.store.find import refuse_irregular
from iogauge.text.numbers import capitalised, counted
from iogauge.web.listing import side_by_side
from iogauge.web.listing.rows import name_of
from iogauge.web.reports import in_turn

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from iogauge.index import Index, ReviewRow
    from iogauge.web.app import Web

TEMPLATE = "compare.html.j2"
MOST_TESTED = 8
"""Reviews that the library compares; more are put side by side."""
MOST = 50
"""Reviews that are put side by side."""
METRICS = (IOPS, MEAN, quantile_metric(0.99), quantile_metric(0.999))
"""The figures that are put side by side."""
MOST_OFFERED = 10
"""Reviews that a search offers."""


@dataclass(frozen=True)
class Side:
    """A chosen review."""

    id: str
    name: str
    others: list[str]
    """The ids of the other chosen reviews."""
    problem: str = ""
    """Why it cannot be read; empty: it can."""
    hint: str = ""


def routes() -> list[Route]:
    """Return the addresses of this view."""
    return [Route("/compare", compare)]


async def compare(request: Request) -> Response:
    """Compare the reviews that the address names; with ``save``, as one file."""
    web: Web = request.app.state.web
    query = request.query_params
    chosen = list(dict.fromkeys(query.getlist("review")))
    content = await in_turn(
        content_of,
        web.index,
        chosen,
        baseline=query.get("baseline", ""),
        metric=query.get("metric", MEAN),
        search=query.get("search", ""),
    )
    if query.get("save"):
        return await run_in_threadpool(web.pages.attachment, TEMPLATE, name="comparison.html", **content)
    return await run_in_threadpool(web.pages.page, TEMPLATE, **content)


def content_of(
    index: Index, chosen: Sequence[str], *, baseline: str = "", metric: str = MEAN, search: str = ""
) -> dict[str, Any]:
    """Return what the template shows.

    Args:
        index: that of the reviews.
        chosen: the ids of reviews, each once.
        baseline: the id of the one that the others are compared with; by default the first that can be read.
        metric: the one of ``METRICS`` that more than ``MOST_TESTED`` reviews are compared by.
        search: words that a review that may be added has.
    """
    problems: list[IogaugeError] = []
    sides = []
    rows = index.rows(chosen[:MOST])
    for name in chosen[:MOST]:
        row = rows.get(name)
        if row is None:
            problems.append(
                IogaugeError(f"{name}: no review has this name", hint="choose one from the list of reviews")
            )
            continue
        others = [other for other in chosen if other != name]
        sides.append(Side(name, name_of(row), others, row.problem, row.hint))
    readable = [side.id for side in sides if not side.problem]
    base = baseline if baseline in readable else next(iter(readable), "")
    content: dict[str, Any] = {
        "title": "Compare reviews",
        "view": "compare",
        "heading": "Compare reviews",
        "answer": "",
        "problems": problems,
        "sides": sides,
        "chosen": [side.id for side in sides],
        "baseline": base,
        "search": search,
        "report": None,
        "tables": (),
        "metric": metric,
        "metrics": [(name, capitalised(metric_text(name))) for name in METRICS],
        **_offers(index, search, chosen),
    }
    try:
        if len(chosen) > MOST:
            raise UsageError(f"at most {MOST} reviews are compared at once", hint="choose fewer")
        if len(readable) > MOST_TESTED:
            content |= _side_by_side(index, [rows[name] for name in readable], base, metric)
        elif len(readable) > 1 or any(len(rows[name].targets) > 1 for name in readable):
            paths = {name: str(path) for name in readable if (path := index.path(name))}
            if len(paths) == len(readable):
                content |= _compared(paths, base)
            else:  # a collection has their figures only
                content |= _side_by_side(index, [rows[name] for name in readable], base, metric)
        else:
            content["answer"] = (
                "Choose two or more reviews of the same suites, or one review of several targets."
            )
    except IogaugeError as error:
        content["problems"] = [*problems, error]
    return content


def _compared(paths: Mapping[str, str], baseline: str) -> dict[str, Any]:
    """Return what the template shows of reviews that the library compares."""
    for path in paths.values():
        refuse_irregular(Path(path))
    report = Report.of([*paths.values()], baseline=paths[baseline])
    refuse_nothing(report.differences, [*paths.values()])
    keep_computed(report.drives)
    findings = ranked_differences(report)
    charts = [
        replace(chart, caption=report.caption)
        for pair in report.pairs
        for part in pair.parts
        for chart in part.charts
    ]
    heading = " vs ".join(report.tested)
    return {
        "title": heading,
        "heading": heading,
        "answer": findings[0].headline if findings else "",
        "report": report,
        "several_suites": len(report.sections) > 1,
        "findings": findings,
        "most_findings": MOST_FINDINGS,
        "ratio_head": HEAD,
        "few_choices": FEW_CHOICES,
        "drawn": {chart.name: Markup(BY_SCRIPT) for chart in charts},
        "data": chart_data(charts),
    }


def _side_by_side(index: Index, rows: Sequence[ReviewRow], baseline: str, metric: str) -> dict[str, Any]:
    """Return what the template shows of more reviews."""
    names = {row.id: name_of(row) for row in rows}
    compared = index.compare(list(names), baseline, [metric]).to_pylist()
    return {
        "heading": f"{len(names)} reviews side by side",
        "around": side_by_side.around(rows),
        "tables": side_by_side.tables(compared, names),
        "tables_note": f"{side_by_side.NOTE} {_tested(index)}",
        "answer": side_by_side.answer(compared, names, baseline),
    }


def _tested(index: Index) -> str:
    """Return in a sentence what it takes to have differences tested."""
    if index.collection is None:
        return f"Choose at most {MOST_TESTED} reviews to have differences tested."
    return "Tests need the reviews themselves; a collection of figures has none, or only some of them."


def _offers(index: Index, search: str, chosen: Sequence[str]) -> dict[str, Any]:
    """Return the reviews that may be added."""
    if not search.strip():
        return {"offered": [], "offered_text": ""}
    page = index.reviews(search=search, limit=MOST_OFFERED + len(chosen))
    rows = [row for row in page.rows if row.id not in chosen and not row.problem][:MOST_OFFERED]
    text = f"{counted(page.total, 'review')} found" if rows else "No other review has all of these words."
    if page.total > len(rows) > 0:
        text += f", {len(rows)} of them listed: more words narrow the list"
    offered = [
        {
            "id": row.id,
            "name": name_of(row),
            "about": " · ".join(filter(None, (row.id, row.host, *row.suites))),
        }
        for row in rows
    ]
    return {"offered": offered, "offered_text": text}
