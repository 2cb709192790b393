"""The warnings of a verdict in words: what limits the meaning of the figures that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.machine.warnings import in_few_words
from iogauge.text.numbers import counted
from iogauge.verdicts.fitness import Fitness


def warning_texts(fitness: Fitness) -> tuple[str, ...]:
    """Return the warnings that change what the judged figures mean, the gravest first, with whose figures they are."""
    by_text: dict[str, int] = {}
    for notice in fitness.warnings:
        concerned = sum(
            notice.code in {other.code for other in judged.warnings} for judged in fitness.criteria
        )
        by_text.setdefault(in_few_words(notice), concerned)
    return tuple(f"{text}{_whose(concerned, fitness.measured)}" for text, concerned in by_text.items())


def warnings_of_all(verdicts: Sequence[Fitness]) -> Iterator[str]:
    """Yield the warnings of several verdicts, each once; those of several targets with the target."""
    several = len({fitness.target for fitness in verdicts}) > 1
    yield from dict.fromkeys(
        f"{fitness.target}: {text}" if several else text
        for fitness in verdicts
        for text in warning_texts(fitness)
    )


def _whose(concerned: int, measured: int) -> str:
    return f" ({concerned} of {counted(measured, 'figure')})" if 0 < concerned < measured else ""
