"""What the script of an audit reads on Windows, as it writes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import Model

FORMAT = "iogauge windows audit"

_Text = Annotated[str, Field(max_length=4096)]


class WindowsFact(Model):
    """One answer of Windows: values, or the reason why there are none."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}\.[a-z0-9_]{1,40}$")]
    """That of the check, such as ``power.disk_timeout``."""
    values: Annotated[tuple[_Text, ...], Field(max_length=1024)] = ()
    """As Windows has them."""
    missing: _Text | None = None
    """Windows says that it has no such thing."""
    problem: _Text | None = None
    """Why it could not be read."""


class WindowsAudit(Model):
    """The answers of one machine."""

    format: Literal["iogauge windows audit"]
    version: Literal[1]
    note: _Text = ""
    """What the file is, for whoever opens it."""
    at: Annotated[str, Field(max_length=40)]
    """UTC, ISO 8601."""
    disk: Annotated[str, Field(pattern=r"^\d{1,4}$")] | None
    """The number that Windows gives to the disk that was looked at; None: no disk was."""
    facts: Annotated[tuple[WindowsFact, ...], Field(max_length=1000)]
