"""The first screen of a page: what was tested, the headline, and the findings in their order.

Findings are ranked by effect and sureness in one: by the end of a ratio's 95 % interval that is nearer to 1. Findings
without a ratio follow in the order of their suites, and what could not be determined comes last. If drives are
compared, what the comparison says comes before what is said of each drive.

This module returns plain text and the anchors of links; the template escapes it and lays it out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from iogauge.report.names import full_names
from iogauge.report.page.comparison import Pair
from iogauge.report.page.verdict import Sentence
from iogauge.report.sections import Report
from iogauge.text import numbers

MOST_FINDINGS = 7
"""More findings than this are folded."""
_REMARK = re.compile(r" \((?:requested;|one run each)[^)]*\)")


@dataclass(frozen=True)
class Finding:
    """A sentence of the findings, and what it is about."""

    sentence: Sentence
    suite: str
    """The suite's title; empty if the page has only one suite."""
    drive: str
    """The drive's label; empty if the page has only one, or the sentence names it."""

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


def subject(report: Report) -> str:
    """Return in a line what was tested: the full names of the drives, the suites, the pace and the date.

    Suites are counted if there are more than three.
    """
    manifests = [drive.manifest for drive in report.reviews]
    titles = [section.plan.title for section in report.sections]
    return " · ".join(
        [
            ", ".join(full_names(report.drives)),
            numbers.counted(len(titles), "suite") if len(titles) > 3 else ", ".join(titles),
            f"{' and '.join(dict.fromkeys(manifest.pace for manifest in manifests))} pace",
            ", ".join(dict.fromkeys(manifest.created_at[:10] for manifest in manifests)),
        ]
    )


def ranked(report: Report) -> tuple[Finding, ...]:
    """Return all findings of a report, the greatest and surest effect first."""
    suites, drives = len(report.sections) > 1, len(report.tested) > 1
    compared = [
        [
            Finding(sentence, part.compared.title if suites else "", _between(pair, sentence, report))
            for sentence in part.sentences
        ]
        for pair in report.pairs
        for part in pair.parts
    ]
    alone = [
        [
            Finding(sentence, section.plan.title if suites else "", part.drive.label if drives else "")
            for sentence in part.verdict.sentences
        ]
        for section in report.sections
        for part in section.parts
    ]
    published = [
        [Finding(sentence, "", drive.name if drives else "") for sentence in drive.sentences]
        for drive in report.published
    ]
    return (*_by_effect(compared), *_by_effect(published), *_by_effect(alone))


def _between(pair: Pair, sentence: Sentence, report: Report) -> str:
    """Return which drives a sentence compares; empty if it names them, or if the report compares only two drives."""
    is_named = len(report.pairs) == 1 or pair.after in sentence.text
    return "" if is_named else f"{pair.after} against {pair.before}"


def _by_effect(groups: Sequence[Sequence[Finding]]) -> list[Finding]:
    # The first finding of every group comes before the second of any: a suite says the most important thing first.
    in_turn = (finding for row in zip_longest(*groups) for finding in row if finding is not None)
    return sorted(in_turn, key=lambda finding: finding.sentence.effect, reverse=True)
