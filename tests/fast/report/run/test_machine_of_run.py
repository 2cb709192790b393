"""What a run's reports say of interrupts and settings: facts in the table, everything in iogauge's part of json+."""

from __future__ import annotations

import json

from iogauge.report.run import jsonplus, surroundings
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import Direction, DriveInterrupts, Job, RunRecord
from tests import builders, report_records


def record(*drives: DriveInterrupts) -> RunRecord:
    row = builders.row("reads", {Direction.READ: builders.tally([90_000] * 50)})
    audits = (
        builders.audit({"cpu.smt": "1", "cpu.boost": None}),
        builders.audit({"block.fua": "0"}, target="/dev/sda"),
    )
    return builders.record((row,)).model_copy(update={"interrupts": drives, "audits": audits})


def shown(*drives: DriveInterrupts) -> list[str]:
    lines = surroundings.lines(record(*drives))
    first = next((place for place, line in enumerate(lines) if line.startswith("interrupts")), len(lines))
    last = next(place for place, line in enumerate(lines) if line.startswith(("generator", "clock")))
    return [" ".join(line.split()) for line in lines[first:last]]


def test_a_line_says_how_many_interrupts_and_where() -> None:
    assert shown(builders.interrupts({0: 500}, ios=1000)) == [
        "interrupts 500 interrupts, 0.5 an I/O, on CPU 0; the workers ran on CPU 0"
    ]


def test_what_was_served_elsewhere_is_said() -> None:
    drive = builders.interrupts({0: 500, 6: 2, 7: 4}, ios=1000, node=0, far_cpus=(6, 7))
    assert " ".join(shown(drive)) == (
        "interrupts 506 interrupts, 0.506 an I/O, on CPUs 0, 6 and 7; the workers ran on CPU 0 "
        "nvme0q1: CPUs 6 and 7 served 6 of 506, outside its effective affinity, CPU 0 "
        "1.2 % were served by CPUs 6 and 7, of another NUMA node than the drive (node 0)"
    )
    unknown = drive.interrupts[0].model_copy(update={"allowed": None})
    assert not any("affinity" in line for line in shown(drive.model_copy(update={"interrupts": (unknown,)})))


def test_drives_are_named_where_there_are_several() -> None:
    lines = shown(builders.interrupts({0: 5}), builders.interrupts({1: 1}, device="sdb", allowed=(1,)))
    assert lines == [
        "interrupts sda: 5 interrupts, on CPU 0; the workers ran on CPU 0",
        "sdb: 1 interrupt, on CPU 1; the workers ran on CPU 0",
    ]


def test_a_run_without_interrupts_has_no_line() -> None:
    assert shown() == []


def test_the_lines_fit_in_80_columns() -> None:
    drive = builders.interrupts(
        dict.fromkeys(range(0, 256, 3), 1000), ios=7, node=0, far_cpus=tuple(range(0, 99, 3))
    )
    assert max(map(len, surroundings.lines(record(drive)))) <= 80


def test_json_has_every_setting_and_interrupt_in_a_part_of_its_own() -> None:
    plain = report_records.record([Job(name="reads")], [{Direction.READ: builders.tally([90_000] * 50)}])
    noted = record(builders.interrupts({0: 500, 6: 2}, ios=1000))
    run = plain.model_copy(update={"audits": noted.audits, "interrupts": noted.interrupts})
    stats = IntervalStats.over([], interval_ns=run.plan.interval_ns)
    document = jsonplus.document(run, stats, plus=True)
    bare = jsonplus.document(plain, stats, plus=True)
    own = document.pop("iogauge")
    bare.pop("iogauge")
    assert document == bare, "fio's part is the same"
    assert [audit["target"] for audit in own["audits"]] == [None, "/dev/sda"]
    assert own["audits"][0]["settings"] == {
        "cpu.smt": {"value": "1", "verdict": "recorded"},
        "cpu.boost": {"value": None, "verdict": "unknown"},
    }
    assert json.loads(json.dumps(own["interrupts"]))[0]["interrupts"][0]["by_cpu"] == {"0": 500, "6": 2}
