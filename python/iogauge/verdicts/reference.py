"""The profiles of iogauge as a table of ``docs/verdicts.md``, from the files that verdicts are made by."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.catalog.profiles import Criterion, load_profile, profile_names
from iogauge.text import markdown, numbers


def profiles_table() -> str:
    """Return every criterion of every profile, with the source of its limit, as Markdown."""
    head = ("profile", "criterion", "suite", "limit", "source of the limit")
    return "\n".join(markdown.table(head, list(_rows()), left=len(head)))


def _rows() -> Iterator[tuple[str, ...]]:
    for name in profile_names():
        for index, criterion in enumerate(load_profile(name).criterion):
            limit = f"at most {criterion.at_most}" if criterion.upper else f"at least {criterion.at_least}"
            yield (
                "" if index else name,
                criterion.name,
                _place(criterion),
                f"{criterion.quantity} {limit}",
                criterion.source,
            )


def _place(criterion: Criterion) -> str:
    place = [criterion.suite, *filter(None, [criterion.series]), f"at {numbers.position(criterion.at)}"]
    return ", ".join(place)
