"""The answer of a profile: yes if all criteria are met, no if any is missed; its sentence, remedy and data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.catalog.profiles import Criterion, Profile
from iogauge.schema import Code, Notice
from iogauge.stats.figure import Figure
from iogauge.stats.limits import Outcome, Ruling, rule
from iogauge.text.option import command_line
from iogauge.verdicts import text
from iogauge.verdicts.fitness import Fitness, JudgedCriterion, Reference, best_measured
from iogauge.verdicts.markdown import as_markdown
from iogauge.verdicts.reference import profiles_table

ROOT = Path(__file__).resolve().parents[3]

CRITERION = Criterion(
    name="a commit", suite="commit-latency", at=1, quantity="p99", at_most="10ms", source="ours: a test"
)
MS = 10**6


def judged(outcome: Outcome) -> JudgedCriterion:
    """Return a criterion, at most 10 ms, with a figure of this outcome."""
    if outcome is Outcome.NOT_MEASURED:
        return JudgedCriterion(criterion=CRITERION, ruling=Ruling(outcome))
    figure = {
        Outcome.MET: Figure(5 * MS, 4 * MS, 6 * MS, count=2000, needed=1000),
        Outcome.NOT_SHOWN: Figure(8 * MS, 6 * MS, 12 * MS, count=2000, needed=1000),
        Outcome.MISSED: Figure(15 * MS, 14 * MS, 16 * MS, count=2000, needed=1000),
    }[outcome]
    return JudgedCriterion(
        criterion=CRITERION, ruling=rule(figure, 10 * MS, upper=True), figure=figure, runtime_s=2
    )


def fitness(*outcomes: Outcome, caveat: str = "") -> Fitness:
    """Return a verdict with these outcomes."""
    return Fitness(
        profile=Profile(
            name="mine",
            title="a queue",
            use="It waits.",
            caveat=caveat,
            criterion=(CRITERION,) * len(outcomes),
        ),
        target="Flash 9000",
        model="Flash 9000 1TB",
        path="/dev/nvme0n1",
        review="saved",
        criteria=tuple(map(judged, outcomes)),
    )


@given(st.lists(st.sampled_from(Outcome), min_size=1, max_size=6))
def test_the_answer_follows_from_the_outcomes(outcomes: list[Outcome]) -> None:
    verdict = fitness(*outcomes)
    assert [criterion.outcome for criterion in verdict.criteria] == outcomes
    assert (verdict.answer == "no") == any(outcome is Outcome.MISSED for outcome in outcomes)
    assert (verdict.answer == "yes") == all(outcome is Outcome.MET for outcome in outcomes)
    # What is undecided says what would decide it; what is decided needs nothing.
    assert bool(text.remedy(verdict)) == (verdict.answer == "not shown")


def test_the_sentence_begins_with_the_target_and_the_answer() -> None:
    assert text.sentence(fitness(Outcome.MET, Outcome.MET)) == (
        "Flash 9000 is fit for a queue: all 2 criteria are met"
    )
    assert text.sentence(fitness(Outcome.MET, Outcome.MISSED, Outcome.MISSED)) == (
        "Flash 9000 is not fit for a queue: a commit, p99 at most 10 ms: 15.0 ms (14.0 to 16.0 ms); 1 more missed"
    )
    assert text.sentence(fitness(Outcome.NOT_MEASURED, Outcome.MET)) == (
        "Flash 9000: not shown whether it is fit for a queue: 1 of 2 criteria not measured"
    )
    assert text.sentence(fitness(*[Outcome.NOT_SHOWN] * 2, *[Outcome.NOT_MEASURED] * 3)) == (
        "Flash 9000: not shown whether it is fit for a queue: a commit, p99 at most 10 ms: 8.0 ms (6.0 to 12.0 ms); "
        "the limit lies within its interval; 1 more undecided; 3 of 5 criteria not measured"
    )


def test_what_was_not_measured_is_said_once() -> None:
    verdict = fitness(Outcome.NOT_MEASURED, Outcome.MET)
    for lines in (text.lines([verdict]), text.brief_lines([verdict])):
        # In the sentence, and at the criterion.
        assert " ".join(" ".join(lines).split()).count("not measured") == 2
    assert "| a commit | not measured | - |" in as_markdown([verdict])


def test_a_rate_has_its_unit_once() -> None:
    criterion = CRITERION.model_copy(update={"quantity": "iops", "at_most": None, "at_least": "500"})
    figure = Figure(18_425, 11_232, 30_222, unit="IOPS")
    judged_rate = JudgedCriterion(
        criterion=criterion, ruling=rule(figure, 500, upper=False), figure=figure, runtime_s=2
    )
    document = as_markdown([replace(fitness(Outcome.MET), criteria=(judged_rate,))])
    assert "| 18,000 IOPS (11,000 to 30,000 IOPS) |" in document


def test_warnings_stand_below_the_sentence_everywhere() -> None:
    busy = Notice(code=Code.BUSY_TARGET, message="/dev/nvme0n1: another program uses it", hint="stop it")
    warned = replace(judged(Outcome.MET), warnings=(busy,))
    verdict = replace(
        fitness(Outcome.MET, Outcome.MET), criteria=(warned, judged(Outcome.MET)), warnings=(busy,)
    )
    words = "another program uses the target (1 of 2 figures)"
    assert list(text.lines([verdict]))[1] == f"warning: {words}"
    assert list(text.brief_lines([verdict]))[1] == f"warning: {words}"
    assert f"\n\nWarning: {words}\n\n" in as_markdown([verdict]).replace("\\", "")
    (data,) = text.as_data([verdict])
    assert data["warnings"] == [
        {"code": "busy_target", "message": "/dev/nvme0n1: another program uses it", "hint": "stop it"}
    ]
    assert [criterion["warnings"] for criterion in data["criteria"]] == [["busy_target"], []]


def test_the_remedy_is_a_command_that_runs_as_long_as_it_takes() -> None:
    with command_line():
        # 8 ms, up to 12, at most 10: four times as long decides it, and a fifth more is to spare.
        assert text.remedy(fitness(Outcome.NOT_SHOWN)) == (
            "run each step for about 10 s: iogauge review /dev/nvme0n1 --for mine --runtime 10s"
        )
        assert text.remedy(fitness(Outcome.NOT_SHOWN, Outcome.NOT_MEASURED)) == (
            "measure what is missing: iogauge review /dev/nvme0n1 --for mine"
        )
    assert text.remedy(fitness(Outcome.NOT_MEASURED)).endswith("iogauge.review('/dev/nvme0n1', use='mine')")


def test_the_scale_has_figure_interval_limit_and_references_in_order() -> None:
    figure = Figure(20 * MS, 15 * MS, 30 * MS)
    criterion = JudgedCriterion(
        criterion=CRITERION,
        ruling=rule(figure, 10 * MS, upper=True),
        figure=figure,
        references=(Reference(drive="P", figure=Figure(MS), source="a review"),),
    )
    drawn = text.scale(criterion, *text.ends([criterion])).split("  ")[0]
    assert len(drawn) == text.SCALE
    assert drawn.replace(".", "").replace("=", "") == "o|*"
    assert drawn.index("|") < drawn.index("=") < drawn.index("*") < drawn.rindex("=")


def test_the_limit_is_in_one_place_for_all_targets() -> None:
    slow, fast = fitness(Outcome.MISSED), fitness(Outcome.MET)
    drawn = [
        line for line in text.lines([replace(slow, target="A"), replace(fast, target="B")]) if "|" in line
    ]
    assert len(drawn) == 2
    assert len({line.index("|") for line in drawn}) == 1
    assert len({line.split("  ")[-1] for line in drawn}) == 1


def test_drives_of_one_name_on_two_hosts_are_two_drives() -> None:
    """One review is incomplete: it still has its own answer."""
    complete = replace(fitness(Outcome.MET, Outcome.MET), identity="one /dev/nvme0n1")
    part = fitness(Outcome.MET, Outcome.NOT_MEASURED)
    assert best_measured([complete, replace(part, identity="two /dev/nvme0n1")]) == (
        complete,
        replace(part, identity="two /dev/nvme0n1"),
    )
    assert best_measured([complete, replace(part, identity=complete.identity)]) == (complete,)


@pytest.mark.parametrize("outcome", Outcome)
def test_lines_fit_the_terminal_and_data_is_json(outcome: Outcome) -> None:
    verdict = fitness(outcome, caveat="A caveat that is long enough to be wrapped. " * 4)
    lines = list(text.lines([verdict]))
    assert max(map(len, lines)) <= 80
    assert outcome.value in "\n".join(lines)
    (data,) = json.loads(json.dumps(text.as_data([verdict]), allow_nan=False))
    assert data["answer"] == verdict.answer
    assert data["criteria"][0]["outcome"] == outcome.value
    assert data["criteria"][0]["limit"] == 10 * MS
    document = as_markdown([verdict])
    assert document.startswith(f"## Flash 9000, a queue: {verdict.answer}\n")
    assert f"| a commit | {outcome.value} |" in document


def test_the_page_has_the_profiles_as_the_files_have_them() -> None:
    assert profiles_table() in (ROOT / "docs" / "verdicts.md").read_text()
