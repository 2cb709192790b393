"""The report as Markdown, for a pull request or an issue: findings, a table for each suite, and the circumstances.

It has the sections, sentences and figures of the page (``sections.py``), without charts. Names of drives and jobs are
escaped as text (``text.markdown``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from iogauge.comparison.machines import HEAD, MachineComparison
from iogauge.report.charts.data import STATISTICS
from iogauge.report.machine import UNKNOWN, MachinePart
from iogauge.report.page.facts import environment
from iogauge.report.page.steps import BETWEEN, VARIATION, StepRow, position_head, step_rows, varied_rows
from iogauge.report.sections import Part, Report, Section
from iogauge.results.explained.wording import COLUMNS
from iogauge.results.suite_result import SuiteResult
from iogauge.results.warnings import warnings
from iogauge.text.cells import Cell
from iogauge.text.markdown import escaped, table
from iogauge.text.numbers import capitalised

_CIRCUMSTANCES = {
    "Drive",
    "Behind",
    "Model",
    "Firmware",
    "Kind",
    "Size",
    "Processor",
    "Kernel",
    "Ceiling, one worker",
}
"""The facts of ``environment`` that the Markdown shows."""


def markdown(report: Report) -> str:
    """Return a report as Markdown, ending with a newline."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## {escaped(', '.join(report.tested))}"
    yield ""
    for machines in report.differences.machines:
        yield from settings_lines(machines, several=len(report.differences.machines) > 1)
    for section in report.sections:
        yield from _findings(section)
    for section in report.sections:
        yield from suite_lines(section)
    if any(row.cells and any(cell.unsupported for cell in row.cells) for row in _rows(report)):
        yield "○ marks a quantile that its sample does not support: fewer than ten samples lie beyond it."
        yield ""
    yield "Brackets hold 95 % intervals: over the repeats of a step, or over the requests of its only run."
    yield ""
    for remark in dict.fromkeys(drive.may_miss for drive in report.drives if drive.may_miss):
        yield f"{capitalised(remark)}."
        yield ""
    for machine in report.machines:
        yield from machine_lines(machine, several=len(report.machines) > 1)
    for label, drives in report.tested.items():
        yield from circumstances(label, drives)
    yield "**How to measure it again**"
    yield ""
    for drive in report.reviews:
        yield f"    {shlex.join(drive.manifest.command)}"
    yield ""


def _rows(report: Report) -> Iterator[StepRow]:
    for drive in report.drives:
        yield from step_rows(drive)


def settings_lines(machines: MachineComparison, *, several: bool) -> Iterator[str]:
    """Yield in which settings the machines of two drives differ."""
    head = f"{machines.after} against {machines.before}: " if several else ""
    yield escaped(f"{head}{capitalised(machines.answer)}.")
    yield ""
    if machines.rows:
        yield f"{escaped(f'A is {machines.before}, B is {machines.after}')}."
        yield ""
        yield from table(HEAD, machines.rows, left=3)


def _findings(section: Section) -> Iterator[str]:
    sentences = list(_sentences(section))
    if sentences:
        yield from (f"**{escaped(section.plan.title)}**", "", *sentences, "")


def _sentences(section: Section) -> Iterator[str]:
    for part in section.parts:
        for sentence in part.verdict.sentences:
            yield f"- {f'{escaped(part.drive.label)}: ' if len(section.parts) > 1 else ''}{escaped(sentence.text)}"
        if part.drive.missing:
            names = ", ".join(part.drive.name_of(step) for step in part.drive.missing)
            yield f"- Incomplete, missing: {escaped(names)}"
    several = len(section.compared) > 1
    for pair in section.compared:
        head = f"{pair.compared.after.name} against {pair.compared.before.name}: " if several else ""
        yield from (f"- {escaped(head + sentence.text)}" for sentence in pair.sentences)


