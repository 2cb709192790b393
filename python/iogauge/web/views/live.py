"""The view of what is running: the list of measurements, and each of them as it goes on.

The page has the latest figures without scripts. Its script follows the feed (``stream``) and draws.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from iogauge.live.finding import feeds
from iogauge.live.state import State
from iogauge.web.following import summary
from iogauge.web.following.stream import MOST_STREAMS, EventStream, Source, Streams, source_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from iogauge.web.app import Web

MOST_KEPT = 2000
"""Events in a page that is saved as one file."""
_HEADS = ("begin", "step", "rows")
"""What says what the events after it are of; each replaces those named after it."""


def routes() -> list[Route]:
    """Return the addresses of this view."""
    streams = Streams()
    return [
        Route("/live", measurements),
        Route("/live/{pid:int}", measurement),
        Route("/live/{pid:int}/events", partial(events, streams)),
    ]


async def measurements(request: Request) -> Response:
    """Return the list of running measurements."""
    web: Web = request.app.state.web
    context: dict[str, Any] = {
        "title": "Running",
        "view": "live",
        "feeds": await run_in_threadpool(_listed, web),
    }
    if request.query_params.get("save"):
        return web.pages.attachment("live-list.html.j2", name="running.html", **context)
    return web.pages.page("live-list.html.j2", **context)


def _listed(web: Web) -> list[dict[str, Any]]:
    entries = []
    for feed in feeds():
        state = summary.state_of(Source(feed.path.parent, feed.writer))
        entries.append(
            {
                "feed": feed,
                "sentence": summary.sentence(state, time.time(), running=True),
                "rates": summary.rates(state),
                "review": summary.id_below(web.settings.directory, feed.review),
            }
        )
    return entries


async def measurement(request: Request) -> Response:
    """Return one measurement, running or just ended."""
    web: Web = request.app.state.web
    pid = request.path_params["pid"]
    source = await run_in_threadpool(source_of, pid)
    if source is None:
        raise HTTPException(
            404, f"process {pid} runs no measurement now; if it ran a review, the list has it"
        )
    saved = bool(request.query_params.get("save"))
    context = await run_in_threadpool(_context, web, source, events=saved)
    if saved:
        return web.pages.attachment("live.html.j2", name=f"running-{pid}.html", **context)
    return web.pages.page("live.html.j2", **context)


def _context(web: Web, source: Source, *, events: bool) -> dict[str, Any]:
    state = summary.state_of(source)
    begin = state.begin or {"title": "A measurement", "targets": [], "review": None, "virtual": False}
    alive = source.writer.is_running
    return {
        "title": begin["title"],
        "view": "live",
        "pid": source.writer.pid,
        "begin": begin,
        "alive": alive and state.end is None,
        "review": summary.id_below(web.settings.directory, begin["review"]),
        "sentence": summary.sentence(state, time.time(), running=alive),
        "rates": summary.rates(state),
        "cells": summary.cells(state),
        "state": state,
        "data": {
            "pid": source.writer.pid,
            "start": source.writer.start_ticks,
            "now": time.time(),
            "events": _kept(source, state) if events else [],
        },
    }


def _kept(source: Source, state: State) -> list[Any]:
    """Return the last events of a feed, after those that say what they are of."""
    kept: deque[Any] = deque()
    heads: dict[str, Any] = {}
    reader, seq = source.reader(), 0
    try:
        while news := [event for event in reader.read(seq) if event.get("seq", seq + 1) > seq]:
            seq = news[-1]["seq"]
            kept.extend(news)
            while len(kept) > MOST_KEPT:
                _drop(kept.popleft(), heads)
            if seq >= state.seq:
                break
    finally:
        reader.close()
    return [*heads.values(), *kept]


def _drop(event: Any, heads: dict[str, Any]) -> None:
    """Leave an event out, but keep what the events after it cannot be understood without."""
    kind = event["event"]
    if kind in _HEADS:
        for later in _HEADS[_HEADS.index(kind) :]:
            heads.pop(later, None)
        heads[kind] = event


async def events(streams: Streams, request: Request) -> Response:
    """Return the events of a measurement that follow ``Last-Event-ID``, or else ``after``, as they come."""
    if streams.full:
        message = f"{MOST_STREAMS} pages show running measurements already"
        return JSONResponse(
            {"error": message, "hint": "close one of them"}, status_code=503, headers={"retry-after": "3"}
        )
    query = request.query_params
    after = _number(request.headers.get("last-event-id") or query.get("after", "0"))
    source = await run_in_threadpool(source_of, request.path_params["pid"], _number(query.get("start", "")))
    return EventStream(streams, source, after or 0)


def _number(text: str) -> int | None:
    """Return a number from a request; None: it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
