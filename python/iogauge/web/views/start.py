"""The view that plans, starts, ends and resumes reviews. It works only where the server was started to allow it."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from iogauge.catalog.profiles import load_profile, profile_names
from iogauge.errors import IogaugeError, UsageError
from iogauge.library.drive.listed import list_drives
from iogauge.library.models.listed import models
from iogauge.library.suites import list_suites
from iogauge.live.finding import feeds
from iogauge.report.plan_text import lost, sentence
from iogauge.reviews.estimate import cost_of
from iogauge.schema import Pace
from iogauge.store import Review as Stored
from iogauge.suites import shipped_suite
from iogauge.text import numbers
from iogauge.web.following import summary
from iogauge.web.following.stream import Source
from iogauge.web.starting.consent import consents
from iogauge.web.starting.requests import ReviewRequest, text

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from iogauge.library.plan import Plan
    from iogauge.web.app import Web
    from iogauge.web.refreshing import Refresher
    from iogauge.web.starting import Started, Starter

MOST_STEPS = 500
"""Steps of a plan that are listed."""
MOST_REVIEWS = 200
"""The newest reviews, among which the incomplete ones are looked for."""
INDEX_S = 5.0
_CHOICES = ("targets", "suites", "use")


def routes() -> list[Route]:
    """Return the addresses of this view."""
    posts = {"plan": plan, "run": run, "end": end, "resume": resume}
    return [
        Route("/start", page),
        *(Route(f"/start/{name}", endpoint, methods=["POST"]) for name, endpoint in posts.items()),
    ]


async def page(request: Request) -> Response:
    """Return the form, with what the address says; and what runs, or could be resumed."""
    web: Web = request.app.state.web
    context: dict[str, Any] = {"title": "Start a review", "view": "start", "starter": web.starter is not None}
    if web.starter is not None:
        context |= await run_in_threadpool(_choices, web, request)
    if request.query_params.get("save"):
        return web.pages.attachment("start.html.j2", name="start.html", **context)
    return web.pages.page("start.html.j2", **context)


def _choices(web: Web, request: Request) -> dict[str, Any]:
    query = request.query_params
    chosen = {name: query.getlist(name) for name in _CHOICES}
    drives = list_drives()
    offered = _offered()
    listed = {drive.path for drive in drives} | {drive.target for drive in offered["models"]}
    newest = web.index.reviews(limit=MOST_REVIEWS)
    return {
        **offered,
        "drives": drives,
        "paces": get_args(Pace),
        "chosen": {
            **chosen,
            "others": [target for target in chosen["targets"] if target not in listed],
            "pace": query.get("pace", "quick"),
            "size": query.get("size", ""),
            "note": query.get("note", ""),
        },
        "running": _running(web.settings.directory),
        "incomplete": [
            row for row in newest.rows if not row.problem and not row.running and row.complete < row.planned
        ],
        "most_reviews": MOST_REVIEWS,
        "unlooked": newest.total - len(newest.rows),
        "resumed": _resumed(web, query["resume"]) if query.get("resume") else None,
        "size_text": numbers.size,
    }


@cache
def _offered() -> dict[str, Any]:
    """Return what the form offers, and what no drive or review changes."""
    return {
        "models": models().drives,
        "suites": list_suites(),
        "profiles": [load_profile(name) for name in profile_names()],
    }


def _running(directory: Path) -> list[dict[str, Any]]:
    return [
        {
            "feed": feed,
            "review": summary.id_below(directory, feed.review),
            "sentence": summary.sentence(
                summary.state_of(Source(feed.path.parent, feed.writer)), time.time(), running=True
            ),
        }
        for feed in feeds()
    ]


def _resumed(web: Web, name: str) -> dict[str, Any]:
    """Return what is left of an incomplete review."""
    try:
        saved = Stored.open(_directory(web, name))
    except IogaugeError as error:
        return {"id": name, "problem": str(error), "hint": error.hint or ""}
    other = _starter(web).other_suite(saved.manifest)
    steps = () if other else cost_of(saved.manifest, shipped_suite).steps
    missing = [step for step in steps if not saved.has(step.step.id)]
    targets = ", ".join(target.path for target in saved.manifest.targets)
    left = numbers.clock_time(sum(step.likely_s for step in missing))
    virtual = " of virtual time" if all(target.modelled for target in saved.manifest.targets) else ""
    return {
        "id": name,
        "problem": "",
        "sentence": f"{numbers.counted(len(missing), 'step')} on {targets} are missing, about {left}{virtual}.",
        "other": other,
        "consents": consents(saved.manifest),
    }


async def plan(request: Request) -> Response:
    """Return what a review would do."""
    web, content = await _content(request)
    starter = _starter(web)
    return JSONResponse(await run_in_threadpool(_planned, starter, ReviewRequest.read(content)))


def _planned(starter: Starter, wanted: ReviewRequest) -> dict[str, Any]:
    planned = starter.plan(wanted)
    return {
        "sentence": f"{sentence(planned.manifest, planned.cost)}.",
        "lost": list(lost(planned.manifest, planned.cost)),
        "unknown": [
            f"{part.title} adds steps that follow from its results; their time and writes are unknown."
            for part in planned.cost.unknown
        ],
        "steps": _steps(planned)[:MOST_STEPS],
        "left_out": max(len(_steps(planned)) - MOST_STEPS, 0),
        "consents": [asdict(consent) for consent in consents(planned.manifest)],
    }


def _steps(planned: Plan) -> list[list[str]]:
    """Return a row for each step: what it is, how long it takes, and what it writes, likely and at most."""
    rows = []
    for step in planned.steps:
        likely = numbers.rough_size(step.likely_bytes) if step.likely_bytes else "unknown"
        most = numbers.most_size(step.written_bytes) if step.written_bytes else "unknown"
        writes = (likely, most) if step.writes else ("-", "-")
        title = f"{step.plan.title} on {', '.join(step.plan.targets)}"
        rows.append([title, step.place, numbers.clock_time(step.likely_s), *writes])
    for more in planned.cost.following:
        steps = numbers.counted(len(more.most), "further step")
        title = f"{more.plan.title} on {', '.join(more.plan.targets)}"
        likely = numbers.rough_size(more.likely_bytes) if more.likely_bytes else "-"
        rows.append([title, f"at most {steps}, by results", numbers.clock_time(more.likely_s), likely, "-"])
    return rows


async def run(request: Request) -> Response:
    """Start a review."""
    web, content = await _content(request)
    starter = _starter(web)
    wanted = ReviewRequest.read(content)
    typed, confirmed = _typed(content), content.get("confirmed") is True

    def started() -> Response:
        return _answer(web, starter.start(wanted, typed=typed, confirmed=confirmed))

    return await run_in_threadpool(started)


async def resume(request: Request) -> Response:
    """Resume an incomplete review."""
    web, content = await _content(request)
    starter = _starter(web)
    name, typed, confirmed = text(content, "review"), _typed(content), content.get("confirmed") is True

    def started() -> Response:
        return _answer(web, starter.resume(_directory(web, name), typed=typed, confirmed=confirmed))

    return await run_in_threadpool(started)


async def end(request: Request) -> Response:
    """End a measurement gracefully; a review can be resumed."""
    web, content = await _content(request)
    starter = _starter(web)
    feed = await run_in_threadpool(starter.end, _number(content, "pid"), _number(content, "start_ticks"))
    return JSONResponse({"review": summary.id_below(web.settings.directory, feed.review)})


async def _content(request: Request) -> tuple[Web, dict[str, Any]]:
    from iogauge.web.app import body_of

    return request.app.state.web, await body_of(request)


def _starter(web: Web) -> Starter:
    if web.starter is None:
        raise HTTPException(403, "this server only reads: it was started without --allow-start")
    return web.starter


def _directory(web: Web, name: str) -> Path:
    """Return the directory of a review by its id. Raises UsageError if there is no such review."""
    path = web.index.path(name)
    if path is None:
        raise UsageError(f"{name}: there is no such review here", hint="choose one from the list of reviews")
    return path


def _number(content: dict[str, Any], name: str) -> int:
    value = content.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{name}: is not a number", hint="send what the page shows")
    return value


def _typed(content: dict[str, Any]) -> dict[str, str]:
    """Return what was typed to give up content, by target."""
    typed = content.get("destroy", {})
    if not isinstance(typed, dict) or not all(isinstance(value, str) for value in typed.values()):
        raise UsageError("destroy: is not an object of texts", hint='send {"/dev/nvme0n1": "SERIAL"}')
    return typed


def _answer(web: Web, started: Started) -> Response:
    review = summary.id_below(web.settings.directory, started.review)
    if not started.running and web.refresher:
        _await_row(web, web.refresher, review)
    return JSONResponse({"pid": started.pid, "running": started.running, "review": review})


def _await_row(web: Web, refresher: Refresher, review: str) -> None:
    """Wait until the index has a review that has just ended, but not for long: it may be busy with many others."""
    until = time.monotonic() + INDEX_S
    while web.index.path(review) is None and time.monotonic() < until:
        refresher.soon()
        time.sleep(0.1)
