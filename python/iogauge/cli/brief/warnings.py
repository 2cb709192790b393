"""Warnings in a line each: first those that change the answer, then in one line what is context.

``machine.warnings`` has the full texts with their facts and remedies. Here each code has a few words, its rank, and the
options of the command at hand that remedy it. A code without words is about iogauge's own work: totals are complete, so
only the full texts have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from iogauge.cli.brief.screen import in_a_line
from iogauge.machine import warnings as texts
from iogauge.schema import Code, Notice, RunRecord
from iogauge.text import numbers
from iogauge.text.grid import shortened

Command = Literal["run", "replay", "review", "quick", "show"]
MOST = 3
"""The most warnings that have a line each."""


class Words(NamedTuple):
    """A warning in a few words, and the options that remedy it."""

    text: str = ""
    """Empty: the warning's own text, which has figures that nothing else on the screen has."""
    run: str = ""
    replay: str = ""
    review: str = ""
    quick: str = ""


_REMEDIES: dict[Code, Words] = {
    Code.PAGE_CACHE: Words(run="--direct=1", replay="--direct"),
    Code.GENERATOR_LIMITED: Words(run="--numjobs"),
    Code.UNSTEADY: Words(run="--runtime", review="--pace full", quick="--runtime"),
    Code.RATE_MISSED: Words(run="--iodepth, --rate_iops", replay="--iodepth, --time-scale"),
    Code.COMPRESSIBLE: Words(run="--refill_buffers=1"),
    Code.STALLED: Words(run="--cpus_allowed"),
    Code.ENGINE_FALLBACK: Words(run="--ioengine", replay="--ioengine"),
}
CHANGES: dict[Code, Words] = {
    code: _REMEDIES.get(code, Words())._replace(text=text) for code, text in texts.CHANGES.items()
}
"""Warnings that change the answer, the gravest first."""
_MARKED = Words(
    "few samples beyond quantiles marked ~", run="--runtime", review="--runtime", quick="--runtime"
)
CONTEXT: dict[Code, Words] = {
    Code.FEW_SAMPLES: _MARKED,
    Code.UNSUPPORTED: _MARKED,
    Code.VIRTUAL_MACHINE: Words("virtual machine"),
    Code.NO_PIN: Words("workers not pinned", run="--cpus_allowed"),
    Code.MIGRATION: Words("workers changed CPUs", run="--cpus_allowed"),
    Code.CLOCK: Words("inexact clock"),
    Code.LOG_DROPPED: Words("request log incomplete", run="--log-overflow=wait"),
}
"""Warnings that say where and how it was measured."""
INTERNAL = frozenset({Code.INTERVALS_MERGED})
"""Warnings that change no figure."""


def command_of(record: RunRecord) -> Command:
    """Return the command whose options remedy the warnings of a run."""
    return "replay" if any(job.read_iolog for job in record.jobs.jobs) else "run"


def warning_lines(notices: Sequence[Notice], *, command: Command, columns: int, marked: bool) -> list[str]:
    """Return at most ``MOST`` + 1 lines.

    ``command`` is the one that prints them; ``show`` can remedy nothing. ``marked``: a figure that it prints has the
    mark ~, which is then explained.
    """
    return [
        *changing_lines(notices, command=command, columns=columns),
        *context_lines(notices, command=command, columns=columns, marked=marked),
    ]


def changing_lines(notices: Sequence[Notice], *, command: Command, columns: int) -> list[str]:
    """Return the warnings that change the answer, as at most ``MOST`` lines."""
    messages = {notice.code: notice.message for notice in reversed(notices)}
    grave = [
        words if words.text else words._replace(text=messages[code])
        for code, words in CHANGES.items()
        if code in messages
    ]
    lines = [
        shortened(f"warning: {words.text}{_remedy(words, command)}", columns)
        for words in grave[: MOST if len(grave) <= MOST else MOST - 1]
    ]
    if len(grave) > MOST:
        lines.append(f"warning: and {numbers.counted(len(grave) - len(lines), 'other')}")
    return lines


def context_lines(notices: Sequence[Notice], *, command: Command, columns: int, marked: bool) -> list[str]:
    """Return what is context, as a line, or as none. ``marked``: as for ``warning_lines``."""
    codes = {notice.code for notice in notices}
    context = dict.fromkeys(
        f"{words.text}{_remedy(words, command)}"
        for code, words in CONTEXT.items()
        if code in codes and (marked or words is not _MARKED)
    )
    return [in_a_line("context:", list(context), columns=columns)] if context else []


def _remedy(words: Words, command: Command) -> str:
    options = "" if command == "show" else getattr(words, command)
    return f" ({options})" if options else ""
