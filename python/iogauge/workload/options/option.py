"""The definition of an option, in one place, so that reading, writing and the manual cannot differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from iogauge.schema import EngineKind, Job
from iogauge.workload.options.kinds import Kind
from iogauge.workload.options.partial_job import PartialJob


class Category(StrEnum):
    """The chapters of the options' manual."""

    JOB = "Job"
    TARGET = "Target"
    PATTERN = "Pattern"
    SIZE = "How much"
    TIME = "How long"
    DEPTH = "Engine and depth"
    RATE = "Rate"
    BUFFERS = "Buffers"
    CPU = "CPUs"
    DURABILITY = "Caching and durability"
    REPORT = "Reporting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of fio's options, as far as iogauge supports it.

    ``default`` is fio's default, in words or in the option's syntax. ``store`` puts a value that ``kind`` read into a
    partial job. ``text`` returns the value that a job file needs for a ``Job``, or None if the default says the same.
    ``order`` is fio's: within a section, options of a lower order are read first.
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
    """The engines that know this option; empty: it belongs to no engine."""
    order: int = 0
