"""The commands that help and documents show are ones: the command's own parser takes their options and values."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from iogauge import catalog, workload
from iogauge.catalog.profiles import load_profile
from iogauge.cli import GROUPS
from iogauge.cli.terminal.commands import every_command, load
from iogauge.errors import IogaugeError
from iogauge.library.conditions import parsed, parsed_of_comparison
from iogauge.library.find.limits import limits_of
from iogauge.library.options import suites_named
from iogauge.library.quantities import size_bytes, time_ns
from iogauge.text.option import command_line

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [" ".join(words) for words in every_command() if words not in {(group,) for group in GROUPS}]


def shown(text: str) -> Iterator[list[str]]:
    """Yield the words of each command in the code of a page: what is indented, or between fences."""
    fenced = False
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        command = line.strip().removeprefix("$ ").removeprefix("sudo ").removeprefix(".venv/bin/")
        if (fenced or line.startswith("    ")) and command.startswith("iogauge "):
            words = shlex.split(command, comments=True)[1:]
            yield list(takewhile(lambda word: word != ">", words))


def commands_of_help() -> Iterator[Any]:
    for name in NAMES:
        for number, words in enumerate(shown(load(*name.split()).help or "")):
            yield pytest.param(words, id=f"{name} --help {number}")


def commands_of_pages() -> Iterator[Any]:
    for page in PAGES:
        for number, words in enumerate(shown(page.read_text())):
            yield pytest.param(words, id=f"{page.name} {number}")


def _limits(texts: Any) -> None:
    limits_of(texts, reads=True, writes=True)


VALUES: Mapping[str, Callable[[Any], object]] = {
    "limit": _limits,
    "suite": suites_named,
    "use": lambda names: [load_profile(name) for name in names],
    "runtime": lambda text: time_ns(text, name="runtime"),
    "size": lambda text: size_bytes(text, name="size"),
}
"""What reads the values that are text to the parser, by the name of the parameter."""
OWN_FILES = (".py", ".toml")


def check(words: list[str]) -> None:
    """Parse a command as the command line does, and read the values that only the command reads."""
    number = 2 if words[0] in GROUPS else 1
    command = load(*words[:number])
    context = command.make_context(" ".join(words[:number]), words[number:])
    values = context.params
    with command_line():
        for name, read in VALUES.items():
            value = values.get(name)
            if value and not any(str(item).endswith(OWN_FILES) for item in [*value]):
                read(value)
        for target in [values.get("target"), *(values.get("targets") or ())]:
            if isinstance(target, str) and target.startswith(catalog.PREFIX):
                catalog.pair(target)
        if words[0] == "compare":
            parsed_of_comparison(values["fail_if"] or ())
        elif words[0] in ("review", "show"):
            parsed(values["fail_if"] or ())
        elif words[0] == "run" and not values["diskspd"]:
            jobs = [word for word in values["jobs"] or () if word.startswith("-")]
            if jobs and any(not word.startswith("-") for word in values["jobs"]):
                jobs.append("--name=one of a file")
            assert not jobs or workload.from_arguments(jobs).jobs


@pytest.mark.parametrize("words", [*commands_of_help()])
def test_an_example_of_help_is_a_command(words: list[str]) -> None:
    check(words)


@pytest.mark.parametrize("words", [*commands_of_pages()])
def test_a_command_of_a_document_is_one(words: list[str]) -> None:
    check(words)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_shows_an_example(name: str) -> None:
    examples = [*shown(load(*name.split()).help or "")]
    assert any(" ".join(words).startswith(name) for words in examples)


@pytest.mark.parametrize(
    "line",
    [
        "review model:p4800x --siute mixed",
        "review model:p4800x --suite mixd",
        "review model:p4801x",
        "review model:p4800x --pace slow",
        "review model:p4800x --for wall",
        "review model:p4800x --runtime 3parsecs",
        "find model:p4800x --limit 'p99 > 1ms'",
        "compare a b --fail-if 'worse than 5%'",
        "run --name=x --rw=sideways",
        "tune --profile latency fio job.fio",
    ],
)
def test_a_wrong_command_would_be_noticed(line: str) -> None:
    with pytest.raises((typer.TyperException, IogaugeError)):
        check(shlex.split(line))
