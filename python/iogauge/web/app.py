"""The application: all views behind the guard."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from iogauge.errors import IogaugeError, UsageError
from iogauge.web import session
from iogauge.web.guard import SIGN_IN_AT, Guard
from iogauge.web.pages import SHARED, STATIC, Pages, asset_text
from iogauge.web.views import reviews

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from iogauge.index import Index
    from iogauge.web.refreshing import Refresher
    from iogauge.web.settings import Settings
    from iogauge.web.starting import Starter

VIEWS = ("review", "live", "compare", "explore", "start", "models")
"""The views beside the list. Each has ``routes()``, and is imported when one of them is first asked for."""


@dataclass(frozen=True)
class Web:
    """What the views share: ``request.app.state.web``."""

    settings: Settings
    index: Index
    pages: Pages
    refresher: Refresher | None
    """Looks for changes of the reviews; None: the index stays as it is."""
    starter: Starter | None
    """Starts reviews; None: the server does not."""
    say: Callable[[str], None]
    """Says on the server's terminal what a view could not do."""


def make_app(
    settings: Settings,
    index: Index,
    *,
    refresher: Refresher | None = None,
    starter: Starter | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Starlette:
    """Return the application over the reviews of an index."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if starter:
            starter.close()

    app = Starlette(
        routes=[
            Route(SIGN_IN_AT, sign_in, methods=["POST"]),
            *(Route(f"/static/{name}", shared) for name in SHARED),
            Mount("/static", StaticFiles(directory=STATIC)),
            *reviews.routes(),
            Mount("/", _Views()),
        ],
        middleware=[Middleware(Guard, settings=settings), Middleware(_Refreshing, refresher=refresher)],
        exception_handlers={HTTPException: _missing, IogaugeError: _failed, Exception: _broken},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # each page has one address
    app.state.web = Web(settings, index, Pages(allow_start=settings.allow_start), refresher, starter, say)
    return app


class _Views:
    """ASGI application: the views of ``VIEWS``, whose import takes half a second. The list does not wait for it."""

    def __init__(self) -> None:
        self._importing = threading.Lock()
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        router = await run_in_threadpool(self._imported) if self._router is None else self._router
        await router(scope, receive, send)

    def _imported(self) -> Router:
        with self._importing:
            if self._router is None:
                modules = [import_module(f"iogauge.web.views.{name}") for name in VIEWS]
                routes = [route for module in modules for route in module.routes()]
                self._router = Router(routes=routes, redirect_slashes=False)
            return self._router


class _Refreshing:
    """ASGI middleware: whoever asks for a page may look for a review that has just been saved."""

    def __init__(self, app: ASGIApp, refresher: Refresher | None) -> None:
        self._app = app
        self._refresher = refresher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, then look for changes: the page does not wait for that."""
        await self._app(scope, receive, send)
        if self._refresher and scope["type"] == "http" and not scope["path"].startswith("/static/"):
            self._refresher.soon()


async def shared(request: Request) -> Response:
    """Return a script or style that reports have, too."""
    name = request.url.path.rpartition("/")[2]
    text = await run_in_threadpool(asset_text, name)
    return Response(text, media_type="text/css" if name.endswith(".css") else "text/javascript")


async def sign_in(request: Request) -> Response:
    """Exchange the token for the cookie."""
    web: Web = request.app.state.web
    content = await body_of(request)
    token = content.get("token")
    if not isinstance(token, str) or not session.is_token(token, web.settings.token):
        return JSONResponse(
            {"error": "that is not the token", "hint": "open the link that the server printed"},
            status_code=403,
        )
    response = Response(status_code=204)
    response.set_cookie(
        session.cookie_name(request.headers["host"]),
        session.cookie_of(token),
        httponly=True,
        samesite="strict",
        secure=web.settings.certificate is not None,
        path="/",
    )
    return response


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request. Raises UsageError if there is none."""
    try:
        content = await request.json()
    except (ValueError, RecursionError, ClientDisconnect):
        content = None
    if not isinstance(content, dict):
        raise UsageError("the request has no JSON object", hint="send an object, such as {}")
    return content


def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, f"{error.detail}", "start from the list of reviews: /")


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, IogaugeError)
    return _answer(request, 400, str(error), error.hint or "")


def _broken(request: Request, error: Exception) -> Response:
    web: Web = request.app.state.web
    place = traceback.extract_tb(error.__traceback__)[-1]
    web.say(
        f"error: {request.url.path}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})\n"
        "hint: this is a fault of iogauge: report it with this line"
    )
    return _answer(request, 500, "this view failed", "the server's terminal says why; other views still work")


def _answer(request: Request, status: int, message: str, hint: str) -> Response:
    web: Web = request.app.state.web
    if "text/html" in request.headers.get("accept", ""):
        return web.pages.page(
            "error.html.j2", title=message, view="", status=status, message=message, hint=hint
        )
    return JSONResponse({"error": message, "hint": hint}, status_code=status)
