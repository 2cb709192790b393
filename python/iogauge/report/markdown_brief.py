"""The report as short Markdown, for a comment on a pull request: the answer, the key figures, and folded details.

It is at most ``MOST_BYTES`` long. What does not fit is left out as a whole and named at the end; ``markdown`` has all.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from iogauge.report.markdown import circumstances, machine_lines, settings_lines, suite_lines
from iogauge.report.page import first_screen
from iogauge.report.page.key_figures import key_figures
from iogauge.report.ranking import Finding
from iogauge.report.sections import Report
from iogauge.text.markdown import escaped, table
from iogauge.text.numbers import counted
from iogauge.text.option import option
from iogauge.verdicts.markdown import details
from iogauge.verdicts.text import sentences

MOST_BYTES = 8_000


def brief(report: Report) -> str:
    """Return a report as at most ``MOST_BYTES`` of Markdown, ending with a newline."""
    findings = first_screen.ranked(report)
    text = _text(_answer(report, findings))
    left_out: list[str] = []
    for title, lines in _details(report, findings):
        folded = _text(["<details>", f"<summary>{_plain(title)}</summary>", "", *lines, "</details>", ""])
        if len((text + folded + _more([*left_out, title])).encode()) <= MOST_BYTES:
            text += folded
        else:
            left_out.append(title)
    return text.rstrip() + "\n" + _more(left_out)


def _answer(report: Report, findings: tuple[Finding, ...]) -> Iterator[str]:
    yield f"## {escaped(', '.join(report.tested))}"
    yield ""
    yield escaped(first_screen.subject(report))
    yield ""
    if report.verdicts:
        yield f"**{escaped(sentences(report.verdicts))}**"
        yield ""
    elif findings:
        yield f"**{escaped(findings[0].headline)}**"
        yield ""
    figures = key_figures(report)
    if figures:
        rows = [(figure.name, figure.value, figure.interval or "–") for figure in figures]
        yield from table(("Figure", "Value", "95 % interval"), rows, left=1)
    for drive in report.drives:
        if drive.missing:
            yield f"Incomplete: {counted(len(drive.missing), 'step')} of {escaped(drive.plan.title)} missing."
            yield ""
    said = 0 if report.verdicts else 1
    yield from (f"- {escaped(finding.text)}" for finding in findings[said : first_screen.MOST_FINDINGS])
    yield ""


def _details(report: Report, findings: tuple[Finding, ...]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the folded parts, those that readers want most first: each one's title and lines."""
    for fitness in report.verdicts:
        yield f"Judged for {fitness.profile.title}: {fitness.target}", details(fitness)
    for label, drives in report.tested.items():
        yield f"Circumstances: {label}", circumstances(label, drives)
    commands = [f"    {shlex.join(drive.manifest.command)}" for drive in report.reviews]
    yield "How to measure it again", [*commands, ""]
    for number, section in enumerate(report.sections):
        yield section.plan.title, suite_lines(section, parts=False)
        if number == 0:
            rest = findings[first_screen.MOST_FINDINGS :]
            if rest:
                yield "More findings", [*(f"- {escaped(finding.text)}" for finding in rest), ""]
    for machines in report.differences.machines:
        title = f"Settings that differ: {machines.after} against {machines.before}"
        yield title, settings_lines(machines, several=len(report.differences.machines) > 1)
    for machine in report.machines:
        yield f"Machine: {machine.label}", machine_lines(machine, several=len(report.machines) > 1)


def _more(left_out: list[str]) -> str:
    if not left_out:
        return ""
    return f"\nLeft out: {escaped(', '.join(left_out))}. {option('verbose')} writes everything.\n"


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _plain(title: str) -> str:
    """Return a title for a line of HTML, in which Markdown's escapes mean nothing."""
    return title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
