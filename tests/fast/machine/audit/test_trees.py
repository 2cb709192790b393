"""Audits of recorded machines: every check, on five of them, and with one file changed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.machine.audit import CHECKS, audit
from iogauge.machine.audit.subject import Subject
from iogauge.machine.nvme.features import Apst, Coalescing, Features, HostMemory, PowerManagement
from iogauge.machine.nvme.logs import parse_smart
from iogauge.machine.nvme.read import Nvme
from iogauge.target.users.sysfs import BlockDevice, Host
from tests import nvme_images
from tests.audit_trees import NAMES, Tree, build, tree, write  # noqa: F401 (a fixture)

BY_ID = {check.id: check for check in CHECKS}
PCI = "sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0"
DRIVE = f"{PCI}/nvme/nvme0/nvme0n1"
ATA = "sys/devices/pci0004:00/0004:00:01.0/0004:01:00.0/ata3/host2"
UNCORE = "sys/devices/system/cpu/intel_uncore_frequency/package_"

CHANGES = [
    ("intel-two-sockets", "cpu.uncore", "pass", {f"{UNCORE}{n}_die_00/min_freq_khz": "2700000" for n in (0, 1)}),
    ("intel-two-sockets", "cpu.uncore", "unknown", {f"{UNCORE}0_die_00/min_freq_khz": None}),
    ("intel-two-sockets", "cpu.governor", "unknown", {"sys/devices/system/cpu/cpufreq": None}),
    ("intel-two-sockets", "cpu.idle_states", "pass", {"dev/cpu_dma_latency": "hex 02000000"}),
    ("intel-two-sockets", "cpu.idle_states", "differs", {"dev/cpu_dma_latency": "hex 00943577"}),
    ("intel-two-sockets", "cpu.idle_states", "unknown", {"sys/devices/system/cpu/cpu3/cpuidle/state2/latency": None}),
    ("intel-two-sockets", "kernel.tsc", "differs", {"proc/cpuinfo": "flags\\t: fpu tsc constant_tsc"}),
    ("intel-two-sockets", "kernel.realtime", "recorded", {"sys/kernel/realtime": "1"}),
    ("intel-two-sockets", "kernel.numa_balancing", "pass", {"proc/sys/kernel/numa_balancing": "0"}),
    ("intel-two-sockets", "load.pressure_cpu", "differs", {"proc/pressure/cpu": "some avg10=9.17 avg60=0 total=1"}),
    ("intel-two-sockets", "load.pressure_memory", "differs", {"proc/pressure/memory": "some avg10=2.00 total=1"}),
    ("intel-two-sockets", "load.pressure_io", "unknown", {"proc/pressure/io": "some"}),
    ("intel-two-sockets", "interrupts.managed", "recorded", {
        f"sys/kernel/debug/irq/irqs/{n}": "handler: x\\n            IRQD_AFFINITY_MANAGED" for n in (40, 41, 42)
    }),
    ("intel-two-sockets", "interrupts.affinity", "differs", {"proc/irq/42/effective_affinity_list": "1"}),
    ("intel-two-sockets", "interrupts.affinity", "unknown", {"proc/irq/42/effective_affinity_list": None}),
    ("intel-two-sockets", "pcie.distance", "unknown", {f"{PCI}/numa_node": "-1"}),
    ("intel-two-sockets", "pcie.link_speed", "differs", {
        "sys/devices/pci0000:80/0000:80:02.0/current_link_speed": "2.5 GT/s PCIe"
    }),
    ("intel-two-sockets", "block.layers", "differs", {f"{DRIVE}/slaves/sdb/size": "1"}),
    ("intel-two-sockets", "block.layers", "unknown", {f"{DRIVE}/slaves": None}),
    ("intel-two-sockets", "block.rq_affinity", "unknown", {f"{DRIVE}/queue/rq_affinity": "all"}),
    ("intel-two-sockets", "load.irqbalance", "unknown", {"proc/2": None}),
    ("intel-two-sockets", "load.services", "unknown", {"proc/2/comm": "bash"}),
    ("intel-two-sockets", "nvme.apst", "differs", {f"{PCI}/nvme/nvme0/power/pm_qos_latency_tolerance_us": "auto"}),
    ("intel-two-sockets", "nvme.apst", "unknown", {f"{PCI}/nvme/nvme0/power/pm_qos_latency_tolerance_us": None}),
    ("intel-two-sockets", "virtual.cgroup_io", "unknown", {"proc/self/mountinfo": "30 1 0:26 / / rw - xfs x rw"}),
    ("intel-two-sockets", "pcie.link_width", "unknown", {f"{PCI}/max_link_width": "0"}),
    ("intel-two-sockets", "pcie.link_speed", "unknown", {
        "sys/devices/pci0000:80/0000:80:02.0/current_link_speed": None
    }),
    ("intel-two-sockets", "pcie.distance", "unknown", {"sys/devices/system/node/node0/cpulist": None}),
    ("intel-two-sockets", "virtual.hypervisor", "unknown", {"proc/cpuinfo": "processor\\t: 0"}),
    ("intel-two-sockets", "block.layers", "differs", {f"{DRIVE}/loop/backing_file": "/srv/disk.img"}),
    ("cloud-vm", "pcie.iommu", "unknown", {}),
    ("cloud-vm", "cpu.steal", "pass", {"proc/stat": "cpu  1000 0 500 90000 10 5 5 0 0 0"}),
    ("cloud-vm", "cpu.steal", "unknown", {"proc/stat": "intr 5"}),
    ("arm-server", "sata.link_power", "pass", {
        f"{ATA}/scsi_host/host2/link_power_management_policy": "max_performance"
    }),
    ("arm-server", "sata.queue_depth", "pass", {
        f"{ATA}/target2:0:0/2:0:0:0/block/sda/device/queue_depth": "32"
    }),
]  # fmt: skip
"""Machine, check, verdict, and the files that differ; None: the file or directory is missing."""

AWAKE = Features(
    power=PowerManagement(state=0, workload_hint=None),
    write_cache=True,
    coalescing=Coalescing(completions=0, time_us=0),
    apst=Apst(enabled=False, transitions=()),
    host_memory=HostMemory(enabled=True, size_bytes=None, pieces=None),
)
ASLEEP = replace(
    AWAKE,
    power=PowerManagement(state=3, workload_hint=None),
    coalescing=Coalescing(completions=8, time_us=200),
    apst=Apst(enabled=True, transitions=()),
)
ANSWERS = {
    "nvme.power_state": ("pass", "differs"),
    "nvme.coalescing": ("pass", "differs"),
    "nvme.sleeps_alone": ("pass", "differs"),
    "nvme.critical": ("pass", "differs"),
    "nvme.media_errors": ("pass", "differs"),
    "nvme.hot_minutes": ("pass", "differs"),
    "nvme.volatile_cache": ("recorded", "recorded"),
    "nvme.host_memory_used": ("recorded", "recorded"),
    "nvme.power_on_hours": ("recorded", "recorded"),
    "nvme.worn": ("recorded", "recorded"),
}
"""The verdicts of what a healthy drive that is awake says, and of what an ailing one that sleeps says."""


def test_the_verdicts_are_those_written_down(tree: Tree) -> None:  # noqa: F811
    verdicts = {fact.id: fact.verdict for fact in audit(tree.subject).facts}
    assert set(tree.verdicts) == set(BY_ID), "the machine names every check"
    assert verdicts == tree.verdicts


@pytest.mark.parametrize(("name", "check", "verdict", "changes"), CHANGES)
def test_a_file_decides(
    name: str, check: str, verdict: str, changes: dict[str, str | None], tmp_path: Path
) -> None:
    subject = build(name, tmp_path).subject
    for path, value in changes.items():
        place = tmp_path / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        if value is not None:
            write(place, value)
    fact = BY_ID[check].fact(subject)
    assert (fact.verdict, fact.meaning) == (verdict, fact.meaning)


def answers(features: Features, *, ailing: bool) -> Nvme:
    fields = {"critical_warning": 4, "media_errors": 7, "warning_temp_time": 12} if ailing else {}
    smart = parse_smart(nvme_images.smart(**fields), None)
    return Nvme(controller=None, namespace=None, features=features, smart=smart, errors=None, firmware=None)


@pytest.mark.parametrize(("check", "verdicts"), ANSWERS.items())
def test_what_the_drive_says_decides(check: str, verdicts: tuple[str, str], tmp_path: Path) -> None:
    subject = build("intel-two-sockets", tmp_path).subject
    said = (answers(AWAKE, ailing=False), answers(ASLEEP, ailing=True))
    assert tuple(BY_ID[check].fact(replace(subject, answers=nvme)).verdict for nvme in said) == verdicts
    assert BY_ID[check].fact(subject).meaning == "permission denied: run as root"
    mute = answers(Features(), ailing=False)
    if check not in (
        "nvme.critical",
        "nvme.media_errors",
        "nvme.hot_minutes",
        "nvme.power_on_hours",
        "nvme.worn",
    ):
        assert BY_ID[check].fact(replace(subject, answers=mute)).verdict == "unknown"


def test_every_check_is_tested_for_each_of_its_verdicts(tmp_path: Path) -> None:
    tested: dict[str, set[str]] = {check.id: set() for check in CHECKS}
    for number, name in enumerate(NAMES):
        for check, verdict in build(name, tmp_path / str(number)).verdicts.items():
            tested[check].add(verdict)
    for _, check, verdict, _ in CHANGES:
        tested[check].add(verdict)
    for check, verdicts in ANSWERS.items():
        tested[check] |= set(verdicts)
    lacking = {
        check.id: missing
        for check in CHECKS
        if (missing := ({"pass", "differs"} if check.judge else {"recorded"}) - tested[check.id])
    }
    assert lacking == {}


def test_nothing_passes_on_a_machine_that_shows_nothing(tmp_path: Path) -> None:
    for name, path in (
        ("nvme0n1", "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1"),
        ("sda", "pci0000:00/0000:00:01.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"),
    ):
        root = tmp_path / name
        (root / "sys/devices" / path).mkdir(parents=True)
        (root / "proc").mkdir()
        write(root / "sys/class/block" / name, f"../../devices/{path}", link=True)
        host = Host(sys=root / "sys", proc=root / "proc")
        facts = audit(Subject(host, BlockDevice.by_name(name, host))).facts
        shown = {fact.id: fact.verdict for fact in facts if fact.verdict not in ("unknown", "not applicable")}
        assert shown == {"pcie.path": "recorded"}, "where the drive's directory lies is known"
        assert all(fact.meaning for fact in facts)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"garbage \n\n more", b"-1", b"99999999999999999999"])
def test_no_content_of_a_file_is_a_traceback(content: bytes, tmp_path: Path) -> None:
    subject = build("intel-two-sockets", tmp_path).subject
    for path in [*(tmp_path / "proc").rglob("*"), *(tmp_path / "sys").rglob("*")]:
        if path.is_file() and not path.is_symlink():
            path.write_bytes(content)
    assert len(audit(subject).facts) == len(CHECKS)


def test_a_directory_in_the_place_of_a_file_is_unknown(tmp_path: Path) -> None:
    subject = build("intel-two-sockets", tmp_path).subject
    for path in [*(tmp_path / "proc").rglob("*"), *(tmp_path / "sys").rglob("*")]:
        if path.is_file() and not path.is_symlink():
            path.unlink()
            path.mkdir()
    passing = [fact.id for fact in audit(subject).facts if fact.verdict == "pass"]
    assert passing == ["block.layers"], "the list of layers is a directory, and empty"


def test_every_fact_says_why_and_where_from() -> None:
    assert len(CHECKS) >= 80
    assert len(BY_ID) == len(CHECKS)
    for check in CHECKS:
        assert check.title
        assert check.why
        assert check.source
        assert bool(check.wanted) == (check.judge is not None), check.id


def test_this_machine_is_audited() -> None:
    facts = audit(Subject()).facts
    assert {
        fact.verdict for fact in facts if fact.group in ("nvme", "sata", "pcie", "block", "interrupts")
    } == {"not applicable"}
    assert sum(fact.verdict != "unknown" for fact in facts) > len(facts) // 2
