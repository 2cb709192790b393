"""The interrupts of a drive during a run, from the recorded text of a machine with two sockets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.interrupts import Counts, cpus_in, parse_interrupts, read_interrupts, served
from tests import builders
from tests.audit_trees import Tree, build

NVME = builders.target("/dev/nvme0n1", kind="block", device="nvme0n1")

STAT = "sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0/nvme/nvme0/nvme0n1/stat"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A machine whose drive is at the second socket: queue 0 is of CPUs 0 to 3, queue 1 of CPUs 4 to 7."""
    return build("intel-two-sockets", tmp_path)


def text(counts: dict[int, list[int]], cpus: list[int] | None = None) -> str:
    """Return /proc/interrupts with these counts of the drive's interrupts, and lines of others."""
    numbers = cpus or list(range(8))
    lines = ["            " + "".join(f"CPU{cpu:<8}" for cpu in numbers)]
    lines.append("   0:" + "".join(f"{9:>11}" for _ in numbers) + "  IR-IO-APIC    2-edge      timer")
    for number, row in counts.items():
        cells = "".join(f"{count:>11}" for count in row)
        lines.append(
            f" {number:>3}:{cells}  IR-PCI-MSIX-0000:82:00.0    {number - 40}-edge      nvme0q{number - 40}"
        )
    lines.append(" NMI:" + "".join(f"{1:>11}" for _ in numbers) + "   Non-maskable interrupts")
    return "\n".join(lines) + "\n"


def test_what_is_served_between_two_readings(tree: Tree, tmp_path: Path) -> None:
    place = tmp_path / "proc/interrupts"
    place.write_text(
        text({40: [3] * 8, 41: [90_000, 0, 0, 0, 0, 0, 0, 0], 42: [0, 0, 0, 0, 80_000, 0, 0, 0]})
    )
    (tmp_path / STAT).write_text("100 1 2 3 200 1 1 1 0 1 1 5 0 0 0 7 1\n")
    before = read_interrupts([NVME], tree.subject.host)
    (tmp_path / STAT).write_text("1100 1 2 3 700 1 1 1 0 1 1 6 0 0 0 9 1\n")
    place.write_text(
        text({40: [3] * 8, 41: [90_500, 0, 7, 0, 0, 0, 0, 0], 42: [0, 0, 0, 0, 81_000, 0, 0, 0]})
    )
    (drive,) = served(before, read_interrupts([NVME], tree.subject.host), tree.subject.host)
    assert (drive.device, drive.node, drive.far_cpus) == ("nvme0n1", 1, (0, 2)), "the drive is at CPUs 4 to 7"
    assert drive.ios == 1503
    first, second = drive.interrupts
    assert (first.number, first.name, first.by_cpu, first.allowed) == (41, "nvme0q1", {0: 500, 2: 7}, (0,))
    assert (second.number, second.by_cpu, second.count, second.allowed) == (42, {4: 1000}, 1000, (4,))


def test_an_interrupt_that_moved_may_be_served_where_it_was_and_is(tree: Tree, tmp_path: Path) -> None:
    before = read_interrupts([NVME], tree.subject.host)
    (tmp_path / "proc/irq/42/effective_affinity_list").write_text("5-6\n")
    (drive,) = served(before, before, tree.subject.host)
    assert drive.interrupts == (), "none was served"
    (tmp_path / "proc/interrupts").write_text(
        text({41: [90_000] + [0] * 7, 42: [0, 0, 0, 0, 80_001, 2, 0, 0]})
    )
    (drive,) = served(before, read_interrupts([NVME], tree.subject.host), tree.subject.host)
    (moved,) = drive.interrupts
    assert (moved.by_cpu, moved.allowed) == ({4: 1, 5: 2}, (4, 5, 6))


def test_what_cannot_be_read_is_not_known(tree: Tree, tmp_path: Path) -> None:
    before = read_interrupts([NVME], tree.subject.host)
    (tmp_path / "proc/irq/41/effective_affinity_list").unlink()
    (tmp_path / "sys/devices/system/node/node1/cpulist").unlink()
    (tmp_path / "proc/interrupts").write_text(text({41: [90_001] + [0] * 7, 42: [0] * 8}))
    (drive,) = served(before, read_interrupts([NVME], tree.subject.host), tree.subject.host)
    assert drive.interrupts[0].allowed is None
    assert (drive.node, drive.far_cpus) == (1, ())
    (tmp_path / "proc/interrupts").unlink()
    assert read_interrupts([NVME], tree.subject.host) == {}
    assert served(before, {}, tree.subject.host) == ()


def test_devices_without_interrupts_of_their_own_have_none(tree: Tree) -> None:
    assert (
        read_interrupts([builders.target(device=None), builders.target(device="loop9")], tree.subject.host)
        == {}
    )


def test_cpus_that_are_offline_have_no_column() -> None:
    lines = parse_interrupts(text({41: [1, 2]}, cpus=[0, 6]), [41, 99])
    assert lines.keys() == {41}
    assert lines[41].by_cpu == {0: 1, 6: 2}


@pytest.mark.parametrize("damaged", ["", "CPU0 CPU1\n 41: 5\n", "CPU0\n 41: x nvme0q1\n", "41: 1 2\n"])
def test_text_that_cannot_be_understood_counts_nothing(damaged: str) -> None:
    assert parse_interrupts(damaged, [41]) == {}


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=9), st.text())
def test_every_count_is_read_whatever_follows(counts: list[int], other: str) -> None:
    printed = text({41: counts}, cpus=list(range(len(counts)))) + other
    assert parse_interrupts(printed, [41])[41].by_cpu == dict(enumerate(counts))


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_a_count_that_wrapped(before: int, passed: int) -> None:
    lines = [
        parse_interrupts(text({41: [count]}, cpus=[0]), [41]) for count in (before, (before + passed) % 2**32)
    ]
    (drive,) = served({"none": Counts(lines[0])}, {"none": Counts(lines[1])})
    assert drive.ios is None
    assert drive.interrupts[0].by_cpu == {0: passed}


@given(st.sets(st.integers(0, 300)))
def test_lists_of_cpus(cpus: set[int]) -> None:
    assert cpus_in(",".join(map(str, sorted(cpus)))) == cpus
    assert cpus_in("0-3,8\n") == {0, 1, 2, 3, 8}
