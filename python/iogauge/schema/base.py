"""Base of the schema: its version, the directions of I/O, the base class of its models."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 6
"""Raise it when a stored field changes its meaning. Every older version still loads."""

T = TypeVar("T")

NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Quantile = Annotated[float, Field(gt=0, lt=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Encoded = bytes  # A stored histogram. The alias is needed because ``Tally`` has a field called ``bytes``.


class Model(BaseModel):
    """An immutable record that refuses unknown fields, so that a misspelt field is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", defer_build=True
    )


class Direction(StrEnum):
    """What a request does to the target; ``sync`` covers fsync and fdatasync."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"
    SYNC = "sync"


class PerDirection(Model, Generic[T]):
    """One value for reads, one for writes and one for trims: fio's ``a,b,c``."""

    read: T
    write: T
    trim: T

    @classmethod
    def same(cls, value: T) -> PerDirection[T]:
        """Return the same value for all three directions.

        >>> PerDirection[int].same(4096).trim
        4096
        """
        return cls(read=value, write=value, trim=value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values. A class of one type of value has no name in this module, by which pickle could find it."""
        return _per_direction, (self.read, self.write, self.trim)


def _per_direction(read: Any, write: Any, trim: Any) -> PerDirection[Any]:
    return PerDirection(read=read, write=write, trim=trim)


class RangeSync(Model):
    """``sync_file_range``: after how many writes it is called, and with which flags."""

    every: Positive
    """Writes between two calls."""
    wait_before: bool
    """Wait for pages of the range that are being written."""
    write: bool
    """Begin to write dirty pages of the range."""
    wait_after: bool
    """Wait until these pages are written."""


class Steadiness(Model):
    """``steadystate``: what is judged, and below which limit it is steady."""

    figure: Literal["iops", "bw", "lat"]
    slope: bool
    """By the slope of a line instead of the largest deviation."""
    percent: bool
    """The limit is a percentage of the mean; otherwise I/Os or bytes a second, or ns."""
    limit: Annotated[float, Field(ge=0)]
