"""Idle states: those of NVMe drives and models, of SATA and PCIe links, and of CPUs; what cannot be read is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.drive import Drive
from iogauge.machine.idle_states import declared_by, idle_states, of_drive
from iogauge.machine.nvme.features import Apst, IdleTransition
from iogauge.machine.nvme.read import Nvme, read_nvme
from iogauge.machine.unread import Unread
from iogauge.schema import IdleState, TargetFacts
from iogauge.target import open_target
from iogauge.target.users.sysfs import Host
from tests import builders
from tests import nvme_images as images
from tests.audit_trees import Tree, build, write
from tests.fast.machine.test_drive import sata

MS = 10**6


def laptop() -> Nvme:
    return read_nvme(images.laptop())[0]


def facts(tree: Tree) -> TargetFacts:
    assert tree.subject.drive is not None
    return builders.target("/dev/drive", kind="block", device=tree.subject.drive.name)


def test_an_nvme_drive_enters_its_states_one_after_the_other() -> None:
    states, why = of_drive(Drive(builders.target(), None, nvme=laptop()))
    assert why == ""
    assert [(state.name, state.enabled, state.after_ns, state.exit_ns) for state in states] == [
        ("power state 0", False, None, None),
        ("power state 1", False, None, None),
        ("power state 2", True, 100 * MS, 1500_000),
        ("power state 3", True, 2100 * MS, 45 * MS),
    ]
    assert [state.operational for state in states] == [True, True, False, False]
    assert (states[0].power_W, states[3].power_W) == (0.45, 0.005)  # the idle power, or else the highest


@pytest.mark.parametrize(("apst", "enabled"), [(Apst(False, ()), False), (None, None)])
def test_a_drive_that_may_not_or_does_not_say(apst: Apst | None, enabled: bool | None) -> None:
    nvme = laptop()
    nvme = replace(nvme, features=replace(nvme.features, apst=apst))
    states, _ = of_drive(Drive(builders.target(), None, nvme=nvme))
    assert {state.enabled for state in states} == {enabled}


@given(
    st.lists(
        st.builds(IdleTransition, st.integers(0, 31), st.integers(0, 31), st.integers(0, 2**24)), max_size=40
    )
)
def test_any_table_of_transitions_ends(transitions: list[IdleTransition]) -> None:
    nvme = laptop()
    nvme = replace(nvme, features=replace(nvme.features, apst=Apst(True, tuple(transitions))))
    states, _ = of_drive(Drive(builders.target(), None, nvme=nvme))
    assert [state.name for state in states] == [f"power state {number}" for number in range(4)]


def test_why_a_drive_says_nothing() -> None:
    silent = Drive(
        builders.target(), None, unread=(Unread("power states", "permission denied", "run as root"),)
    )
    assert of_drive(silent) == ((), "permission denied")
    assert of_drive(Drive(builders.target(), None, restriction="it is virtual")) == ((), "it is virtual")


def test_a_model_declares_its_states() -> None:
    with open_target("model:mx300", write=False) as opened:
        target = opened.facts
    (slumber,) = idle_states(target).states
    assert (slumber.after_ns, slumber.entry_ns, slumber.exit_ns, slumber.power_W) == (
        10**9,
        10 * MS,
        10 * MS,
        0.08,
    )
    assert idle_states(target).unknown == ()


def test_a_sata_link_sleeps_by_its_policy(tmp_path: Path) -> None:
    port = sata(tmp_path)
    host = Host(sys=tmp_path)
    target = builders.target(str(tmp_path))
    both = idle_states(target, host)
    assert [(state.name, state.exit_ns) for state in both.states] == [
        ("SATA Partial", 10_000),
        ("SATA Slumber", 10 * MS),
    ]
    assert both.unknown == (
        "the drive's idle states are unknown: SATA drives do not declare any",
        "the CPUs' idle states are unknown: Linux shows none",
    )
    policy = port / "host0/scsi_host/host0/link_power_management_policy"
    policy.write_text("max_performance\n")
    assert idle_states(target, host).states == ()
    policy.write_text("keep_firmware_settings\n")
    assert any("the SATA link is managed" in why for why in idle_states(target, host).unknown)


def test_a_pcie_link_and_cpus(tmp_path: Path) -> None:
    tree = build("amd-server", tmp_path)
    host = tree.subject.host
    states = declared_by(Drive(facts(tree), None, nvme=laptop()), host).states[4:]
    assert states == (
        IdleState(part="link", name="PCIe L1", enabled=True, exit_ns=states[0].exit_ns),
        IdleState(part="CPU", name="CPU idle state C1", enabled=True, exit_ns=1_000),
        IdleState(part="CPU", name="CPU idle state C2", enabled=True, exit_ns=800_000),
    )


@pytest.mark.parametrize(("code", "exit_ns"), [(0, 1_000), (3, 8_000), (6, 64_000), (7, None)])
def test_the_exit_latency_of_l1_is_a_code(tmp_path: Path, code: int, exit_ns: int | None) -> None:
    tree = build("amd-server", tmp_path)
    config = bytearray(128)
    config[0x34], config[0x40] = 0x40, 0x10
    config[0x4C:0x50] = (code << 15).to_bytes(4, "little")
    assert tree.subject.pci is not None
    write(tree.subject.pci / "config", f"hex {config.hex()}")
    (link,) = (
        state
        for state in declared_by(Drive(facts(tree), None), tree.subject.host).states
        if state.part == "link"
    )
    assert link.exit_ns == exit_ns


def test_a_target_without_a_drive_has_the_cpus_alone(tmp_path: Path) -> None:
    tree = build("amd-server", tmp_path)
    declared = idle_states(builders.target("/nowhere"), tree.subject.host)
    assert {state.part for state in declared.states} == {"CPU"}
    assert len(declared.unknown) == 2
