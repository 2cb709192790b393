"""No name is a participle or a pronoun that says nothing of the thing it names.

``found`` or ``each`` makes a reader look for the noun; ``steps`` and ``step`` are the noun. Print the count of such
names by package with ``python -m tests.fast.house.test_words``.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.fast.house.test_layers import rust_code

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "iogauge"

BANNED = frozenset({"found", "each", "asked", "told", "given", "whole"})

HYPOTHESIS = re.compile(r"^(?:@given\(|from hypothesis import .*\bgiven\b)", re.MULTILINE)
"""Where Hypothesis's own word stands."""

_FIELDS = ("id", "arg", "attr", "name", "asname", "rest", "module")
"""The fields of syntax tree nodes that hold an identifier."""


def identifiers(source: str) -> list[str]:
    """Return every identifier of a Python source, as often as it occurs, also in f-strings.

    >>> identifiers("import a.b as c\\nfor x in c.d(e=1): print(f'{x}')")
    ['a', 'b', 'c', 'x', 'd', 'e', 'c', 'print', 'x']
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        values = [getattr(node, field, None) for field in _FIELDS]
        values += [*getattr(node, "names", ()), *getattr(node, "kwd_attrs", ())]
        names += [part for value in values if isinstance(value, str) for part in value.split(".")]
    return names


@functools.cache
def counts() -> Counter[str]:
    """Return the number of banned names by package, and of tests and bench."""
    banned: Counter[str] = Counter()
    for top in (PACKAGE, ROOT / "tests", ROOT / "bench"):
        for path in sorted(top.rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            room = path.relative_to(top).parts[0] if top == PACKAGE else top.name
            banned[room] += sum(name in BANNED for name in identifiers(source)) - len(
                HYPOTHESIS.findall(source)
            )
    return banned


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "for each in x: pass",
        "def f(*, told): pass",
        "f(given=1)",
        "x.asked",
        "def whole(): pass",
        "import a.found",
        "from a import b as each",
        "f'{found}'",
        "def f():\n    global told",
        "match x:\n    case {**given}: pass",
        "match x:\n    case A(whole=1): pass",
        "try: f()\nexcept E as asked: pass",
    ],
)
def test_every_kind_of_name_counts(source: str) -> None:
    assert sum(name in BANNED for name in identifiers(source)) == 1


def test_words_within_names_and_texts_do_not_count() -> None:
    source = "given_up, foundry = 'told', b'each'  # found\nx['asked'] = '''whole'''"
    assert not BANNED & set(identifiers(source))


def test_names_say_what_a_thing_is() -> None:
    """Where one does not, name the thing."""
    assert {package: number for package, number in counts().items() if number} == {}


def test_no_name_in_rust_is_one_of_them() -> None:
    offenders = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "crates").rglob("*.rs"))
        for name in re.findall(r"\b[a-z_]\w*", rust_code(path))
        if name in BANNED
    ]
    assert offenders == []


if __name__ == "__main__":
    table = counts()
    for package, number in sorted(table.items()):
        print(f"{number:5} {package}")
    print(f"{sum(table.values()):5} in all")
