"""Makes pages from templates: for the server, as one file without a server, or as a file of a static site.

A template asks for its scripts and styles (``asset``) and for the addresses of other views (``link``), so that the same
template serves all three. Names from reviews are always text, never markup: Jinja2 escapes them, and data for a script
is JSON that cannot end its element.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse

import iogauge.report.page
from iogauge.text.cells import micro

TEMPLATES = Path(__file__).parent / "templates"
OF_REPORTS = Path(iogauge.report.page.__file__).parent / "templates"
"""The templates of a report, of which views use parts."""
STATIC = Path(__file__).parent / "static"
VEGA = "vega.js"
"""The script with Vega, Vega-Lite and Vega-Embed, which is made at first use: ``window.vegaEmbed``."""
REPORT = "report.js"
"""The script of a report, which draws the charts whose data the element ``#charts`` holds; it needs ``VEGA``."""

INKS = "inks.css"
"""The colours of the charts of a report."""
SHARED = (VEGA, REPORT, INKS)
"""Scripts and styles that reports have, too."""

Place = Literal["server", "file", "site"]
"""Where a page will be read: from the server, from one file, or from a folder of files."""
VIEWS = (
    ("reviews", "Reviews"),
    ("compare", "Compare"),
    ("explore", "Explore"),
    ("live", "Running"),
    ("models", "Models"),
    ("start", "Start"),
)
"""The views in the navigation, and their names there."""


class Links:
    """The addresses of views. In one file there are none, in a site those of its files."""

    def __init__(self, place: Place, site: Mapping[str, str] | None = None) -> None:
        self._place = place
        self._site = site or {}
        """The files of a site, by the address that the server has for the same page."""

    def to(self, view: str, **query: object) -> str:
        """Return the address of a view; empty: it cannot be reached from here.

        Values of ``query`` that are None are left out; a list gives one pair for each item.

        >>> Links("server").to("compare", review=["a b", "c"], baseline=None)
        '/compare?review=a+b&review=c'
        """
        pairs = {name: value for name, value in query.items() if value not in (None, "", [], ())}
        address = "/" if view == "reviews" else f"/{view}"
        return self.at(f"{address}?{urlencode(pairs, doseq=True)}" if pairs else address)

    def review(self, name: str) -> str:
        """Return the address of one review, by its path below the directory.

        >>> Links("server").review("a/b ?")
        '/review/a/b%20%3F'
        """
        return self.at(f"/review/{quote(name)}")

    def at(self, address: str) -> str:
        """Return where the page with this address of the server is."""
        return address if self._place == "server" else self._site.get(address, "")


class Pages:
    """Makes pages from the templates of this package."""

    def __init__(self, *, allow_start: bool = False) -> None:
        self._allow_start = allow_start
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([TEMPLATES, OF_REPORTS]),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: micro(value) if type(value) is str else value,
        )

    def page(self, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        """Return a page as the server's answer; ``context`` is that of ``text``."""
        return HTMLResponse(self.text(template, **context), status_code=status)

    def attachment(self, template: str, *, name: str, **context: Any) -> HTMLResponse:
        """Return a page as one file to be saved under ``name``."""
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return HTMLResponse(self.text(template, place="file", **context), headers=headers)

    def text(
        self,
        template: str,
        *,
        title: str,
        view: str,
        place: Place = "server",
        site: Mapping[str, str] | None = None,
        **context: Any,
    ) -> str:
        """Return a page as HTML.

        Args:
            template: the name of its template.
            title: what its window is called.
            view: the name of the view in the navigation.
            place: where it will be read.
            site: the files of the site that it belongs to, by their addresses on the server.
            context: what the template shows.
        """
        links = Links(place, site)
        shown = [(name, text) for name, text in VIEWS if name != "start" or self._allow_start]
        return self._environment.get_template(template).render(
            title=title,
            view=view,
            place=place,
            served=place == "server",
            allow_start=self._allow_start and place == "server",
            link=links,
            views=[(name, text, links.to(name)) for name, text in shown if links.to(name)],
            asset=lambda name: _asset(name, place),
            policy=Markup("" if place == "server" else _policy(place)),
            **context,
        )


def _asset(name: str, place: Place) -> Markup:
    """Return the element of a script or style: a reference to a file, or for one file its text."""
    script = name.endswith(".js")
    if place == "file":
        text = asset_text(name)
        if "</script" in text.lower() or "</style" in text.lower():
            raise RuntimeError(f"{name} would end its own element")
        return Markup(f"<script>{text}</script>" if script else f"<style>{text}</style>")
    address = f"{'/' if place == 'server' else ''}static/{name}?{_digest(name)}"
    if script:
        return Markup(f'<script src="{address}" defer></script>')
    return Markup(f'<link rel="stylesheet" href="{address}">')


@cache
def asset_text(name: str) -> str:
    """Return the text of a script or style, one of ``SHARED`` included."""
    if name == VEGA:
        from iogauge.report.page import render  # half a second, for which the list does not wait

        return render.scripts()[0]
    return ((OF_REPORTS if name in SHARED else STATIC) / name).read_text("utf-8")


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(asset_text(name).encode()).hexdigest()[:12]


@cache
def _policy(place: Place) -> str:
    """Return the policy of a page without a server: only the scripts of this package run.

    In one file these are known by their hashes, in a site by where they lie: beside the page, also on a disk.
    """
    allowed = "'self' file:" if place == "site" else " ".join(map(_hash, _scripts()))
    styles = "'unsafe-inline' 'self' file:" if place == "site" else "'unsafe-inline'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src {styles}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _scripts() -> list[str]:
    return [VEGA, REPORT, *(str(path.relative_to(STATIC)) for path in sorted(STATIC.rglob("*.js")))]


def _hash(name: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(asset_text(name).encode()).digest()).decode()}'"
