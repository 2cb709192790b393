"""The first screen of a page: what was tested, the headline, and the findings in their order.

``ranking`` orders the findings. If drives are compared, what the comparison says comes before what is said of each
drive.

This module returns plain text and the anchors of links; the template escapes it and lays it out.
"""

from __future__ import annotations

from iogauge.report.page.comparison import Pair
from iogauge.report.page.verdict import Sentence
from iogauge.report.ranking import Finding, by_effect
from iogauge.report.sections import Report
from iogauge.results.names import full_names, in_sentence
from iogauge.text import numbers

MOST_FINDINGS = 7
"""More findings than this are folded."""


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
    return (*ranked_differences(report), *by_effect(published), *by_effect(alone))


def ranked_differences(report: Report) -> list[Finding]:
    """Return the findings of the comparisons alone, the greatest and surest difference first."""
    several = len(report.sections) > 1
    return by_effect(
        [
            [
                Finding(sentence, part.compared.title if several else "", _between(pair, sentence, report))
                for sentence in part.sentences
            ]
            for pair in report.pairs
            for part in pair.parts
        ]
    )


def _between(pair: Pair, sentence: Sentence, report: Report) -> str:
    """Return which drives a sentence compares; empty if it names them, or if the report compares only two drives."""
    is_named = len(report.pairs) == 1 or in_sentence(pair.after) in sentence.text
    return "" if is_named else f"{pair.after} against {pair.before}"
