"""The view of all reviews: found by words, drive, host, suite, date and tag, and chosen for comparing.

The server makes every row. The page has the first of them, and its script asks for others where the reader is, so that
a list of thousands opens at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

from iogauge.errors import IogaugeError, UsageError
from iogauge.live.finding import FeedInfo, feeds
from iogauge.store.notes import check_notes, editable_notes, tags_of, write_notes
from iogauge.text.numbers import capitalised, counted
from iogauge.text.option import option
from iogauge.web.following.summary import id_below
from iogauge.web.listing.rows import listed, name_of

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from iogauge.index import Index, ReviewRow
    from iogauge.web.app import Web

TEMPLATE = "reviews.html.j2"
ROWS = "rows.html.j2"
PAGE = 100
"""Rows that a page has, and that its script asks for at once."""
MOST_SAVED = 500
"""Rows of a saved page."""
MOST_NOTES = 32 << 10
"""Bytes of notes that the page edits: as JSON, they fit into a request."""
ORDERS = (
    ("-created", "newest first"),
    ("created", "oldest first"),
    ("drive", "by drive"),
    ("host", "by host"),
    ("value", "lowest main figure first"),
    ("-value", "highest main figure first"),
)
"""The orders of the list: as the index names them, and as people do."""
_LONGEST = 200
"""Characters of a filter."""


@dataclass(frozen=True)
class Filters:
    """What a reader wants to see. Empty texts filter nothing."""

    search: str = ""
    drive: str = ""
    host: str = ""
    suite: str = ""
    tag: str = ""
    since: str = ""
    until: str = ""
    order: str = ORDERS[0][0]

    @classmethod
    def of(cls, query: QueryParams) -> Filters:
        """Return the filters of an address. Raises UsageError for an order that there is not."""
        texts = {field.name: query.get(field.name, "")[:_LONGEST] for field in fields(cls)}
        texts["order"] = texts["order"] or ORDERS[0][0]
        if texts["order"] not in dict(ORDERS):
            raise UsageError(
                f"there is no order {texts['order']!r}", hint=f"use one of {', '.join(dict(ORDERS))}"
            )
        return cls(**texts)

    @property
    def narrowed(self) -> dict[str, str]:
        """The filters that are in use, as a query."""
        texts = {name: text for name, text in asdict(self).items() if text}
        if self.order == ORDERS[0][0]:
            del texts["order"]
        return texts

    @property
    def narrows(self) -> bool:
        """Whether they leave reviews out."""
        return bool(self.narrowed.keys() - {"order"})


def routes() -> list[Route]:
    """Return the addresses of this view."""
    return [
        Route("/", reviews),
        Route("/reviews/rows", rows),
        Route("/notes", notes),
        Route("/notes", change_notes, methods=["POST"]),
    ]


async def reviews(request: Request) -> Response:
    """List the reviews; with ``save``, as one file."""
    web: Web = request.app.state.web
    query = request.query_params
    filters, saved = Filters.of(query), bool(query.get("save"))
    content = await run_in_threadpool(
        content_of,
        web.index,
        web.settings.directory,
        filters,
        offset=0 if saved else _offset(query),
        limit=MOST_SAVED if saved else PAGE,
        chosen=query.getlist("review"),
        state=web.refresher.state if web.refresher else "",
    )
    if saved:
        return await run_in_threadpool(web.pages.attachment, TEMPLATE, name="reviews.html", **content)
    return await run_in_threadpool(web.pages.page, TEMPLATE, **content)


async def rows(request: Request) -> Response:
    """Return rows of the list as HTML in JSON, and how many there are."""
    web: Web = request.app.state.web
    filters, offset = Filters.of(request.query_params), _offset(request.query_params)

    def answer() -> Response:
        state = (
            web.refresher.state if web.refresher else ""
        )  # before the rows, which may come with the end of it
        page = web.index.reviews(**_arguments(filters), offset=offset, limit=PAGE)
        return JSONResponse(
            {
                "state": state,
                "total": page.total,
                "count": _count(page.total, filters),
                "html": _html(web, page.rows, first=offset),
            }
        )

    return await run_in_threadpool(answer)


async def notes(request: Request) -> Response:
    """Return the notes on a review to be edited, and their version, with which the new ones are sent."""
    web: Web = request.app.state.web
    path = await run_in_threadpool(_path, web, request.query_params.get("review"))
    text, version = await run_in_threadpool(editable_notes, path, most_bytes=MOST_NOTES)
    return JSONResponse({"text": text, "version": version})


async def change_notes(request: Request) -> Response:
    """Write the notes on a review, and return its row."""
    from iogauge.web.app import body_of

    web: Web = request.app.state.web
    content = await body_of(request)
    if not web.settings.allow_start:
        raise UsageError(
            "this server only reads", hint=f"start it with {option('allow_start', True)} to write notes"
        )
    text = content.get("text")
    if not isinstance(text, str):
        raise UsageError(
            "the notes are not a text",
            hint='send {"review": ID, "text": TEXT, "version": THAT OF THE TEXT BEFORE}',
        )
    check_notes(text, most_bytes=MOST_NOTES)

    def write() -> Response:
        path, row = _path(web, content.get("review")), web.index.row(content["review"])
        if editable_notes(path, most_bytes=MOST_NOTES)[1] != content.get("version"):
            raise IogaugeError(
                "these notes have been changed meanwhile",
                hint="copy your text, open the notes again, and add it to what they say now",
            )
        write_notes(path, text)
        if web.refresher:
            web.refresher.soon()
        # The index has the notes a little later.
        rows = [replace(row, notes=text, tags=tags_of(text))] if row else []
        return JSONResponse({"html": _html(web, rows, first=0)})

    return await run_in_threadpool(write)


def content_of(
    index: Index,
    directory: Path,
    filters: Filters = Filters(),
    *,
    offset: int = 0,
    limit: int = PAGE,
    chosen: list[str] | None = None,
    state: str = "",
) -> dict[str, Any]:
    """Return what the template shows.

    Args:
        index: that of the reviews in ``directory``.
        directory: where the reviews are.
        filters: which reviews are listed, in which order.
        offset: the number of the first that is shown, from 0.
        limit: how many are shown at most.
        chosen: the ids of those that are chosen for comparing.
        state: how far the index is while it is being made; empty: it is up to date.
    """
    page = index.reviews(**_arguments(filters), offset=offset, limit=limit)
    everything = index.reviews(limit=1)
    choices = index.choices()
    running = feeds()
    pids = _pids(running, directory)
    picked = list(dict.fromkeys(chosen or []))
    shown = {row.id for row in page.rows}
    elsewhere = index.rows([name for name in picked if name not in shown]).values() if picked else ()
    if state and not everything.total:
        nothing = f"The reviews in {index.place} are being read."
    elif not everything.total:
        makes = "collect DIRECTORY adds some" if index.collection else "review TARGET makes one"
        nothing = f"No review is saved in {index.place}. hint: iogauge {makes}."
    else:
        nothing = "No review matches. Remove a word or a filter."
    heading = counted(everything.total, "review")
    if drives := len(choices["drive"]):
        heading += f" of {counted(drives, 'drive')}"
    return {
        "title": "Reviews",
        "view": "reviews",
        "heading": heading,
        "answer": _answer(next(iter(everything.rows), None), running),
        "running": running,
        "filters": filters,
        "narrowed": filters.narrowed,
        "choices": choices,
        "orders": ORDERS,
        "rows": [listed(row, pids) for row in page.rows],
        "first": offset,
        "page": PAGE,
        "total": page.total,
        "count": _count(page.total, filters)
        + (f"; the first {limit} are shown" if limit > PAGE and page.total > limit else ""),
        "nothing": nothing,
        "state": state,
        "chosen": picked,
        "elsewhere": [(row.id, name_of(row)) for row in elsewhere],
        "chosen_text": f"{len(picked)} chosen for comparing" if picked else "Choose reviews to compare them",
    }


def _answer(newest: ReviewRow | None, running: list[FeedInfo]) -> str:
    """Return what runs, and which review is the newest."""
    parts = []
    if running:
        parts.append(f"{counted(len(running), 'measurement')} {'is' if len(running) == 1 else 'are'} running")
    if newest and newest.created:
        parts.append(f"the newest review is of {name_of(newest)}, begun {newest.created:%Y-%m-%d %H:%M} UTC")
    text = "; ".join(parts) or "nothing is running"
    return f"{capitalised(text)}."


def _count(total: int, filters: Filters) -> str:
    if filters.narrows:
        return f"{counted(total, 'review')} {'matches' if total == 1 else 'match'}"
    return counted(total, "review")


def _arguments(filters: Filters) -> dict[str, Any]:
    """Return the filters as arguments of ``Index.reviews``."""
    until = _date(filters.until, name="until")
    return {
        "search": filters.search,
        "drive": filters.drive or None,
        "host": filters.host or None,
        "suite": filters.suite or None,
        "tag": filters.tag or None,
        "since": _date(filters.since, name="since"),
        # The last day is included. No date follows the year 9999, so that one is no limit.
        "until": until + timedelta(days=1) if until and until.year < MAXYEAR else None,
        "order": filters.order,
    }


def _date(text: str, *, name: str) -> datetime | None:
    """Return the beginning of a day, UTC; None: there is no limit."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(f"{name} {text!r} is not a date", hint="write it as 2026-11-28") from None


