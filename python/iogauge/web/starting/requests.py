"""Reads what a page asks for: the options of a review, as the library takes them. Everything else is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from iogauge.catalog.profiles import profile_names
from iogauge.errors import UsageError
from iogauge.library.options import ReviewOptions, require_choice
from iogauge.schema import Pace
from iogauge.store.notes import check_notes
from iogauge.suites import SUITES
from iogauge.target import is_model

MOST_TARGETS = 32
LONGEST = 4096
"""Characters of a text."""


@dataclass(frozen=True)
class ReviewRequest:
    """A review that a page describes."""

    targets: tuple[str, ...]
    suites: tuple[str, ...]
    """Names of iogauge's suites; none: the default, or those that ``use`` needs."""
    pace: Pace
    use: tuple[str, ...]
    """Names of iogauge's profiles."""
    size: str
    """Empty: each suite's own choice."""
    note: str

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> ReviewRequest:
        """Read a JSON object. Raises UsageError if a part of it is of a wrong kind, or names what there is not."""
        targets = texts(content, "targets")
        for target in targets:
            if not is_model(target) and not target.startswith("/"):
                raise UsageError(
                    f"{target}: the path has no directory", hint="write it from the root on: /dev/nvme0n1"
                )
        if not targets:
            raise UsageError("there is no target", hint="choose a drive, a drive model, or name a file")
        suites, use = texts(content, "suites"), texts(content, "use")
        for name in suites:
            # A file with a suite is code: only the command line runs it.
            require_choice("suites", name, tuple(SUITES))
        for name in use:
            require_choice("use", name, profile_names())
        pace = text(content, "pace") or "quick"
        require_choice("pace", pace, get_args(Pace))
        note = text(content, "note")
        check_notes(note)
        return cls(targets, suites, pace, use, text(content, "size"), note)  # type: ignore[arg-type]

    def options(self) -> ReviewOptions:
        """Return the options as the library takes them."""
        options: ReviewOptions = {"pace": self.pace}
        if self.suites:
            options["suites"] = self.suites
        if self.use:
            options["use"] = self.use
        if self.size:
            options["size"] = self.size
        return options


def text(content: Mapping[str, Any], name: str) -> str:
    """Return a text of a JSON object; empty if it is missing. Raises UsageError if it is none, or too long."""
    value = content.get(name, "")
    if not isinstance(value, str) or len(value) > LONGEST or "\0" in value:
        raise UsageError(f"{name}: is not a text of at most {LONGEST} characters", hint="send a string")
    return value.strip()


def texts(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts of a JSON object, empty ones left out. Raises UsageError if it is none, or too long."""
    values = content.get(name, [])
    if not isinstance(values, list) or len(values) > MOST_TARGETS:
        raise UsageError(
            f"{name}: is not a list of at most {MOST_TARGETS} texts", hint="send an array of strings"
        )
    return tuple(dict.fromkeys(value for item in values if (value := text({name: item}, name))))
