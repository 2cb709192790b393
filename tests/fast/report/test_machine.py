"""The section on the machine: the sentence first, what differs, what changed in which steps, and interrupts."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from iogauge.report.machine import UNKNOWN, MachinePart
from iogauge.report.markdown import markdown
from iogauge.report.page.render import page
from iogauge.report.sections import Report
from iogauge.results.machine import ReviewMachine
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import AuditChange, Direction, DriveInterrupts, JobFile
from iogauge.store import Review
from tests import builders, reviews
from tests.reviews import JOBS, Drive

HOSTILE = "<img src=x onerror=alert(1)>"
BEGUN = (
    builders.audit({"cpu.model": "Example CPU"}).model_copy(
        update={
            "facts": (
                builders.fact("cpu.smt", "1", title="threads", verdict="differs", wanted="0", weight=2),
                builders.fact("load.x", "9", title=HOSTILE, meaning="9 %", verdict="differs", wanted="5"),
                builders.fact(
                    "pcie.iommu", "DMA", title="IOMMU", verdict="differs", wanted="identity", weight=3
                ),
                builders.fact("cpu.model", "Example CPU", title="CPU"),
                builders.fact("cpu.boost", None, title="boost"),
                builders.fact("kernel.tsc", "good", title="counter", verdict="pass", wanted="good"),
            )
        }
    ),
    builders.audit({"block.scheduler": "none"}, target="/dev/nvme0n1"),
)


def change(new: str, *, target: str | None = None, name: str = "cpu.smt") -> AuditChange:
    return AuditChange(target=target, id=name, old="1", new=new, verdict="pass")


def save(path: Path, steps: list[tuple[tuple[AuditChange, ...], DriveInterrupts | None]]) -> Review:
    """Save a review of one suite whose steps have these changes and interrupts, in the order in which they ran."""
    planned = [
        builders.step(f"at-{place}", 100.0 * place, job_file=reviews.job_file(100))
        for place in range(len(steps))
    ]
    review = Review.create(path, builders.manifest(planned, target=Drive().target))
    rows = (
        builders.row("pressure", {Direction.WRITE: builders.tally([9_000] * 50)}, index=0),
        builders.row("reader", {Direction.READ: builders.tally([90_000] * 50)}, index=1),
    )
    file = JobFile(jobs=JOBS, source="test", options=({}, {}))
    for place, (step, (changes, interrupts)) in enumerate(zip(planned, steps, strict=True)):
        with review.begin(step.id) as writer:
            for second in range(3):
                writer.interval(builders.interval(second, {Direction.READ: builders.tally([90_000])}, row=1))
            record = builders.record(rows, jobs=file, target_facts=Drive().target)
            writer.finish(
                record.model_copy(
                    update={
                        "started_at": f"2026-01-01T00:00:0{place}.000+00:00",
                        "audit_changes": changes,
                        "interrupts": (interrupts,) if interrupts else (),
                    }
                )
            )
    return review


def part(review: Review) -> MachinePart:
    return MachinePart("drive", ReviewMachine([SuiteResult(review, plan) for plan in review.manifest.plans]))


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Review:
    """Three steps: a setting changed before the second; a far CPU served interrupts in the third."""
    both = builders.interrupts({0: 30}, ios=40)
    far = builders.interrupts({0: 30, 7: 10}, ios=40, node=0, far_cpus=(7,))
    saved = save(
        tmp_path_factory.mktemp("review") / "r",
        [((), both), ((change("0"),), both), ((change("0"),), far)],
    )
    saved.save_audits(BEGUN)
    return saved


def test_the_sentences_come_first(review: Review) -> None:
    assert part(review).sentences == (
        "3 settings differ from what low latency wants; 1 are as wanted, 1 unknown.",
        "1 setting changed during the review.",
        "The drive interrupted 0.75 to 1 times an I/O, in 1 of 3 steps a CPU on which no worker ran.",
    )


def test_what_differs_is_in_the_order_of_its_weight(review: Review) -> None:
    assert [row[0] for row in part(review).differing.rows] == ["IOMMU", "threads", HOSTILE]
    assert part(review).differing.rows[0] == ("IOMMU", "DMA", "identity", "it matters")
    assert {table.title: len(table.rows) for table in part(review).others} == {
        "as wanted": 1,
        "unknown": 1,
        "recorded": 2,
    }


def test_interrupts_of_every_step(review: Review) -> None:
    table = part(review).interrupts
    assert table.title == "Interrupts of sda"
    assert table.head == ("step", "interrupts", "an I/O", "served by", "workers on", "remarks")
    assert table.rows[0][1:] == ("30", "0.75", "CPU 0", "CPU 0", "")
    assert table.rows[2][1:] == (
        "40",
        "1",
        "CPUs 0 and 7",
        "CPU 0",
        "nvme0q1: CPU 7 served 10 of 40, outside its effective affinity, CPU 0; 25.0 % were served by CPU 7, of "
        "another NUMA node than the drive (node 0)",
    )


def test_a_drive_that_is_polled_has_no_interrupts(tmp_path: Path) -> None:
    saved = save(
        tmp_path / "r", [((), builders.interrupts({}, ios=40).model_copy(update={"interrupts": ()}))]
    )
    saved.save_audits(BEGUN)
    assert part(saved).interrupts.rows[0][1:] == ("0", "0", "-", "CPU 0")
    assert part(saved).sentences[-1] == "The drive did not interrupt."


@pytest.mark.parametrize(
    ("changed", "steps"),
    [
        ("011", "from 100 MB/s on, in 2 of 3 steps"),
        ("111", "in all 3 steps"),
        ("010", "in 100 MB/s"),
        ("101", "in 2 of 3 steps, first in 0 MB/s"),
        ("001", "in 200 MB/s"),
    ],
)
def test_in_which_steps_a_setting_had_changed(changed: str, steps: str, tmp_path: Path) -> None:
    saved = save(tmp_path / "r", [((change("0"),) if flag == "1" else (), None) for flag in changed])
    saved.save_audits(BEGUN)
    assert part(saved).changed.rows == (("threads", "1", "0", steps),)


def test_a_setting_of_a_drive_names_it_and_one_that_is_gone_is_named_by_its_id(tmp_path: Path) -> None:
    changes = (change("0", target="/dev/nvme0n1", name="block.scheduler"), change("7", name="cpu.gone"))
    saved = save(tmp_path / "r", [(changes, None)])
    saved.save_audits(BEGUN)
    assert [row[0] for row in part(saved).changed.rows] == ["block scheduler (/dev/nvme0n1)", "cpu.gone"]


def test_the_page_and_the_markdown_show_it(review: Review) -> None:
    report = Report.of([review.path])
    text, html = markdown(report), page(report)
    assert text.index("### Write pressure") < text.index("### Machine") < text.index("Example CPU")
    assert "| threads | 1 | 0 | from 100 MB/s on, in 2 of 3 steps |" in text
    assert "| IOMMU | DMA | identity | it matters |" in text
    section = html[html.index('<h2 id="machine">') :]
    assert (
        section.index("3 settings differ")
        < section.index("changed during the review")
        < section.index("IOMMU")
    )
    assert '<a href="#machine">Machine</a>' in html
    assert HOSTILE not in html
    assert HOSTILE in unescape(section)
    assert "<img" not in text.replace("\\<", "")
    assert "The other settings" in section


def test_settings_that_are_not_known_are_said_to_be_so(tmp_path: Path) -> None:
    reviews.save(tmp_path / "old", Drive(seconds=3, reads_a_second=400), pressures_MBps=(0, 700))
    report = Report.of([tmp_path / "old"])
    assert UNKNOWN in markdown(report)
    assert UNKNOWN in page(report)


def test_models_have_no_section(tmp_path: Path) -> None:
    from iogauge.cli import main

    output = tmp_path / "model"
    assert (
        main(["review", "model:p4800x", "--suite=mixed", "--runtime=20ms", "--seed=1", f"--output={output}"])
        == 0
    )
    assert not (output / "audits.json").exists()
    report = Report.of([output])
    assert report.machines == ()
    assert "Machine" not in markdown(report)


def test_drives_used_together_have_every_value(tmp_path: Path) -> None:
    manifest: dict[str, Any] = {}
    saved = reviews.save(
        tmp_path / "r", Drive(seconds=3, reads_a_second=400), pressures_MBps=(0, 700), **manifest
    )
    plan = saved.manifest.plans[0].model_copy(update={"targets": ("/dev/a", "/dev/b")})
    facts = [
        builders.fact("block.scheduler", value, verdict=verdict, wanted="none")
        for value, verdict in (("none", "pass"), ("bfq", "differs"))
    ]
    audits = [
        builders.audit({}, target=target).model_copy(update={"facts": (fact,)})
        for target, fact in zip(plan.targets, facts, strict=True)
    ]
    saved.save_audits((BEGUN[0], *audits))
    (merged,) = [
        fact for fact in ReviewMachine([SuiteResult(saved, plan)]).facts if fact.id == "block.scheduler"
    ]
    assert (merged.value, merged.meaning, merged.verdict) == ("none, bfq", "none; bfq", "differs")
