"""The views of drive and machine models: all of them; one with its parameters, sources and what-if questions."""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from iogauge import catalog
from iogauge.catalog import left_out
from iogauge.catalog.file import Entry, ModelFile
from iogauge.errors import IogaugeError, UsageError
from iogauge.library.models.described import quantity
from iogauge.report.page.render import BY_SCRIPT, FEW_CHOICES
from iogauge.text import numbers
from iogauge.web.modelling.answers import Answers
from iogauge.web.modelling.question import (
    MOST_CHANGES,
    NUMBERS,
    PATTERNS,
    Load,
    Question,
    changes_of,
    load_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from iogauge.web.app import Web

LIST, ONE = "models.html.j2", "model.html.j2"
FIRST_DRIVE = "p4800x-375g"
"""The drive that is offered behind a machine."""
_OF_MACHINE = "machine."
"""Begins a place of the machine where both models have places."""
_SPARE_CHANGES = 2
"""Empty lines of the form, for further changes."""


def routes() -> list[Route]:
    """Return the addresses of this view."""
    return [Route("/models", every_model), Route("/models/{name}", partial(one_model, Answers()))]


async def every_model(request: Request) -> Response:
    """List the models; with ``save``, as one file."""
    web: Web = request.app.state.web
    content = await run_in_threadpool(content_of_list)
    if request.query_params.get("save"):
        return await run_in_threadpool(web.pages.attachment, LIST, name="models.html", **content)
    return web.pages.page(LIST, **content)


async def one_model(answers: Answers, request: Request) -> Response:
    """Show a model and, if the address asks a question, its answer; with ``save``, as one file."""
    web: Web = request.app.state.web
    query = request.query_params
    name = _names().get(request.path_params["name"])
    if name is None:
        raise HTTPException(404, "there is no such model: see the list of models, /models")
    content = await run_in_threadpool(content_of_model, name)
    answer, problem, question = None, None, Question("", "", Load(), ())
    try:
        question = question_of(
            content["model"], query.get("machine", ""), load_of(query), query.getlist("set")
        )
        if "rw" in query:
            answer = await _unless_left(request, answers.to(question))
    except IogaugeError as error:
        problem = error
    content |= content_of_question(content["model"], question, query.getlist("set"), answer, problem)
    if query.get("save"):
        return await run_in_threadpool(web.pages.attachment, ONE, name=f"{name}.html", **content)
    return web.pages.page(ONE, status=400 if problem else 200, **content)


async def _unless_left(request: Request, work: Any) -> dict[str, Any]:
    """Return what the work returns; cancel it if the client closes the connection."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(left())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise IogaugeError("the page was closed before its answer came", hint="load this page again")
        answer: dict[str, Any] = tasks[0].result()
        return answer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def content_of_list() -> dict[str, Any]:
    """Return what the template of the list shows."""
    drives = [_row(catalog.drive(name)) for name in catalog.shipped("drive")]
    machines = [_row(catalog.machine(name)) for name in catalog.shipped("machine")]
    return {
        "title": "Models",
        "view": "models",
        "drives": drives,
        "machines": machines,
        "numbers_in_all": sum(row["numbers"] for row in (*drives, *machines)),
    }


def content_of_model(name: str) -> dict[str, Any]:
    """Return what the template of one model shows, but for questions about it. Raises UsageError."""
    model = catalog.load(name)
    behind = [drive for drive in map(catalog.drive, catalog.shipped("drive")) if drive.machine == name]
    return {
        "title": model.title,
        "view": "models",
        "model": model,
        "row": _row(model),
        "groups": _groups(model),
        "published": _published(model),
        "behind": behind if model.what == "machine" else [],
        "capacity": quantity("capacity_bytes", model.parameters["capacity_bytes"])
        if model.what == "drive"
        else "",
        "digest": catalog.digest(model.parameters),
    }


def content_of_question(
    model: ModelFile,
    question: Question,
    written: Sequence[str],
    answer: dict[str, Any] | None,
    problem: IogaugeError | None,
) -> dict[str, Any]:
    """Return what the template shows of a question: the form as it was written, and the answer or the problem."""
    texts = [text for text in written if text.strip()][:MOST_CHANGES]
    machine = question.machine or _machine_of(model)
    return {
        "address": f"models/{model.name}",
        "changes": texts,
        "save": {
            "save": 1,
            "set": texts,
            **({"machine": question.machine, **question.load.query} if answer else {}),
        },
        "load": question.load,
        "patterns": PATTERNS,
        "fields": NUMBERS,
        "machine": machine,
        "machine_names": catalog.shipped("machine"),
        "lines": [*texts, *[""] * _SPARE_CHANGES],
        "places": _places(model, machine),
        "behind_drive": FIRST_DRIVE,
        "load_text": _in_words(question),
        "answer": answer,
        "problem": str(problem) if problem else "",
        "hint": (problem.hint or "") if problem else "",
        "few_choices": FEW_CHOICES,
        "drawn": {chart["name"]: Markup(BY_SCRIPT) for chart in answer["charts"]} if answer else {},
    }


def question_of(model: ModelFile, machine: str, load: Load, written: Sequence[str]) -> Question:
    """Return the question about a model. Raises UsageError for an unknown machine or an invalid change."""
    if machine and machine not in catalog.shipped("machine"):
        raise UsageError(
            f"there is no machine model {machine[:80]!r}",
            hint=f"choose one of: {', '.join(catalog.shipped('machine'))}",
        )
    changes = changes_of(written)
    if model.what == "drive":
        return Question(model.name, machine or _machine_of(model), load, changes)
    return Question(
        FIRST_DRIVE,
        model.name,
        load,
        tuple((_OF_MACHINE + place.removeprefix(_OF_MACHINE), value) for place, value in changes),
    )


def _in_words(question: Question) -> str:
    """Return what was run, for a page that has no form."""
    load = question.load
    rate = f", at most {load.rate_iops:,} a second for each job" if load.rate_iops else ""
    return (
        f"{numbers.capitalised(PATTERNS[load.rw])} of {load.bs}, iodepth {load.iodepth}, "
        f"{numbers.counted(load.numjobs, 'job')}{rate}, on {question.drive}, machine {question.machine}."
    )


def _machine_of(model: ModelFile) -> str:
    return (model.machine or "ideal") if model.what == "drive" else model.name


@cache
def _names() -> dict[str, str]:
    """Return the names of the shipped models by each of their names. No other file is ever read."""
    files = [catalog.load(name) for what in ("drive", "machine") for name in catalog.shipped(what)]
    return {name: file.name for file in files for name in (file.name, *file.also)}


def _row(model: ModelFile) -> dict[str, Any]:
    kinds = Counter(entry.kind for _, entry in model.entries())
    media = model.tree.get("media", {})
    return {
        "name": model.name,
        "title": model.title,
        "also": ", ".join(model.also),
        "version": model.version,
        "family": media.get("family", ""),
        "sentence": " ".join(model.notes.split()),
        "machine": model.machine or "",
        "numbers": sum(kinds.values()),
        "kinds": numbers.listed([f"{kinds[kind]} {kind}" for kind in catalog.KINDS if kinds[kind]]),
    }


def _groups(model: ModelFile) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the parameters by the part of the model that they are of; those of the whole first."""
    groups: dict[str, list[dict[str, str]]] = {}
    for place, leaf in model.leaves():
        first, dot, _ = place.partition(".")
        rows = groups.setdefault(first if dot else "", [])
        if isinstance(leaf, Entry):
            changed = f"{place}={_plain(leaf.value)}"
            rows.append(
                {
                    "place": place,
                    "value": quantity(place, leaf.value),
                    "kind": leaf.kind,
                    "source": leaf.source,
                    "change": changed,
                }
            )
        else:
            rows.append({"place": place, "value": leaf, "kind": "", "source": "", "change": ""})
    return sorted(groups.items(), key=lambda group: group[0] != "")


def _places(model: ModelFile, machine: str) -> list[str]:
    """Return the changes that the form offers: each parameter with its present value."""
    own = [f"{place}={_plain(entry.value)}" for place, entry in model.entries()]
    if model.what == "machine":
        return own
    others = catalog.machine(machine).entries()
    return [*own, *(f"{_OF_MACHINE}{place}={_plain(entry.value)}" for place, entry in others)]


def _plain(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.12g}"


def _published(model: ModelFile) -> dict[str, Any] | None:
    """Return what was published of a drive beside what its model shows; None: nothing was."""
    rows = [row for row in left_out.read() if row.drive in model.published_as]
    if not rows:
        return None
    errors = [abs(row.fitted / row.published - 1) for row in rows if row.part != "bound"]
    return {
        "rows": [
            {
                "figure": row.figure,
                "host": row.host,
                "unit": row.unit,
                "published": numbers.with_digits(row.published, 4),
                "modelled": numbers.with_digits(row.fitted, 4),
                "error": "" if row.part == "bound" else f"{100 * (row.fitted / row.published - 1):+.1f} %",
                "part": row.part,
                "source": row.source,
            }
            for row in rows
        ],
        "count": len(errors),
        "median": numbers.percent(statistics.median(errors), 2) if errors else "",
    }
