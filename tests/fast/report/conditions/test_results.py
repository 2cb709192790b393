"""The results of conditions: what CI reads of JUnit's XML, what people read of the table; files of conditions."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import UsageError
from iogauge.report.conditions.checks_file import read_checks
from iogauge.report.conditions.results import CheckResult, junit, markdown, results_of
from iogauge.report.run.fail_if import Violation

NAMES = {"a > 1ms": "fast", "b > 1ms": "b > 1ms", "c > 1ms": "c > 1ms"}
VIOLATIONS = [
    Violation("a > 1ms", "x", None, None, "a cannot be judged", "run longer", unknown=True),
    Violation("a > 1ms", "y", None, 2e6, "a is 2 ms"),
    Violation("b > 1ms", "x", None, None, "b cannot be judged", "run longer", unknown=True),
]


def test_a_condition_that_holds_somewhere_fails_and_that_comes_first() -> None:
    results = results_of(NAMES, VIOLATIONS)
    assert [result.result for result in results] == ["failed", "undecided", "passed"]
    assert results[0].messages == ("a is 2 ms", "a cannot be judged")
    assert results[0].hints == ("run longer",)


def test_junit_counts_failures_and_errors_apart() -> None:
    root = ElementTree.fromstring(junit(results_of(NAMES, VIOLATIONS), suite="saved"))
    (suite,) = root
    assert suite.attrib == {"name": "saved", "tests": "3", "failures": "1", "errors": "1"}
    assert [case.get("name") for case in suite] == ["fast", "b > 1ms", "c > 1ms"]
    assert [[problem.tag for problem in case] for case in suite] == [["failure"], ["error"], []]
    (failure,) = suite[0]
    assert failure.get("message") == "a is 2 ms"


@given(st.text(), st.text(min_size=1))
def test_junit_is_xml_whatever_the_names(name: str, message: str) -> None:
    text = junit([CheckResult(name, "c", "failed", (message,))], suite=name)
    (case,) = ElementTree.fromstring(text.encode())[0]
    assert case.tag == "testcase"


def test_a_row_of_the_table_is_a_condition() -> None:
    lines = markdown(results_of(NAMES, VIOLATIONS)).splitlines()
    assert lines[2].startswith("| fast | failed | a \\> 1ms | a is 2 ms; a cannot be judged |")
    assert len(lines) == 6


def test_a_condition_without_a_name_is_in_the_table_once() -> None:
    result = CheckResult("p99 > 1ms", "p99 > 1ms", "failed", ("x: p99 is 2 ms (p99 > 1ms)",))
    assert "| p99 \\> 1ms | failed | x: p99 is 2 ms |" in markdown([result])


def test_a_file_names_its_conditions(tmp_path: Path) -> None:
    path = tmp_path / "checks.toml"
    path.write_text('[[check]]\nname = "fast"\nfail-if = " p99 > 1ms "\n[[check]]\nfail-if = "iops < 1k"\n')
    assert read_checks(path) == {"p99 > 1ms": "fast", "iops < 1k": "iops < 1k"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no checks"),
        ("check = 1", "it has no checks"),
        ("checks = []", "there is no key 'checks'"),
        ("[[check]", "this is no TOML"),
        ("[[check]]\nname = 'a'", "check 1: it has no condition"),
        ("[[check]]\nfail-if = 1", "check 1: fail-if is not text"),
        ("[[check]]\nfailif = 'p99 > 1ms'", "check 1: there is no key 'failif'"),
        ("[[check]]\nfail-if = 'a'\n[[check]]\nfail-if = ' a'", "check 2: 'a' is there twice"),
    ],
)
def test_a_file_that_has_no_conditions_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "checks.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        read_checks(path)
    assert str(caught.value).startswith(str(path))
    assert caught.value.hint
