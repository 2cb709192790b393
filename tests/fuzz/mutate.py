"""Changes a text by its words, so that most of what comes of it still parses.

Byte by byte, an input of TOML or JSON is damaged long before a reader looks at what it says. Here numbers become other
numbers, words change places with words of the same text or of the target's own, and lines are lost, doubled or moved.
The same seed changes the same text in the same way.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

TOKEN = re.compile(rb'"[^"\n]*"|-?\d+(?:\.\d+)?|\w+|\s+|.', re.DOTALL)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NEAR = 128
"""Bytes around one place that are taken apart into words: to take apart a whole text takes longer than to read it."""
NUMBERS = (
    b"0", b"1", b"-1", b"2", b"0.5", b"-0.0", b"1e308", b"1e-320", b"1e999", b"nan", b"inf", b"true", b"null", b"100.1",
    b"9007199254740993", b"18446744073709551616", b"4294967296", b"2147483648", b"1" * 400, b'""', b"[]", b"{}",
)  # fmt: skip
WORDS = (
    b'"',
    b"=",
    b":",
    b",",
    b"\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b"<",
    b">",
    b"/",
    b"\0",
    b"\xff",
    "\u2028é".encode(),
    b"%",
)


def mutated(data: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    """Return ``data`` with one to four changes; ``words`` are put in besides those of the text itself.

    >>> mutated(b"a = 1", [], random.Random(3)) == mutated(b"a = 1", [], random.Random(3))
    True
    """
    for _ in range(chance.randint(1, 4)):
        data = _by_lines(data, chance) if chance.random() < 0.3 else _by_tokens(data, words, chance)
    return data


def _by_tokens(data: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    if not data:
        return chance.choice([*WORDS, *NUMBERS, *words])
    # From the start of a line, or of a long line's last item: from within a quoted word, all quotes would be misread.
    place = chance.randrange(len(data))
    start = data.rfind(b"\n", 0, place) + 1
    if place - start > NEAR:
        start = data.rfind(b",", 0, place) + 1
    end = place + NEAR
    before, near, after = data[:start], data[start:end], data[end:]
    tokens = TOKEN.findall(near)
    at = chance.randrange(len(tokens))
    match chance.randrange(6):
        case 0:
            tokens[at] = chance.choice(tokens)
        case 1:
            tokens[at] = chance.choice(words or WORDS)
        case 2:
            tokens.insert(at, chance.choice([*WORDS, *words]))
        case 3:
            del tokens[at : at + chance.randint(1, 4)]
        case _:
            numbers = [index for index, token in enumerate(tokens) if NUMBER.fullmatch(token)]
            if numbers:
                at = chance.choice(numbers)
            tokens[at] = chance.choice(NUMBERS)
    return before + b"".join(tokens) + after


def _by_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b"\n"]
    at, length = chance.randrange(len(lines)), chance.randint(1, 5)
    taken = lines[at : at + length]
    match chance.randrange(3):
        case 0:
            del lines[at : at + length]
        case 1:
            lines[at:at] = taken * chance.randint(1, 3)
        case 2:
            del lines[at : at + length]
            to = chance.randint(0, len(lines))
            lines[to:to] = taken
    return b"".join(lines)