def suite_lines(section: Section, *, parts: bool = True) -> Iterator[str]:
    """Yield a suite's tables: its steps, its conclusions, and how much repeats differ.

    ``parts``: of explained steps, yield the table of parts beside the answer.
    """
    plan = section.plan
    yield f"### {escaped(plan.title)}"
    yield ""
    several = len(section.parts) > 1
    head = [
        *(["Drive"] if several else []),
        position_head(plan),
        "Achieved, MB/s" if plan.load_jobs else "MB/s",
        f"{capitalised(plan.judged)}s a second",
        *(statistic.label for statistic in STATISTICS),
    ]
    rows = [
        [*([part.drive.label] if several else []), *_cells(row)]
        for part in section.parts
        for row in step_rows(part.drive)
    ]
    if rows:
        yield from table(head, rows, left=2 if several else 1)
    for part in section.parts:
        yield from _own(part, several=several, parts=parts)


def _cells(row: StepRow) -> list[str]:
    position = f"{row.series}: {row.position}" if row.series else row.position
    if not row.complete:
        return [position, "not complete", "", *("" for _ in STATISTICS)]
    return [position, row.achieved, row.read_iops, *map(_cell, row.cells)]


def _cell(cell: Cell) -> str:
    text = f"{cell.text} ({cell.interval})" if cell.interval else cell.text
    return f"○ {text}" if cell.unsupported else text


def _own(part: Part, *, several: bool, parts: bool) -> Iterator[str]:
    """Yield the tables of one drive: the conclusions of its suite, and how much repeats differ."""
    label = f": {part.drive.label}" if several else ""
    for conclusion in part.tables:
        yield f"**{escaped(capitalised(conclusion.title) + label)}**"
        yield ""
        yield from table(conclusion.head, conclusion.rows, left=1)
    yield from _explained(part, label, parts=parts)
    rows = list(varied_rows(part.drive))
    if rows:
        yield f"**{escaped(f'Run-to-run variation{label}')}**"
        yield ""
        plan = part.drive.plan
        rate = f"{capitalised(plan.judged)}s a second"
        head = [
            position_head(plan),
            "Runs",
            rate,
            *(statistic.label for statistic in STATISTICS),
            "Mean: between runs",
        ]
        named = [f"{row.series}: {row.position}" if row.series else row.position for row in rows]
        cells = [
            [name, row.runs, *row.coefficients, row.between] for name, row in zip(named, rows, strict=True)
        ]
        yield from table(head, cells, left=1)
        yield f"{VARIATION} {BETWEEN}"
        yield ""


def _explained(part: Part, label: str, *, parts: bool) -> Iterator[str]:
    """Yield where the time of a modelled drive's requests went; nothing for real drives."""
    steps = part.drive.explained
    if not steps:
        return
    yield f"**{escaped(f'Where the time went{label}')}**"
    yield ""
    yield from (f"- {escaped(f'{step.name}: {step.answer}')}" for step in steps)
    yield ""
    if not parts:
        return
    for step in steps:
        head, *rows = step.rows
        yield from table([step.name, *head[1:]], rows, left=1)
    yield escaped(COLUMNS)
    yield ""


def machine_lines(part: MachinePart, *, several: bool) -> Iterator[str]:
    """Yield what differs and what changed; the other settings and every step's interrupts are on the page alone."""
    yield f"### {escaped(f'Machine: {part.label}' if several else 'Machine')}"
    yield ""
    yield from (f"- {escaped(sentence)}" for sentence in (part.sentences if part.known else (UNKNOWN,)))
    yield ""
    for conclusion in (part.changed, part.differing):
        if conclusion.rows:
            yield f"**{escaped(conclusion.title)}**"
            yield ""
            yield from table(conclusion.head, conclusion.rows, left=len(conclusion.head))


def circumstances(label: str, drives: Sequence[SuiteResult]) -> Iterator[str]:
    """Yield a drive's target, machine and warnings."""
    terms = [
        f"{term.lower()} {value}"
        for _, facts in environment(drives[0])
        for term, value in facts
        if term in _CIRCUMSTANCES
    ]
    yield f"**{escaped(label)}**: {escaped('; '.join(terms))}."
    yield ""
    for warning in warnings(drives):
        (message, steps), *others = warning.messages
        where = f" ({steps})" if steps else ""
        more = f", and {len(others)} more like it" if others else ""
        yield f"- {escaped(f'{message}{where}{more}. {capitalised(warning.remedy)}')}"
    yield ""