def _offset(query: QueryParams) -> int:
    """Return the number of the first row, a multiple of ``PAGE``."""
    text = query.get("offset", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"offset {text[:20]!r} is not a whole number", hint="send a number from 0")
    return int(text) // PAGE * PAGE


def _pids(running: list[FeedInfo], directory: Path) -> dict[str, int]:
    """Return the processes that write reviews below the directory, by the ids of these."""
    ids = ((id_below(directory, feed.review), feed.pid) for feed in running)
    return {review: pid for review, pid in ids if review}


def _html(web: Web, reviews: Sequence[ReviewRow], *, first: int) -> str:
    """Return the rows of reviews as HTML; ``first`` is the number of the first."""
    pids = _pids(feeds(), web.settings.directory)
    rows = [listed(row, pids) for row in reviews]
    return web.pages.text(ROWS, title="", view="", rows=rows, first=first, chosen=())


def _path(web: Web, review: object) -> Path:
    """Return the directory of a review. Raises UsageError for an id that the index does not have."""
    path = web.index.path(review) if isinstance(review, str) else None
    if path is None and web.index.collection:
        raise UsageError(
            "a collection is only read", hint="write the notes where the review is, and collect it again"
        )
    if path is None:
        raise UsageError("no review has this name", hint="choose one from the list of reviews: /")
    return path
