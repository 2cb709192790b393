"""The view of one review: its report, under what a server adds: notes, where to compare it, and how it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from iogauge.errors import IogaugeError
from iogauge.live.finding import feeds
from iogauge.report.page.render import Frame
from iogauge.store import Review as Stored
from iogauge.store.find import refuse_irregular
from iogauge.store.reported import read_summary
from iogauge.text.option import option
from iogauge.web.following import summary
from iogauge.web.following.stream import Source
from iogauge.web.reports import Reports, in_turn

if TYPE_CHECKING:
    from starlette.requests import Request

    from iogauge.index import ReviewRow
    from iogauge.web.app import Web
    from iogauge.web.pages import Pages

TEMPLATE = "review.html.j2"
"""The page of a review that has no report."""
FRAME = "review-frame.html.j2"


def routes() -> list[Route]:
    """Return the addresses of this view."""
    return [Route("/review/{id:path}", partial(review, Reports()))]


async def review(reports: Reports, request: Request) -> Response:
    """Return the report of one review, or why there is none."""
    web: Web = request.app.state.web
    name = request.path_params["id"] or "."
    row, path = await run_in_threadpool(lambda: (web.index.row(name), web.index.path(name)))
    if row is None:
        raise HTTPException(404, "there is no such review here")
    if path is None:
        return await run_in_threadpool(_collected, web, row, save=bool(request.query_params.get("save")))
    save = bool(request.query_params.get("save"))
    ready = await run_in_threadpool(reports.has, path, framed=not save)
    run = run_in_threadpool if ready else in_turn
    return await run(_answer, web, reports, row, path, save=save)


@dataclass(frozen=True)
class Problem:
    """Why a review has no report."""

    message: str
    hint: str
    """Empty: what stands below it says what to do."""


def _answer(web: Web, reports: Reports, row: ReviewRow, path: Path, *, save: bool) -> Response:
    name = path.resolve().name
    problem = problem_of(row, path)
    try:
        if save and not problem:
            headers = {
                "content-disposition": f"attachment; filename*=UTF-8''{quote(f'{name}.html', safe='')}"
            }
            return HTMLResponse(reports.file(path), headers=headers)
        if not problem:
            return HTMLResponse(reports.framed(path, frame_of(web.pages, row, path)))
    except IogaugeError as error:
        problem = Problem(str(error), error.hint or "")
    context = {"title": name, "view": "", "problem": problem, **surroundings(row, path)}
    if save:
        return web.pages.attachment(TEMPLATE, name=f"{name}.html", **context)
    return web.pages.page(TEMPLATE, **context)


def _collected(web: Web, row: ReviewRow, *, save: bool) -> Response:
    """Return what a collection has of a review beside its figures, and where the review was."""
    problem = Problem(row.problem, row.hint)
    if not row.problem:
        problem = Problem(
            "this collection has the figures of this review, and its report needs the review itself",
            f"look at it where it was collected: {row.source}; or collect with "
            f"{option('with_reviews', True)} into a directory. Explore and Compare show its figures",
        )
    about: dict[str, Any] = {"row": row, "running": None, "resume": ""}
    context = {"title": row.id, "view": "", "problem": problem, **about}
    if save:
        return web.pages.attachment(TEMPLATE, name=f"{row.id}.html", **context)
    return web.pages.page(TEMPLATE, **context)


def problem_of(row: ReviewRow, path: Path) -> Problem | None:
    """Return why a review has no report; None: it has one."""
    if row.problem:
        return Problem(row.problem, row.hint)
    try:
        refuse_irregular(path)
        saved = Stored.open(path)
    except IogaugeError as error:
        return Problem(str(error), error.hint or "")
    if saved.completed() or read_summary(path):
        return None
    return Problem("no step of this review is complete, so it has no report yet", "")


def frame_of(pages: Pages, row: ReviewRow, path: Path, **place: Any) -> Frame:
    """Return what stands around the report of a review; ``place`` is what ``Pages.text`` takes of where it is read."""
    context = surroundings(row, path) | place
    parts = {
        part: Markup(pages.text(FRAME, title=row.id, view="", part=part, **context))
        for part in ("head", "top", "scripts")
    }
    return Frame(**parts)


def surroundings(row: ReviewRow, path: Path) -> dict[str, Any]:
    """Return what is known of a review beside its report: notes, and whether it runs or could go on."""
    feed = next((feed for feed in feeds() if feed.review and feed.review.resolve() == path.resolve()), None)
    live = None
    if feed:
        state = summary.state_of(Source(feed.path.parent, feed.writer))
        live = {
            "pid": feed.pid,
            "start": feed.start_ticks,
            "seq": state.seq,
            "sentence": summary.sentence(state, time.time(), running=True),
            "rates": summary.rates(state),
        }
    resume = ""
    if not feed and not row.running and not row.problem and row.complete < row.planned:
        resume = Stored.open(path).manifest.completed_by(str(path))
    return {"row": row, "running": live, "resume": resume}
