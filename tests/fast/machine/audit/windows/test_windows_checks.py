"""What is made of Windows' answers: every check, by both values, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.machine.audit.windows import CHECKS, import_audit
from iogauge.schema.audit import Verdict
from iogauge.schema.windows_audit import WindowsFact

BY_ID = {check.id: check for check in CHECKS}
HERE = Path(__file__).parent

SETTINGS = {
    "power.scheme_type": 1, "power.disk_timeout": 0, "power.sleep_timeout": 0, "power.hibernate_timeout": 0,
    "power.display_timeout": 0, "power.wake_timers": 1, "power.javascript_timer": 1, "power.wireless": 0,
    "power.graphics_intel": 2, "power.graphics_switchable": 3, "power.slide_show": 1, "power.usb_suspend": 0,
    "power.power_button": 0, "power.sleep_button": 0, "power.lid": 0, "power.pcie_link": 0, "power.cpu_minimum": 100,
    "power.cpu_maximum": 100, "power.cooling": 1, "power.adaptive_brightness": 0, "power.dimming": 0,
    "power.nvme_tolerance": 0, "power.nvme_tolerance_second": 0, "power.sata_link": 0,
}  # fmt: skip
"""The index on mains that each setting of the power scheme must have."""

OTHERS: dict[str, tuple[list[str], list[str]]] = {
    "power.source": (["2"], ["2", "1"]),
    "services.indexing": (["Disabled, Stopped"], ["Disabled, Running"]),
    "services.defragmentation": (["Disabled"], ["Ready"]),
    "services.restore": (["0"], ["86400"]),
    "services.page_files": ([], [r"D:\pagefile.sys"]),
    "services.prefetch": (["0"], ["3"]),
    "services.superfetch": (["0"], ["1"]),
    "services.sysmain": (["Disabled, Stopped"], ["Manual, Stopped"]),
    "services.hibernation": (["0"], ["1"]),
    "windows.smt": (["8", "8"], ["8", "16"]),
    "windows.hypervisor": (["False"], ["True"]),
    "disk.msi": (["1"], ["0"]),
    "disk.link_speed": (["4", "4"], ["3", "4"]),
    "disk.link_width": (["4", "4"], ["2", "4"]),
}
"""What Windows writes where a setting is as wanted, and where it is not; nothing: it cannot be written."""

MISSING: dict[str, Verdict] = {
    "power.source": "pass", "services.page_files": "pass", "services.restore": "unknown",
    "services.prefetch": "unknown", "services.hibernation": "unknown", "services.defragmentation": "unknown",
    "windows.smt": "unknown", "windows.hypervisor": "unknown",
}  # fmt: skip
"""The verdict where Windows has no such thing; of the others, the check does not apply."""

SERVER: dict[Verdict, str] = {
    "differs": "power.disk_timeout power.display_timeout power.slide_show power.usb_suspend power.power_button"
    " services.defragmentation services.page_files services.prefetch services.sysmain",
    "unknown": "power.dimming services.restore",
    "not applicable": "power.overlay power.graphics_intel power.graphics_switchable services.superfetch",
}
LAPTOP: dict[Verdict, str] = {
    "pass": "power.disk_timeout power.display_timeout power.graphics_switchable power.slide_show power.usb_suspend"
    " power.power_button services.page_files services.prefetch",
    "unknown": "services.defragmentation services.antivirus windows.vbs windows.hvci "
    + " ".join(check.id for check in CHECKS if check.group == "disk"),
    "not applicable": "services.sysmain",
}


def numbers(value: int) -> list[str]:
    """Return what powercfg shows of a setting that is 1 on battery: its limits, then its values."""
    return ["0x00000000", "0xffffffff", "0x00000001", f"0x{value:08x}", "0x00000001"]


def verdict(check: str, values: list[str]) -> Verdict:
    return BY_ID[check].fact(WindowsFact(id=check, values=tuple(values))).verdict


def test_every_check_that_wants_something_is_tested() -> None:
    assert {check.id for check in CHECKS if check.judge} == {*SETTINGS, *OTHERS}
    assert len(BY_ID) == len(CHECKS)
    for check in CHECKS:
        assert check.title
        assert check.why
        assert check.source
        assert bool(check.wanted) == (check.judge is not None), check.id


@pytest.mark.parametrize(("check", "wanted"), SETTINGS.items())
def test_the_value_on_mains_decides(check: str, wanted: int) -> None:
    assert verdict(check, numbers(wanted)) == "pass"
    assert verdict(check, numbers(wanted)[-2:]) == "pass", "settings with names have no limits"
    assert verdict(check, numbers(wanted + 1)) == "differs"
    assert verdict(check, ["0x00000000"]) == verdict(check, ["off", "on"]) == "unknown"
    assert BY_ID[check].change


@pytest.mark.parametrize(("check", "values"), OTHERS.items())
def test_a_value_decides(check: str, values: tuple[list[str], list[str]]) -> None:
    wanted, other = values
    if wanted:
        assert verdict(check, wanted) == "pass"
    assert verdict(check, other) == "differs"


@pytest.mark.parametrize("check", BY_ID)
def test_what_was_not_read_is_unknown(check: str) -> None:
    refused = BY_ID[check].fact(WindowsFact(id=check, problem="Access denied"))
    assert (refused.verdict, refused.meaning, refused.value) == ("unknown", "Access denied", None)
    contradicting = WindowsFact(id=check, values=("1",), missing="none", problem="Access denied")
    assert BY_ID[check].fact(contradicting).verdict == "unknown"
    assert BY_ID[check].fact(WindowsFact(id=check)).verdict == "unknown"
    assert BY_ID[check].fact(WindowsFact(id=check, values=("",))).verdict == "unknown"
    assert BY_ID[check].fact(None).verdict == "unknown"


@pytest.mark.parametrize("check", [check.id for check in CHECKS if check.judge])
def test_what_windows_does_not_have(check: str) -> None:
    fact = BY_ID[check].fact(WindowsFact(id=check, missing="there is no such thing"))
    assert fact.verdict == MISSING.get(check, "not applicable")
    assert "there is no such thing" in fact.meaning


def test_a_recorded_value_without_a_setting_is_what_windows_uses() -> None:
    fact = BY_ID["windows.mitigations"].fact(WindowsFact(id="windows.mitigations", missing="not set"))
    assert (fact.verdict, fact.value, fact.meaning) == ("recorded", "none", "none (not set)")


@pytest.mark.parametrize(("name", "verdicts"), [("server", SERVER), ("laptop", LAPTOP)])
def test_machines(name: str, verdicts: dict[Verdict, str]) -> None:
    audit = import_audit(HERE / f"{name}.json")
    expected = {id_: verdict for verdict, ids in verdicts.items() for id_ in ids.split()}
    usual = "pass" if name == "server" else "differs"
    for fact in audit.facts:
        known = usual if BY_ID[fact.id].judge else "recorded"
        assert fact.verdict == expected.get(fact.id, known), fact.id


def test_meanings_are_in_words() -> None:
    server, laptop = (
        {fact.id: fact.meaning for fact in import_audit(HERE / f"{name}.json").facts}
        for name in ("server", "laptop")
    )
    assert server["power.scheme"] == "High performance"
    assert server["power.cpu_minimum"] == "100 %; on battery 5 %"
    assert server["windows.smt"] == "24 cores, 24 threads"
    assert server["windows.uptime"] == "2.6 h"
    assert server["disk.bus"] == "NVMe"
    assert server["disk.driver"] == "stornvme, Windows' inbox driver of NVMe"
    assert server["disk.link_speed"] == "8 GT/s"
    assert server["services.indexed_volumes"] == "2 of 3"
    assert laptop["power.overlay"] == "none"
    assert laptop["power.source"] == "discharging"
    assert laptop["disk.model"].endswith(
        "name a disk with -Disk: 0 SAMSUNG MZVLB512HBJQ-000L7, 1 WDC WDS100T2B0A"
    )
    link = BY_ID["disk.link_speed"].fact(WindowsFact(id="disk.link_speed", values=("2", "4")))
    assert link.meaning == "5 GT/s of 16 GT/s"
