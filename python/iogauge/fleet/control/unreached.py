"""Stands for the link to a host that could not be reached, so that the host refuses and the others may go on."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.fleet.clock import Exchange
from iogauge.fleet.control.link import LinkError


class UnreachedLink:
    """A link that answers every call with the error that says why the host was not reached."""

    def __init__(self, name: str, error: IogaugeError) -> None:
        self.name = name
        self._error = error

    @property
    def has_ended(self) -> bool:
        """Whether the host's process has ended: there is none."""
        return True

    def kill(self) -> None:
        """Do nothing: there is no process."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:  # noqa: ARG002
        """Return the error, as the answer to any call."""
        answer: Future[Any] = Future()
        answer.set_exception(self._error)
        return answer

    def exchange(self, *, timeout_s: float) -> Exchange:  # noqa: ARG002
        """Raise LinkError."""
        raise LinkError(str(self._error))
