"""Defines what an option is. Reading, writing and documentation use the same definition, so they cannot differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from iogauge.schema import EngineKind, Job
from iogauge.workload.options.kinds import Kind
from iogauge.workload.options.partial_job import PartialJob


class Category(StrEnum):
    """A chapter of the reference of options."""

    JOB = "Job"
    TARGET = "Target"
    PATTERN = "Pattern"
    SIZE = "How much"
    TIME = "How long"
    DEPTH = "Engine and depth"
    RATE = "Rate"
    REPLAY = "Replaying a trace"
    BUFFERS = "Buffers"
    VERIFY = "Verification"
    CPU = "CPUs"
    DURABILITY = "Caching and durability"
    REPORT = "Reporting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of fio's options, as far as iogauge supports it.

    ``default`` is fio's default, in words or in the option's syntax. ``store`` stores a value that ``kind`` read in a
    partial job. ``text`` returns the option's value in the job file of a ``Job``, or None if the job has the default.
    Within a section, options of a lower ``order`` are read first, as in fio.
    """

    name: str
    category: Category
    kind: Kind[Any]
    default: str
    help: str
    store: Callable[[PartialJob, Any], None]
    text: Callable[[Job], str | None]
    aliases: tuple[str, ...] = ()
    engines: frozenset[EngineKind] = frozenset()
    """The engines that have this option; empty: all."""
    order: int = 0
