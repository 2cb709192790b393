"""Writes the manual pages from the commands' own help: ``python docs/man.py DIRECTORY`` makes ``iogauge.1``, a page for
each command (``iogauge-review.1``) and for each command of a group (``iogauge-model-fit.1``).

Their form is that of man(7): name, synopsis, description, arguments, options, examples.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import iogauge
from iogauge.cli import COMMANDS
from iogauge.cli.terminal.commands import every_command, load

ROOT = "Measure how a storage drive responds under load, and say how sure that is."
STATUS = (
    ("0", "Success; no condition holds."),
    ("1", "An error, or a condition that cannot be decided."),
    ("2", "Wrong usage."),
    ("3", "A condition of --fail-if holds, or a verdict is no."),
    ("130, 143", "Interrupted, terminated."),
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    yield "iogauge.1", _root()
    for words in every_command():
        yield f"iogauge-{'-'.join(words)}.1", _page(*words)


def _root() -> str:
    commands = [line for name, text in COMMANDS.items() for line in _item(f"iogauge-{name}(1)", text)]
    statuses = [line for status, text in STATUS for line in _item(status, text)]
    return _document(
        "iogauge",
        ROOT,
        [
            *_section("SYNOPSIS", [".B iogauge", ".I COMMAND", "[OPTIONS]"]),
            *_section("COMMANDS", commands),
            *_section("EXIT STATUS", statuses),
        ],
    )


def _page(*words: str) -> str:
    command = load(*words)
    about = every_command()[words]
    text, examples = _parted(command.help or "")
    group = hasattr(command, "commands")
    usage = (
        "COMMAND"
        if group
        else " ".join(command.collect_usage_pieces(command.make_context("", [], resilient_parsing=True)))
    )
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    parts = [
        *_section("SYNOPSIS", [f".B iogauge {' '.join(words)}", _escaped(usage)]),
        *_section("DESCRIPTION", _paragraphs(text)),
        *_section("ARGUMENTS", [line for param in arguments for line in _item(param.metavar, param.help)]),
        *_section("OPTIONS", [line for param in options for line in _item(_names(param), param.help)]),
        *_section(
            "EXAMPLES", [line for example in examples for line in (".EX", _escaped(example), ".EE", ".PP")]
        ),
        *_section("SEE ALSO", [".BR iogauge (1)"]),
    ]
    return _document("-".join(("iogauge", *words)), about, parts)


def _document(name: str, about: str, parts: Sequence[str]) -> str:
    head = [
        f'.TH "{name.upper()}" "1" "" "iogauge {iogauge.__version__}" "User Commands"',
        *_section("NAME", [f"{_escaped(name)} \\- {_escaped(about.rstrip('.'))}"]),
    ]
    return "\n".join([*head, *parts]) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f".SH {title}", *lines] if lines else []


def _item(name: str | None, text: str | None) -> list[str]:
    return [".TP", f".B {_escaped(name or '')}", _escaped(text or "")]


def _names(param: Any) -> str:
    names = ", ".join((*param.opts, *param.secondary_opts))
    return names if getattr(param, "is_flag", False) else f"{names} {param.metavar or 'VALUE'}"


def _parted(text: str) -> tuple[str, list[str]]:
    """Return a help text without its examples, the indented lines, and these."""
    blocks = text.strip().split("\n\n")
    examples = [block for block in blocks if block.startswith("    ")]
    plain = [block for block in blocks if block not in examples]
    return "\n\n".join(plain), list(map(textwrap.dedent, examples))


def _paragraphs(text: str) -> list[str]:
    return [line for block in text.split("\n\n") for line in (".PP", _escaped(" ".join(block.split())))]


def _escaped(text: str) -> str:
    """Return text for roff: a backslash, a dash, and a dot or quote that begins a line have another meaning there."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


def main(folder: Path) -> None:
    """Write all pages into a directory."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
