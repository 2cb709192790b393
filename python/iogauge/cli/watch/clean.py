"""Makes texts of a feed fit for one line of a terminal."""

from __future__ import annotations


def clean(text: str) -> str:
    r"""Return a text in one line, without characters that a terminal could obey.

    >>> clean("a\x1b[2J\nb")
    'a?[2J b'
    """
    joined = " ".join(text.splitlines())
    return "".join(character if character.isprintable() else "?" for character in joined)


def fit(text: str, columns: int) -> str:
    """Return a text cut to so many characters.

    >>> fit("a long line", 8)
    'a lon...'
    """
    return text if len(text) <= columns else f"{text[: columns - 3]}..."
