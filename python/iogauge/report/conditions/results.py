"""The results of checked conditions: for people as a Markdown table, for CI as JUnit's XML.

Source of the format: the XML schema of Apache Ant's JUnit task, as CI servers read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from iogauge.report.run.fail_if import Violation
from iogauge.text.markdown import table

Result = Literal["passed", "failed", "undecided"]
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class CheckResult:
    """A condition, and what came of it.

    ``failed``: it holds somewhere. ``undecided``: it holds nowhere, and cannot be judged somewhere.
    """

    name: str
    condition: str
    result: Result
    messages: tuple[str, ...] = ()
    """Where it holds, or cannot be judged; a sentence each."""
    hints: tuple[str, ...] = ()
    """What would decide it; each once."""

    def __str__(self) -> str:
        return "\n".join((f"{self.result}: {self.name}", *(f"  {message}" for message in self.messages)))


def results_of(
    names: Mapping[str, str], violations: Sequence[Violation], *, early: str = ""
) -> tuple[CheckResult, ...]:
    """Return the result of each condition. ``names`` are those of the conditions, by their texts.

    ``early`` says why the measurement ended early: a condition that holds nowhere is undecided then. Empty: it did not.
    """
    return tuple(
        _result(name, text, [violation for violation in violations if violation.condition == text], early)
        for text, name in names.items()
    )


def _result(name: str, text: str, violations: Sequence[Violation], early: str) -> CheckResult:
    held = [violation for violation in violations if not violation.unknown]
    if early and not violations:
        violations = [Violation(text, "", None, None, f"cannot be judged: {early} ({text})", unknown=True)]
    return CheckResult(
        name=name,
        condition=text,
        result="failed" if held else "undecided" if violations else "passed",
        messages=tuple(violation.message for violation in sorted(violations, key=lambda one: one.unknown)),
        hints=tuple(dict.fromkeys(violation.hint for violation in violations if violation.hint)),
    )


def markdown(results: Sequence[CheckResult]) -> str:
    r"""Return the results as a Markdown table, with the conditions beside their names if these are others.

    >>> print(markdown([CheckResult("fast", "p99 > 1ms", "passed")]), end="")
    | check | result | condition | where |
    | :-- | :-- | :-- | :-- |
    | fast | passed | p99 \> 1ms |  |
    <BLANKLINE>
    """
    named = any(result.name != result.condition for result in results)
    head = ("check", "result", *(["condition"] if named else []), "where")
    rows = [
        [
            result.name,
            result.result,
            *([result.condition] if named else []),
            "; ".join(_without_condition(result)),
        ]
        for result in results
    ]
    return "".join(f"{line}\n" for line in table(head, rows, left=len(head)))


def _without_condition(result: CheckResult) -> Iterator[str]:
    """Yield the messages without the condition at their end, which is in the same row."""
    yield from (message.removesuffix(f" ({result.condition})") for message in result.messages)


def junit(results: Sequence[CheckResult], *, suite: str) -> str:
    """Return the results as JUnit's XML: a condition that holds is a failure, one that is undecided an error."""
    tags: dict[Result, str] = {"failed": "failure", "undecided": "error"}
    root = ElementTree.Element("testsuites")
    tests = ElementTree.SubElement(
        root,
        "testsuite",
        name=_xml(suite),
        tests=str(len(results)),
        failures=str(sum(result.result == "failed" for result in results)),
        errors=str(sum(result.result == "undecided" for result in results)),
    )
    for result in results:
        case = ElementTree.SubElement(tests, "testcase", classname="iogauge", name=_xml(result.name))
        if (tag := tags.get(result.result)) is not None:
            problem = ElementTree.SubElement(case, tag, message=_xml(result.messages[0]))
            problem.text = _xml("\n".join((*result.messages, *(f"hint: {hint}" for hint in result.hints))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return text without the characters that XML cannot hold: names of files and targets may have any."""
    return _NOT_XML.sub("\ufffd", text)
