"""The errors that a user meets: what went wrong and where, then a ``hint:`` with the remedy."""

from __future__ import annotations


class IogaugeError(Exception):
    """Something a user can mend. ``str()`` gives the message; ``hint`` the remedy, without its prefix.

    >>> IogaugeError("disk.bin: no such file", hint="check the path").render()
    'error: disk.bin: no such file\\nhint: check the path'
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def render(self) -> str:
        """Return the text shown on stderr: one ``error:`` line and, where there is one, a ``hint:`` line."""
        lines = [f"error: {self}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UsageError(IogaugeError):
    """The request itself is wrong, whatever it is made on. Nothing was done."""
