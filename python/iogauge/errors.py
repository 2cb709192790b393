"""Errors for the user: what failed and where, and a ``hint:`` with the remedy."""

from __future__ import annotations


class IogaugeError(Exception):
    """An error that the user can fix. ``str()`` gives the message, ``hint`` the remedy without its prefix.

    >>> IogaugeError("disk.bin: no such file", hint="check the path").render()
    'error: disk.bin: no such file\\nhint: check the path'
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def render(self, *, kind: str = "error") -> str:
        """Return the text for stderr: an ``error:`` line and, if there is a hint, a ``hint:`` line."""
        lines = [f"{kind}: {self}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UsageError(IogaugeError):
    """An invalid request, whatever its target. Nothing was done."""


class InUseError(IogaugeError):
    """Another process uses a drive or a directory. Once that has ended, the same succeeds."""


class UnknownNameError(UsageError, KeyError):
    """A result has no part of this name; the hint lists the names that it has."""

    __str__ = Exception.__str__  # KeyError's puts the message in quotes
