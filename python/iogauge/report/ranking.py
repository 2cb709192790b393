"""Findings in one order for terminal, page and Markdown: by effect and sureness in one.

That is the end of a ratio's 95 % interval that is nearer to 1. Findings without a ratio follow in the order of their
suites, and what could not be determined comes last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from iogauge.report.page.verdict import Sentence

_REMARK = re.compile(r" \((?:requested;|one run each)(?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True)
class Finding:
    """A sentence of the findings, and what it is about."""

    sentence: Sentence
    suite: str
    """The suite's title; empty if there is only one suite."""
    drive: str
    """The drive's name; empty if there is only one, or the sentence names it."""

    @property
    def text(self) -> str:
        """The sentence after what it is about."""
        about = ", ".join(filter(None, [self.suite, self.drive]))
        return f"{about}: {self.sentence.text}" if about else self.sentence.text

    @property
    def headline(self) -> str:
        """The text without remarks, which the findings below have."""
        text = _REMARK.sub("", self.text)
        return f"{text.partition('; ')[0].rstrip('.')}."


def by_effect(groups: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return the findings of all groups, the greatest and surest effect first."""
    # The first finding of every group comes before the second of any: a suite says the most important thing first.
    in_turn = (finding for row in zip_longest(*groups) for finding in row if finding is not None)
    return sorted(in_turn, key=lambda finding: finding.sentence.effect, reverse=True)
