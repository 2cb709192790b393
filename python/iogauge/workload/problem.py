"""Errors in job files, with the place of the mistake.

The functions that read values do not know the file and the line: they raise ``BadValue`` with a reason and a remedy.
Their callers know the ``Place`` and turn a ``BadValue`` into an ``IogaugeError``. This package raises nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from iogauge.errors import IogaugeError, UsageError

_SHOWN = 80
"""Characters of the user's text that an error repeats."""


class BadValue(Exception):  # noqa: N818 (it describes a user's value, not a failure of the program)
    """A value that an option cannot have. ``str()`` is the reason; ``hint`` the remedy."""

    def __init__(self, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a line of a job: ``job.fio:12`` or ``argument 3``, and the line's section."""

    where: str
    section: str | None = None
    is_argument: bool = False
    """Whether it is on a command line: a mistake there is wrong usage."""

    def within(self, section: str | None) -> Place:
        """Return this place in another section."""
        return replace(self, section=section)

    def error(self, text: str, reason: str, *, hint: str | None = None) -> IogaugeError:
        """Return the error for ``text``: the option as the user wrote it, or empty if no option is at fault.

        >>> str(Place("job.fio:12", "reader").error("iodepth=0", "must be at least 1"))
        'job.fio:12: [reader] iodepth=0: must be at least 1'
        """
        section = f"[{shown(self.section)}]" if self.section is not None else ""
        subject = " ".join(part for part in (section, shown(text)) if part)
        kind = UsageError if self.is_argument else IogaugeError
        return kind(": ".join(part for part in (self.where, subject, reason) if part), hint=hint)


def shown(text: str) -> str:
    """Return ``text`` for one line of an error: shortened, with control characters escaped.

    >>> shown("a" * 100)[-4:], shown("tab\\there")
    ('aaa…', 'tab\\\\there')
    """
    return escaped(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def escaped(text: str) -> str:
    """Return ``text`` with control characters escaped, in full: a path, whose end names the file."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
