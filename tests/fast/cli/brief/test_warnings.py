"""Warnings in a line each: ranked, once, and every code of the product is among them."""

from __future__ import annotations

import pytest

from iogauge.cli.brief.warnings import CHANGES, CONTEXT, INTERNAL, MOST, warning_lines
from iogauge.machine.warnings import TEXTS
from iogauge.schema import Code, Notice


def notices(*codes: Code) -> tuple[Notice, ...]:
    return tuple(Notice(code=code, message="m", hint="h") for code in codes)


def test_every_code_has_its_place() -> None:
    assert {*CHANGES, *CONTEXT, *INTERNAL} == {*TEXTS} == {*Code}
    assert len(CHANGES) + len(CONTEXT) + len(INTERNAL) == len(Code)


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("command", ["run", "replay", "review", "show"])
def test_a_line_each_however_many_there_are(command, columns: int) -> None:
    lines = warning_lines(notices(*Code), command=command, columns=columns, marked=True)
    assert len(lines) == MOST + 1
    assert lines[0].startswith("warning: requests had not come back")
    assert lines[MOST - 1] == f"warning: and {len(CHANGES) - MOST + 1} others"
    assert lines[-1].startswith("context: ")
    assert max(map(len, lines)) <= columns
    for code in CHANGES:
        (line,) = warning_lines(notices(code), command=command, columns=columns, marked=True)
        assert not line.endswith("..."), line


def test_the_graver_comes_first_and_each_once() -> None:
    lines = warning_lines(
        notices(Code.CLOCK, Code.STALLED, Code.PAGE_CACHE, Code.STALLED),
        command="run",
        columns=80,
        marked=True,
    )
    assert [line.partition(": ")[2][:14] for line in lines] == [
        "the page cache",
        "threads stood ",
        "inexact clock",
    ]


def test_a_replay_has_no_remedy_that_only_a_job_has() -> None:
    codes = (Code.FEW_SAMPLES, Code.NO_PIN, Code.PAGE_CACHE)
    lines = warning_lines(notices(*codes), command="replay", columns=200, marked=True)
    assert lines[0].endswith(" (--direct)")
    assert lines[1] == "context: few samples beyond quantiles marked ~; workers not pinned"


def test_a_remedy_is_an_option_of_the_command_at_hand() -> None:
    (run,), (show,) = (
        warning_lines(notices(Code.PAGE_CACHE), command=command, columns=80, marked=True)
        for command in ("run", "show")
    )
    assert run == f"{show} (--direct=1)"
    assert "--" not in show


def test_what_changes_no_figure_is_not_said() -> None:
    assert warning_lines(notices(Code.INTERVALS_MERGED), command="run", columns=80, marked=True) == []


def test_a_mark_that_is_not_printed_is_not_explained() -> None:
    few = notices(Code.FEW_SAMPLES, Code.CLOCK)
    assert warning_lines(few, command="review", columns=80, marked=True) == [
        "context: few samples beyond quantiles marked ~ (--runtime); inexact clock"
    ]
    assert warning_lines(few, command="review", columns=80, marked=False) == ["context: inexact clock"]


@pytest.mark.parametrize("columns", [80, 120, 200, 300])
def test_what_does_not_fit_is_counted_and_never_cut(columns: int) -> None:
    *_, line = warning_lines(notices(*CONTEXT), command="run", columns=columns, marked=True)
    *_, uncut = warning_lines(notices(*CONTEXT), command="run", columns=1000, marked=True)
    parts, every = (text.removeprefix("context: ").split("; ") for text in (line, uncut))
    assert len(line) <= columns
    kept = parts[:-1] if parts[-1].startswith("and ") else parts
    assert kept == every[: len(kept)]
    if kept != every:
        assert parts[-1] == f"and {len(every) - len(kept)} more"
