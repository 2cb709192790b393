"""Writes the pages of reviews as files: the same pages without a server, for a team's web server or a publication.

All files lie in one folder, scripts and styles in ``static`` below it. Links between pages are names of files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from iogauge import catalog
from iogauge.errors import IogaugeError, UsageError
from iogauge.index import Index
from iogauge.index.collection.place import is_collection
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.reading.report import output_claims, read_report
from iogauge.report.page import render
from iogauge.results.review import keep_computed
from iogauge.store.outputs import Existing
from iogauge.text.option import call
from iogauge.web.exploring.figures import metric_name
from iogauge.web.modelling.question import Load
from iogauge.web.pages import SHARED, STATIC, Links, Pages, asset_text
from iogauge.web.views import compare, explore, models, review, reviews

if TYPE_CHECKING:
    from iogauge.index import ReviewRow

FIRST = "index.html"
EXPLORED = ("iops", "mean_ns", "p99_ns", "p99.9_ns")
"""The figures of each load that the site draws."""
SERVER = Links("server")
"""The addresses that pages have on a server, by which a site knows its files."""
MOST_REVIEWS = 2000
"""More reviews than this are for the server: their list would be too long for one page."""

Page = tuple[str, Callable[[], str]]
"""The name of a page's file, and what makes its text."""


def write_site(
    directory: Path,
    site: Path,
    *,
    chosen: Sequence[Path] = (),
    say: Callable[[str], None],
    on_progress: OnProgress,
) -> Path:
    """Write the pages of reviews below ``directory`` into ``site``; return the page to begin with.

    Args:
        directory: where the reviews are.
        site: the folder, which is made if it is missing; files that iogauge did not write stay.
        chosen: the directories of the reviews; by default all below ``directory``.
        say: is called with messages about replaced files.
        on_progress: gets the number of pages written so far, and their total.

    Raises IogaugeError if there is no such review, or a file must not or cannot be written.
    """
    with _opened(directory, chosen) as index:
        index.refresh()
        rows = _rows(index)
        names = [str(index.directory / row.id) for row in rows if not row.problem]
        claims = output_claims(names, say=say)
        pages = list(_pages(index, rows))
        files: list[Page] = [*pages, *_assets()]
        for folder in (site, *{(site / name).parent for name, _ in files}):
            claims.make_directory(folder)
        outputs = {name: claims.file(site / name, existing=Existing.OWN) for name, _ in files}
        for number, (name, make) in enumerate(files, 1):
            outputs[name].write(make().encode())
            on_progress(Progress(event="part", step="pages", number=number, steps=len(files)))
    return site / FIRST


def _opened(directory: Path, chosen: Sequence[Path]) -> Index:
    if is_collection(directory):
        raise UsageError(
            f"{directory}: a collection is shown by the server only",
            hint="name a directory with reviews, whose pages are written as files",
        )
    if not chosen:
        return Index.open(directory)
    return Index.of(directory, [_id(directory, path) for path in chosen])


def _id(directory: Path, path: Path) -> str:
    """Return the id of a review that is named by its path from here or from the directory."""
    for place in (path, directory / path):
        if place.is_dir() and place.resolve().is_relative_to(directory.resolve()):
            return str(place.resolve().relative_to(directory.resolve()))
    raise IogaugeError(
        f"{path}: no review below {directory}",
        hint=f"name one of those that {call('list_reviews', directory)} shows",
    )


def _rows(index: Index) -> list[ReviewRow]:
    rows: list[ReviewRow] = []
    while page := index.reviews(offset=len(rows), limit=500).rows:
        rows += page
        if len(rows) > MOST_REVIEWS:
            raise IogaugeError(
                f"more than {MOST_REVIEWS:,} reviews are too many for a site of files",
                hint="choose some of them",
            )
    if not rows:
        raise IogaugeError(
            f"{index.directory}: no review is saved here", hint="name the directory that holds reviews"
        )
    return rows


