"""Which settings differ between two machines: those that change latency first, and nothing that was not read twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge.cli import main
from iogauge.comparison.machines import MachineComparison
from iogauge.machine.audit.changes import differences
from iogauge.report.markdown import markdown
from iogauge.report.page.render import page
from iogauge.report.sections import Report
from iogauge.schema import Audit, AuditFact
from tests import builders, reviews
from tests.reviews import Drive

SMALL: dict[str, Any] = {"pressures_MBps": (0, 700)}
DRIVE = Drive(seconds=3, reads_a_second=400)


def machine(**values: str | None) -> tuple[Audit, Audit]:
    """Return the audits of a machine and its drive; ``values`` take the place of usual ones."""
    facts = {
        "cpu_governor": ("frequency governor", 2, False, "powersave"),
        "cpu_model": ("CPU", 2, False, "Example"),
        "pcie_iommu": ("IOMMU", 3, False, "identity"),
        "block_wbt": ("throttling of writeback, us", 1, False, "0"),
        "block_fua": ("forced unit access", 0, False, "1"),
        "load_average": ("load", 0, True, "3"),
        "cpu_boost": ("boost", 2, False, None),
    }
    made = [
        builders.fact(
            name.replace("_", "."), values.get(name, usual), title=title, weight=weight, volatile=volatile
        )
        for name, (title, weight, volatile, usual) in facts.items()
    ]
    empty = builders.audit({}), builders.audit({}, target="/dev/nvme0n1")
    groups: tuple[list[AuditFact], list[AuditFact]] = ([], [])
    for fact in made:
        groups[fact.group in ("pcie", "block")].append(fact)
    first, second = (
        audit.model_copy(update={"facts": tuple(group)}) for audit, group in zip(empty, groups, strict=True)
    )
    return first, second


OTHER = machine(
    cpu_governor="performance",
    pcie_iommu="DMA",
    block_wbt="2000",
    block_fua="0",
    load_average="99",
    cpu_boost="1",
)
ANSWER = (
    "the machines differ in 3 settings that change latency: IOMMU identity / DMA; "
    "frequency governor powersave / performance; throttling of writeback 0 / 2000, and in one other"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of one drive: on two machines, one that is alike, and one whose settings are not known."""
    folder = tmp_path_factory.mktemp("reviews")
    for name, audits in {"a": machine(), "b": OTHER, "alike": machine(load_average="50"), "old": ()}.items():
        review = reviews.save(folder / name, DRIVE, **SMALL)
        if audits:
            review.save_audits(audits)
    return folder


def test_what_matters_most_is_named_first(folder: Path) -> None:
    comparison = iogauge.compare(folder / "a", folder / "b")
    (machines,) = comparison.machines
    assert machines.answer == ANSWER
    assert comparison.findings[0] == ANSWER
    assert machines.rows == [
        ("IOMMU", "identity", "DMA"),
        ("frequency governor", "powersave", "performance"),
        ("throttling of writeback, us", "0", "2000"),
        ("forced unit access", "1", "0"),
    ]
    assert machines.notes == ("1 more setting could be read on one side alone",)


def test_every_form_of_a_comparison_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(folder / "a"), str(folder / "b")]
    assert main(["compare", *names, "-v"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[2:6]).startswith(ANSWER)
    assert "frequency governor: powersave / performance" in lines
    assert max(map(len, lines[2:6])) <= 80
    assert main(["compare", *names, "--format", "md"]) == 0
    text = capsys.readouterr().out
    assert text.index("The machines differ in 3 settings") < text.index("**Write pressure**")
    assert "| IOMMU | identity | DMA |" in text
    assert main(["compare", *names, "--json"]) == 0
    (suite,) = json.loads(capsys.readouterr().out)
    assert suite["settings"]["answer"] == ANSWER
    assert suite["settings"]["one_sided"] == 1
    assert [(row["id"], row["weight"], row["a"], row["b"]) for row in suite["settings"]["differing"]][:2] == [
        ("pcie.iommu", 3, "identity", "DMA"),
        ("cpu.governor", 2, "powersave", "performance"),
    ]


def test_reports_of_both_say_so(folder: Path) -> None:
    report = Report.of([folder / "a", folder / "b"])
    text = markdown(report)
    assert text.index("The machines differ in 3 settings") < text.index("**Write pressure**")
    html = page(report)
    assert "The machines differ in 3 settings that change latency" in html
    assert html.count('data-head="A">identity</td>') == 1
    assert "frequency governor powersave / performance" in html


def test_machines_that_are_alike(folder: Path) -> None:
    (machines,) = iogauge.compare(folder / "a", folder / "alike").machines
    assert machines.answer == "no setting that was read on both sides differs between the machines"
    assert machines.rows == []
    assert "Settings that differ" not in iogauge.compare(folder / "a", folder / "alike").to_text()


def test_settings_that_are_not_known_are_not_alike(folder: Path) -> None:
    (machines,) = iogauge.compare(folder / "old", folder / "b").machines
    assert machines.unknown == ("Flash 9000 (old)",)
    assert machines.answer == "settings are not compared: those of Flash 9000 (old) are not known"
    assert machines.differing == ()


def test_nothing_is_said_where_nothing_is_known(folder: Path, tmp_path: Path) -> None:
    reviews.save(tmp_path / "older", DRIVE, **SMALL)
    comparison = iogauge.compare(folder / "old", tmp_path / "older")
    assert comparison.machines == ()
    assert comparison.to_dict()[0]["settings"] is None


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        ((0,), "no setting that is known to change latency differs between the machines; one other does"),
        ((0, 0), "no setting that is known to change latency differs between the machines; 2 others do"),
        ((2,), "the machines differ in 1 setting that changes latency: x 0 a / b"),
        (
            (1, 2, 0, 0),
            "the machines differ in 2 settings that change latency: x 1 a / b; x 0 a / b, and in 2 others",
        ),
        (
            (1,) * 7,
            "the machines differ in 7 settings that change latency: x 0 a / b; x 1 a / b; x 2 a / b; x 3 a / b; "
            "x 4 a / b; 2 more",
        ),
    ],
)
def test_how_many_settings_are_named(weights: tuple[int, ...], answer: str) -> None:
    before, after = (
        [builders.fact(f"x.{place}", value, weight=weight) for place, weight in enumerate(weights)]
        for value in "ab"
    )
    differing = differences(before, after)
    assert MachineComparison("A", "B", one_review=False, differing=differing).answer == answer
    paths = MachineComparison("A", "B", one_review=True, differing=differing).answer
    assert paths == answer.replace("the machines", "the paths to the drives")


def test_a_long_value_is_cut_in_a_sentence_and_not_in_the_table() -> None:
    long = "a " * 50
    differing = differences([builders.fact("x.y", long)], [builders.fact("x.y", "b", weight=1)])
    machines = MachineComparison("A", "B", one_review=False, differing=differing)
    assert f"{long[:37]}... / b" in machines.answer
    assert machines.rows[0][1].strip() == long.strip()
