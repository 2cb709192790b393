"""Makes two pages of the site from the code: the commands from their own help, the API from what ``iogauge`` exports.

A hook of MkDocs (``mkdocs.yml`` names it). Nothing is written to ``docs/``: the pages exist in the site alone, so they
cannot fall behind the code.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import iogauge
from iogauge.cli import COMMANDS
from iogauge.cli.terminal.commands import call, every_command

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

MODULES = (
    "iogauge.library.running.result",
    "iogauge.results.suite_result",
    "iogauge.results.position",
    "iogauge.schema",
    "iogauge.suites.suite",
    "iogauge.errors",
)
"""Modules of what the library returns, and of what your own suite is made of."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add both pages to the site's files."""
    from mkdocs.structure.files import File  # of the group `docs`, which the tests do without

    files.append(File.generated(config, "commands.md", content=commands_page()))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def commands_page() -> str:
    """Return the help of every command as one page of Markdown."""
    parts = [
        "# Commands",
        "`iogauge COMMAND --help` prints the same text. Exit statuses are in the [guide](guide.md#exit-status).",
        "| command | what it does |\n|---|---|",
    ]
    parts[-1] += "".join(
        f"\n| [`iogauge {name}`](#iogauge-{name}) | {text} |" for name, text in COMMANDS.items()
    )
    for words in every_command():
        parts += _command(*words)
    return "\n\n".join(parts) + "\n"


def _command(*words: str) -> Iterator[str]:
    yield f"{'#' * (1 + len(words))} iogauge {' '.join(words)}"
    yield f"```text\n{help_text(*words)}\n```"


def help_text(*words: str) -> str:
    """Return what ``iogauge WORDS --help`` prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = call([*words, "--help"])
    if status:
        raise RuntimeError(f"iogauge {' '.join(words)} --help ended with status {status}")
    return out.getvalue().strip()


def api_page() -> str:
    """Return a page on which mkdocstrings puts every exported name, and the modules of ``MODULES``."""
    names = [name for name in getattr(iogauge, "__all__", ()) if not name.startswith("_")]
    opening = re.sub(
        r"(^>>> .+(?:\n.+)*)", r"```pycon\n\1\n```", inspect.getdoc(iogauge) or "", flags=re.MULTILINE
    )
    parts = ["# Python API", opening.strip(), "[Python library](library.md) shows how the parts go together."]
    parts += [f"::: {path}" for path in dict.fromkeys(_paths(names))]
    for module in MODULES:
        exported = getattr(importlib.import_module(module), "__all__", None)
        members = f"\n    options:\n      members: {sorted(exported)}" if exported else ""
        parts.append(f"::: {module}{members}")
    return "\n\n".join(parts) + "\n"


def _paths(names: list[str]) -> Iterator[str]:
    """Yield where each name is defined: the library imports lazily, which a reader of source alone cannot follow."""
    for name in names:
        value: Any = getattr(iogauge, name)
        if inspect.ismodule(value):
            yield value.__name__
        elif inspect.isclass(value) or inspect.isroutine(value):
            yield f"{value.__module__}.{value.__qualname__}"
