"""Checks of Windows' power scheme. Wanted is what Intel's evaluation guide sets before it measures.

Sources of the GUIDs and values: Microsoft Learn, Power Policy Settings and Configure power settings, and Component
guidelines, Power management for storage hardware devices (NVMe); ``powercfg /qh`` prints them with their names.
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.machine.audit.check import equals
from iogauge.machine.audit.windows.check import Parse, Reading, Values, WindowsCheck
from iogauge.machine.audit.windows.readings import cim, power_setting, registry

GUIDE = "Intel's evaluation guide, settings of Windows"
_POLICY = "Microsoft: Power Policy Settings"
_NVME = "Microsoft: Power management for storage hardware devices, NVMe"

_NO_SUBGROUP = "fea3413e-7e05-4911-9a71-700331f1c294"
_DISK = "0012ee47-9041-4b5d-9b77-535fba8b1442"
_SLEEP = "238c9fa8-0aad-41ed-83f4-97be242c8f20"
_BUTTONS = "4f971e89-eebd-4455-a8de-9e59040e7347"
_PROCESSOR = "54533251-82be-4824-96c1-47b60b740d00"
_VIDEO = "7516b95f-f776-4464-8c53-06167f40cc99"

_OFF_ON = {0: "off", 1: "on"}
_NEVER = {0: "never"}
_ACTIONS = {0: "nothing", 1: "sleep", 2: "hibernate", 3: "shut down", 4: "turn off the display"}
_BATTERY = {1: "discharging", 4: "low", 5: "critical"} | dict.fromkeys((2, 3, 6, 7, 8, 9), "on mains")
"""Win32_Battery's BatteryStatus; other values do not say whether the machine runs on mains."""


def guids(names: Mapping[str, str]) -> Parse:
    """Name a GUID."""

    def parse(values: Values) -> tuple[Values, str]:
        (value,) = values
        return (value.lower(),), names.get(value.lower(), "")

    return parse


def source_of_power(values: Values) -> tuple[Values, str]:
    """Say whether batteries are in use. Raises ValueError for a status that does not say it."""
    if unknown := {int(value) for value in values} - _BATTERY.keys():
        raise ValueError(unknown)
    return tuple(dict.fromkeys(_BATTERY[int(value)] for value in values)), ""


def _setting(
    name: str,
    title: str,
    place: tuple[str, str],
    why: str,
    *,
    wanted: int | None = None,
    names: Mapping[int, str] | None = None,
    unit: str = "",
    source: str = f"{GUIDE}; {_POLICY}",
    change: str = "powercfg /setacvalueindex SCHEME_CURRENT {} {} {}; powercfg /setactive SCHEME_CURRENT",
) -> WindowsCheck:
    """Return the check of one setting, at its subgroup and GUID; ``wanted`` is its index on mains."""
    subgroup, setting = place
    known = wanted is not None
    words = (names or {}).get(wanted, "") if wanted is not None else ""
    return WindowsCheck(
        id=f"power.{name}", title=title, reading=power_setting(subgroup, setting, names=names, unit=unit),
        wanted=(words or f"{wanted} {unit}".strip()) if known else "", judge=equals(str(wanted)) if known else None,
        why=why, source=source, optional=True,
        change=change.format(subgroup, setting, wanted) if known else "",
    )  # fmt: skip


_SLEEPS = "a run stalls when the machine or a device sleeps"
_ALONE = "it must not disturb or end a run that nobody attends"