def _pages(index: Index, rows: Sequence[ReviewRow]) -> Iterator[Page]:
    """Yield the pages; each is made when it is written, and knows the files of all."""
    readable = [row.id for row in rows if not row.problem]
    figures = _figures(index)
    site = {"/": FIRST, "/models": "models.html"}
    site |= {f"/models/{name}": f"model-{name}.html" for name in _models()}
    site |= _review_files(rows)
    if 2 <= len(readable) <= compare.MOST:
        site["/compare"] = "compare.html"
    for number, query in enumerate(figures, 1):
        name = "explore.html" if number == 1 else f"explore-{number}.html"
        site[f"/explore?{query}"] = name
        site.setdefault("/explore", name)

    pages = Pages()
    text = partial(pages.text, place="site", site=site)

    def listed() -> str:
        return text(reviews.TEMPLATE, **reviews.content_of(index, index.directory, limit=len(rows)))

    def compared() -> str:
        return text(compare.TEMPLATE, **compare.content_of(index, readable))

    def explored(query: str) -> str:
        content = explore.content_of(index, QueryParams(query))
        links = [(name, site[f"/explore?{other}"], other == query) for other, name in figures.items()]
        return text(explore.TEMPLATE, **content, figures=links)

    def modelled(name: str) -> str:
        content = models.content_of_model(name)
        question = models.question_of(content["model"], "", Load(), ())
        content |= models.content_of_question(content["model"], question, (), None, None)
        return text(models.ONE, **content)

    yield FIRST, listed
    for row in rows:
        yield site[SERVER.review(row.id)], partial(_reviewed, index, pages, row, site)
    if "/compare" in site:
        yield site["/compare"], compared
    for query in figures:
        yield site[f"/explore?{query}"], partial(explored, query)
    yield site["/models"], lambda: text(models.LIST, **models.content_of_list())
    for name in _models():
        yield site[f"/models/{name}"], partial(modelled, name)


def _reviewed(index: Index, pages: Pages, row: ReviewRow, site: dict[str, str]) -> str:
    """Return the page of one review: its report, or why there is none."""
    path = index.directory / row.id
    place: dict[str, Any] = {"place": "site", "site": site}
    problem = review.problem_of(row, path)
    if problem:
        context = review.surroundings(row, path)
        return pages.text(review.TEMPLATE, title=row.id, view="", problem=problem, **place, **context)
    report = read_report([path])
    text = render.page(report, frame=review.frame_of(pages, row, path, **place))
    keep_computed(report.drives)
    return text


def _review_files(rows: Collection[ReviewRow]) -> dict[str, str]:
    """Return the file of each review, by its address on the server."""
    files: dict[str, str] = {}
    taken: set[str] = set()
    for row in rows:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", row.id).strip("-.")[:80] or "here"
        number, name = 1, f"review-{stem}.html"
        # Some file systems do not tell upper from lower case.
        while name.casefold() in taken:
            number += 1
            name = f"review-{stem}-{number}.html"
        files[SERVER.review(row.id)] = name
        taken.add(name.casefold())
    return files


def _figures(index: Index) -> dict[str, str]:
    """Return the figures that are drawn: what each is called, by its query on the server."""
    return {
        urlencode(
            {"suite": load.suite, "series": load.series, "direction": load.direction, "metric": metric}
        ): f"{load.suite} {load.series} {load.direction}: {metric_name(metric)}".replace("  ", " ")
        for load, metric in product(index.loads(), EXPLORED)
    }


def _models() -> list[str]:
    return [name for what in ("drive", "machine") for name in catalog.shipped(what)]


def _assets() -> Iterator[Page]:
    """Yield the scripts and styles, and the licence of what others wrote."""
    names = [str(path.relative_to(STATIC)) for path in sorted(STATIC.rglob("*")) if path.is_file()]
    for name in (*SHARED, *names):
        yield f"static/{name}", partial(asset_text, name)
