"""What changed between two audits: settings that were read both times, those that change latency most first."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.audit import CHECKS, DRIVE, MACHINE, audit, audits_of
from iogauge.machine.audit.changes import changes, differences, one_sided
from iogauge.machine.audit.check import Check
from tests import builders
from tests.audit_trees import Tree, build, tree, write  # noqa: F401 (a fixture)

VALUES = st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.none(), st.sampled_from(["0", "1", ""])))


def test_a_machine_does_not_differ_from_itself(tree: Tree) -> None:  # noqa: F811
    (machine, drive) = audits_of([builders.target(device=tree.subject.drive.name)], tree.subject.host)
    assert [fact.id for fact in (*machine.facts, *drive.facts)] == [check.id for check in CHECKS]
    assert (machine.target, drive.target) == (None, "/tmp/drive.bin")
    assert changes((machine, drive), (machine, drive)) == ()


def test_a_setting_that_changed_is_named_and_what_changes_by_itself_is_not(tmp_path: Path) -> None:
    subject = build("intel-two-sockets", tmp_path).subject
    target = builders.target("/dev/nvme0n1", kind="block", device="nvme0n1")
    begun = audits_of([target], subject.host)
    for path, value in {
        "sys/devices/system/cpu/cpufreq/policy2/scaling_governor": "performance",
        "sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0/iommu_group/type": "identity",
        "proc/loadavg": "7.00 1 1 1/1 1",
        "proc/uptime": "99 1",
        "sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0/nvme/nvme0/hwmon2/temp1_input": "60000",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Vulnerable",
        "proc/sys/vm/swappiness": "many",
    }.items():
        write(tmp_path / path, value)
    changed = changes(begun, audits_of([target], subject.host))
    assert [(change.target, change.id, change.old, change.new, change.verdict) for change in changed] == [
        (
            None,
            "cpu.governor",
            "powersave",
            "powersave (policy0-1, policy3-7); performance (policy2)",
            "differs",
        ),
        (None, "cpu.mitigations", "2 of 2 mitigated", "1 of 2 mitigated; vulnerable: meltdown", "recorded"),
        ("/dev/nvme0n1", "pcie.iommu", "DMA", "identity", "pass"),
    ]


def test_values_with_the_same_words_are_told_apart() -> None:
    old = builders.audit({"cpu.mitigations": "mds: Vulnerable, tsx: Mitigation: Clear"}, meaning="1 of 2")
    new = builders.audit({"cpu.mitigations": "mds: Vulnerable, tsx: Mitigation: Off"}, meaning="1 of 2")
    (difference,) = differences(old.facts, new.facts)
    assert (difference.old, difference.new) == ("tsx: Mitigation: Clear", "tsx: Mitigation: Off")


def test_a_drive_that_was_not_there_when_the_review_began_has_no_changes() -> None:
    begun = (builders.audit({"cpu.smt": "0"}),)
    now = (builders.audit({"cpu.smt": "1"}), builders.audit({"block.scheduler": "bfq"}, target="/dev/sda"))
    assert [change.id for change in changes(begun, now)] == ["cpu.smt"]


def test_drive_models_and_the_null_engine_are_not_audited() -> None:
    assert (
        audits_of([builders.target("model:p4800x", kind="model"), builders.target("/x", kind="null")]) == ()
    )


def test_two_files_on_one_drive_are_audited_once(tmp_path: Path) -> None:
    host = build("desktop", tmp_path).subject.host
    targets = [builders.target(path, device="nvme0n1") for path in ("/a", "/b")]
    assert [audit.target for audit in audits_of(targets, host)] == [None, "/a"]


def test_a_file_whose_drive_is_not_known_has_the_machine_alone(tmp_path: Path) -> None:
    host = build("desktop", tmp_path).subject.host
    (alone,) = audits_of([builders.target(device=None)], host)
    assert len(alone.facts) == len(MACHINE)


@given(VALUES, VALUES)
def test_only_what_was_read_on_both_sides_differs(
    before: dict[str, str | None], after: dict[str, str | None]
) -> None:
    facts = [builders.audit(values).facts for values in (before, after)]
    found_both = {name for name in before if None not in (before[name], after.get(name))}
    assert {pair.before.id for pair in differences(*facts)} == {
        name for name in found_both if before[name] != after[name]
    }
    assert one_sided(*facts) == len(
        {name for name in before if before[name] is not None}
        ^ {name for name in after if after[name] is not None}
    )
    volatile = [builders.audit(values, volatile=True).facts for values in (before, after)]
    assert differences(*volatile) == ()


@given(st.lists(st.integers(0, 3), max_size=9))
def test_what_matters_most_comes_first(weights: list[int]) -> None:
    sides = [
        [builders.fact(f"x.{place}", value, weight=weight) for place, weight in enumerate(weights)]
        for value in "ab"
    ]
    ranked = [pair.weight for pair in differences(*sides)]
    assert ranked == sorted(weights, reverse=True)


def test_every_weight_has_a_meaning_and_nothing_volatile_has_one() -> None:
    assert {check.weight for check in CHECKS} == {0, 1, 2, 3}
    assert [check.id for check in CHECKS if check.volatile and check.weight] == []
    assert {check.id for check in CHECKS if check.volatile} >= {
        "load.average", "load.uptime", "cpu.steal", "cpu.frequency", "nvme.temperature", "interrupts.taken",
    }  # fmt: skip
    assert _first(DRIVE, 3) >= {"pcie.iommu", "nvme.apst", "block.io_poll"}
    assert _first(MACHINE, 3) >= {"cpu.idle_states", "cpu.dma_latency"}


def _first(checks: tuple[Check, ...], weight: int) -> set[str]:
    return {check.id for check in checks if check.weight == weight}


def test_machine_and_drive_together_are_one_audit(tree: Tree) -> None:  # noqa: F811
    parts = [audit(tree.subject, checks=checks).facts for checks in (MACHINE, DRIVE)]
    assert (*parts[0], *parts[1]) == audit(tree.subject).facts