CHECKS = (
    WindowsCheck(
        id="power.scheme", title="power scheme",
        reading=Reading(
            "Read-Scheme", "powercfg /getactivescheme",
            guids({
                "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "High performance",
                "e9a42b02-d5df-448d-aa00-03f14749eb61": "Ultimate performance",
                "381b4222-f694-41f0-9685-ff5bb260df2e": "Balanced",
                "a1841308-3541-4fab-bc81-f71556f20b4a": "Power saver",
            }),
        ),
        why="the scheme holds the settings below; its type, not its name, says what Windows makes of it",
        source=_POLICY,
    ),
    _setting(
        "scheme_type", "type of the power scheme", (_NO_SUBGROUP, "245d8541-3943-4422-b025-13a784f679b7"),
        "drivers choose their own power management by it", wanted=1,
        names={0: "power saver", 1: "high performance", 2: "balanced"}, change="powercfg /setactive SCHEME_MIN",
    ),
    WindowsCheck(
        id="power.overlay", title="power mode (the slider)",
        reading=registry(
            r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes", "ActiveOverlayAcPowerScheme",
            parse=guids({
                "00000000-0000-0000-0000-000000000000": "none",
                "ded574b5-45a0-4f42-8737-46345c09c238": "best performance",
                "961cc777-2547-4f9d-8174-7d86181b8a7a": "best power efficiency",
            }),
        ),
        optional=True, why="it changes settings of the processor on top of the scheme",
        source="Microsoft: Customize the Windows performance power slider",
    ),
    WindowsCheck(
        id="power.source", title="source of power",
        reading=cim("Win32_Battery", "BatteryStatus", parse=source_of_power),
        wanted="on mains", judge=equals("on mains", "no battery"), if_missing="no battery",
        why="on battery, other values of all settings below are in force", source="Microsoft: Win32_Battery",
        change="plug the machine in",
    ),
    _setting(
        "disk_timeout", "disk turned off after", (_DISK, "6738e2c4-e8a5-4a42-b16a-e040e769756e"), _SLEEPS,
        wanted=0, names=_NEVER, unit="s",
    ),
    _setting(
        "sleep_timeout", "sleep after", (_SLEEP, "29f6c1db-86da-48c5-9fdb-f2b67b1f44da"), _SLEEPS,
        wanted=0, names=_NEVER, unit="s",
    ),
    _setting(
        "hibernate_timeout", "hibernation after", (_SLEEP, "9d7815a6-7ee4-497e-8888-515a05f02364"), _SLEEPS,
        wanted=0, names=_NEVER, unit="s",
    ),
    _setting(
        "display_timeout", "display turned off after", (_VIDEO, "3c0bc021-c8a8-4e07-a973-6b14cbcb2b7e"), _ALONE,
        wanted=0, names=_NEVER, unit="s",
    ),
    _setting(
        "wake_timers", "wake timers", (_SLEEP, "bd3b718a-0680-4d9d-8ab2-e1d2b4ac806d"),
        "a machine that sleeps after all wakes for what was scheduled", wanted=1,
        names={0: "off", 1: "on", 2: "important ones only"},
    ),
    _setting(
        "javascript_timer", "JavaScript timer",
        ("02f815b5-a5cf-4c84-bf20-649d1f75d3d8", "4c793e7d-a264-42e1-87d3-7a0d2f523ccd"),
        "the guide sets every setting of the scheme to performance, this one too", wanted=1,
        names={0: "maximum power saving", 1: "maximum performance"},
    ),
    _setting(
        "wireless", "wireless adapter",
        ("19cbb8fa-5279-450e-9fac-8a3d5fedd0c1", "12bbebe6-58d6-4636-95bb-3217ef867c1a"),
        "a driver that changes its power state works during a run", wanted=0,
        names={0: "maximum performance", 1: "low power saving", 2: "medium power saving", 3: "maximum power saving"},
    ),
    _setting(
        "graphics_intel", "graphics (Intel)",
        ("44f3beca-a7c0-460e-9df2-bb8b99e0cba6", "3619c3f2-afb2-4afc-b0e9-e7fef372de36"),
        "graphics in the processor share its power and its heat", wanted=2,
        names={0: "maximum battery life", 1: "balanced", 2: "maximum performance"},
    ),
    _setting(
        "graphics_switchable", "graphics (switchable)",
        ("e276e160-7cb0-43c6-b20b-73f5dce39954", "a1662ab2-9d34-4e53-ba8b-2639b9e20857"),
        "switching between two graphics processors takes the machine's time", wanted=3,
        names={0: "power saving forced", 1: "power saving", 2: "performance", 3: "maximum performance"},
    ),
    _setting(
        "slide_show", "slide show on the desktop",
        ("0d7dbae2-4294-402a-ba8e-26777e8488cd", "309dce9b-bef4-4119-9921-a851fb12f0f4"),
        "each picture is read and drawn during a run", wanted=1, names={0: "available", 1: "paused"},
    ),
    _setting(
        "usb_suspend", "USB selective suspend",
        ("2a737441-1930-4402-8d77-b2bebba308a3", "48e6b7a6-50f5-4782-a5d4-53bb8f07e226"),
        "a device that wakes interrupts the machine", wanted=0, names=_OFF_ON,
    ),
    _setting(
        "power_button", "power button", (_BUTTONS, "7648efa3-dd9c-4e3e-b566-50f929386280"), _ALONE,
        wanted=0, names=_ACTIONS,
    ),
    _setting(
        "sleep_button", "sleep button", (_BUTTONS, "96996bc0-ad50-47ec-923b-6f41874dd9eb"), _ALONE,
        wanted=0, names=_ACTIONS,
    ),
    _setting(
        "lid", "closing the lid", (_BUTTONS, "5ca83367-6e45-459f-a27b-476b1d01c936"), _ALONE, wanted=0, names=_ACTIONS,
    ),
    _setting(
        "pcie_link", "PCIe link power management",
        ("501a4d13-42af-4429-9fd1-a8218c268e20", "ee12f906-d277-404b-b6da-e5fa1a576df5"),
        "a link that sleeps must wake before a request", wanted=0,
        names={0: "off", 1: "moderate power saving", 2: "maximum power saving"},
    ),
    _setting(
        "cpu_minimum", "lowest processor state", (_PROCESSOR, "893dee8e-2bef-41e0-89c6-b55d0929964c"),
        "below 100 % the processor clocks down between requests", wanted=100, unit="%",
    ),
    _setting(
        "cpu_maximum", "highest processor state", (_PROCESSOR, "bc5038f7-23e0-4960-96da-33abaf5935ec"),
        "below 100 % the processor is held back", wanted=100, unit="%",
    ),
    _setting(
        "cooling", "cooling", (_PROCESSOR, "94d3a615-a899-4ac5-ae2b-e4d8f634367f"),
        "passive cooling slows the processor before the fan runs", wanted=1, names={0: "passive", 1: "active"},
    ),
    _setting(
        "cpu_parking", "processors that are never parked", (_PROCESSOR, "0cc5b647-c1df-4637-891a-dec35c318583"),
        "a parked processor must be woken for a request", unit="%", source="Microsoft: Static configuration options for"
        " core parking, CPMinCores",
    ),
    _setting(
        "cpu_idle", "idle states of processors off", (_PROCESSOR, "5d76a2ca-e8c0-402f-a133-2158492d58ad"),
        "a processor that sleeps must wake before it can handle a completion; with them off, it never sleeps",
        names=_OFF_ON, source=_POLICY,
    ),
    _setting(
        "cpu_boost", "boost mode of processors", (_PROCESSOR, "be337238-0d82-4146-a960-4f3749d470c7"),
        "boost depends on heat and on other cores: the guide measures with turbo off", source=_POLICY,
        names={0: "off", 1: "on", 2: "aggressive", 3: "efficient", 4: "efficient, aggressive"},
    ),
    _setting(
        "cpu_preference", "energy preference of processors", (_PROCESSOR, "36687f9e-e3a5-4dbf-b1dc-15eb381c6863"),
        "from 0, performance, to 100, power saving", unit="%", source=_POLICY,
    ),
    _setting(
        "adaptive_brightness", "adaptive brightness", (_VIDEO, "fbd9aa66-9553-4097-ba44-ed6e9d65eab8"),
        "a sensor must not change the machine during a run", wanted=0, names=_OFF_ON,
    ),
    _setting(
        "dimming", "display dimmed after", (_VIDEO, "17aaa29b-8b43-4b94-aafe-35f64daaf1ee"), _ALONE,
        wanted=0, names=_NEVER, unit="s",
    ),
    _setting(
        "brightness", "brightness", (_VIDEO, "aded5e82-b909-4619-9949-f5d71dac0bcb"),
        "it should be the same whenever power is measured", unit="%",
    ),
    _setting(
        "nvme_tolerance", "first sleep of NVMe drives: latency allowed",
        (_DISK, "fc95af4d-40e7-4b6d-835a-56d131dbc80e"),
        "the inbox driver puts a drive that is idle into a state that takes up to this long to leave", wanted=0,
        unit="ms", source=_NVME,
    ),
    _setting(
        "nvme_tolerance_second", "second sleep of NVMe drives: latency allowed",
        (_DISK, "dbc9e238-6de9-49e3-92cd-8c2b4946b472"),
        "as of the first sleep, after a longer idle time", wanted=0, unit="ms", source=_NVME,
    ),
    _setting(
        "nvme_idle", "first sleep of NVMe drives after", (_DISK, "d639518a-e56d-4345-8af2-b9f32fb26109"),
        "the shorter, the more requests find the drive asleep", unit="ms", source=_NVME,
    ),
    _setting(
        "nvme_idle_second", "second sleep of NVMe drives after", (_DISK, "d3d55efd-c1ff-424e-9dc3-441be7833010"),
        "the shorter, the more requests find the drive asleep", unit="ms", source=_NVME,
    ),
    _setting(
        "sata_link", "SATA link power management", (_DISK, "0b2d69d7-a2a1-449c-9680-f91c70521c60"),
        "a link in Partial takes 10 us to wake, in Slumber 10 ms", wanted=0,
        names={0: "active", 1: "HIPM", 2: "HIPM and DIPM", 3: "DIPM", 4: "lowest"},
        source="Microsoft: Power Policy Settings; AnandTech's power test",
    ),
)  # fmt: skip
