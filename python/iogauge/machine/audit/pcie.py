"""Checks of the path between CPU and drive: the PCIe link, its power states, the IOMMU, and distance.

Sources: the kernel's Documentation/ABI/testing/sysfs-bus-pci and sysfs-kernel-iommu_groups, and
Documentation/PCI/pcieaer-howto; PCI Express Base Specification 5.0, 7.5.3 (the capability structure), for payload and
read request sizes.
"""

from __future__ import annotations

import struct
from pathlib import Path

from iogauge.machine.audit.check import (
    Check,
    Look,
    Seen,
    all_of,
    equals,
    file,
    files,
    read_value,
    without_drive,
    without_pci,
)
from iogauge.machine.audit.pci_names import identity, is_chipset, pci_name
from iogauge.machine.audit.subject import Subject
from iogauge.machine.interrupts import cpus_in

_PCI = "/sys/bus/pci/devices/{pci}"
_SYSFS = "Documentation/ABI/testing/sysfs-bus-pci"
_EXPRESS = 0x10
"""The id of the PCI Express capability."""
_CONTROL = 8
"""The offset of Device Control in it: relaxed ordering in bit 4, payload in bits 5 to 7, read requests in 12 to 14."""
_LINK = 12
"""The offset of Link Capabilities: the exit latency of L1 in bits 15 to 17."""


def link(what: str) -> Look:
    """Look at the ``speed`` or ``width`` of the drive's link and its maximum, and of the links up to the root port."""

    def look(subject: Subject) -> Seen:
        assert subject.pci is not None
        path = f"/sys/bus/pci/devices/{subject.pci.name}/{{current,max}}_link_{what}"
        function = subject.pci
        (now, why), (most, why_not) = (
            read_value(function / f"{state}_link_{what}") for state in ("current", "max")
        )
        if now is None or most is None:
            return Seen(path, problem=why or why_not)
        ports = [
            (port.name, read_value(port / f"current_link_{what}")[0] or "") for port in subject.pci_path[:-1]
        ]
        if not (_amount(most) and all(_amount(value) for _, value in ports)):
            return Seen(path, problem="the maximum, or a link above the drive's, is not known")
        narrow = [f"{name} {value}" for name, value in ports if _amount(value) < _amount(now)]
        text = now if _amount(now) >= _amount(most) else f"{now} of {most}"
        return Seen(path, ("; ".join([text, *(f"below it at {port}" for port in narrow)]),))

    return look


def _amount(text: str) -> float:
    """Return the number that a speed or a width begins with; 0 where there is none."""
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return 0.0


def _full(text: str) -> bool:
    if not _amount(text):
        raise ValueError(text)
    return " of " not in text and "below" not in text


def bridges(subject: Subject) -> Seen:
    """Look at the PCI functions between the root complex and the drive: one port is direct, more are a switch.

    Nothing but its name tells a port of the chipset from one of the processor.
    """
    assert subject.pci is not None
    ports = subject.pci_path[:-1]
    chain = " > ".join(path.name for path in subject.pci_path)
    path = f"/sys/bus/pci/devices/{subject.pci.name}"
    if not ports:
        return Seen(path, (chain,), meaning=f"part of the root complex: {chain}")
    ids = [identity(port) for port in ports]
    names = [pci_name(subject.root, id_) if id_ else "" for id_ in ids]
    root_port = ports[0].name.partition(":")[2]
    said = ", ".join(filter(None, (ids[0], names[0])))
    words = f"at root port {root_port}" + (f" ({said})" if said else "")
    if len(ports) > 1:
        words = f"behind {len(ports)} bridges, {words}"
    if any(map(is_chipset, names)):
        words = f"behind the chipset, {words}"
    return Seen(path, (chain,), meaning=f"{words}: {chain}")


def states_of_link(subject: Subject) -> Seen:
    """Look at which power-saving states of the drive's link are enabled."""
    assert subject.pci is not None
    path = f"/sys/bus/pci/devices/{subject.pci.name}/link/*_aspm"
    enabled: list[str] = []
    files_ = sorted((subject.pci / "link").glob("*_aspm"))
    for entry in files_:
        value, why = read_value(entry)
        if value is None:
            return Seen(path, problem=why)
        if value != "0":
            enabled.append(entry.name.removesuffix("_aspm").upper())
    return Seen(path, (", ".join(enabled) or "none",)) if files_ else Seen(path)


def errors(name: str) -> Look:
    """Look at the total of a counter of PCIe errors."""

    def look(subject: Subject) -> Seen:
        assert subject.pci is not None
        path = f"/sys/bus/pci/devices/{subject.pci.name}/aer_dev_{name}"
        text, why = read_value(subject.pci / f"aer_dev_{name}")
        totals = [line.split()[-1] for line in (text or "").splitlines() if line.startswith("TOTAL")]
        return Seen(path, (totals[0],)) if totals else Seen(path, problem=why or "no total")

    return look


def control(subject: Subject) -> tuple[int | None, str]:
    """Return the Device Control register of the drive's PCI Express capability, and why there is none."""
    return _register(subject, _CONTROL, "<H")


def link_capabilities(subject: Subject) -> tuple[int | None, str]:
    """Return the Link Capabilities register of the drive's PCI Express capability, and why there is none."""
    return _register(subject, _LINK, "<I")


def _register(subject: Subject, offset: int, kind: str) -> tuple[int | None, str]:
    assert subject.pci is not None
    try:
        config = (subject.pci / "config").read_bytes()
    except PermissionError:
        return None, "permission denied: run as root"
    except OSError as error:
        return None, (error.strerror or str(error)).lower()
    if len(config) <= 64:
        return None, "only root may read beyond the first 64 bytes"
    place, seen = config[0x34] & 0xFC, set[int]()
    while place and place + offset + struct.calcsize(kind) <= len(config) and place not in seen:
        seen.add(place)
        if config[place] == _EXPRESS:
            return struct.unpack_from(kind, config, place + offset)[0], ""
        place = config[place + 1] & 0xFC
    return None, "no PCI Express capability"


def payload(shift: int, what: str) -> Look:
    """Look at a size in Device Control, in bytes."""

    def look(subject: Subject) -> Seen:
        assert subject.pci is not None
        register, why = control(subject)
        path = f"/sys/bus/pci/devices/{subject.pci.name}/config"
        if register is None:
            return Seen(path, problem=why)
        size = 128 << (register >> shift & 7)
        return Seen(path, (str(size),), meaning=f"{what} of at most {size} bytes")

    return look


def relaxed_ordering(subject: Subject) -> Seen:
    """Look at whether the drive may let its writes to memory overtake each other."""
    assert subject.pci is not None
    register, why = control(subject)
    path = f"/sys/bus/pci/devices/{subject.pci.name}/config"
    return (
        Seen(path, problem=why) if register is None else Seen(path, ("on" if register >> 4 & 1 else "off",))
    )


def iommu(subject: Subject) -> Seen:
    """Look at how the IOMMU translates the drive's addresses."""
    assert subject.pci is not None
    path = f"/sys/bus/pci/devices/{subject.pci.name}/iommu_group/type"
    group = subject.pci / "iommu_group"
    if group.exists():
        value, why = read_value(group / "type")
        return Seen(path, (value,)) if value else Seen(path, problem=why or "empty")
    if subject.hypervisor:
        return Seen(path, problem="a guest does not see the host's IOMMU")
    if (subject.host.sys / "kernel/iommu_groups").is_dir():
        return Seen(path, ("no IOMMU",))
    return Seen(path)


def distance(subject: Subject) -> Seen:
    """Look at how far the drive's NUMA node is from the CPUs that iogauge may use; 10: the same node."""
    assert subject.pci is not None
    path = "/sys/devices/system/node/node*/distance"
    nodes = subject.host.sys / "devices/system/node"
    home, why = read_value(subject.pci / "numa_node")
    if home is None:
        return Seen(path, problem=why)
    online, why = read_value(nodes / "online")
    if online is None:
        return Seen(path, problem=why)
    if online == "0":
        return Seen(path, ("10",), meaning="the machine has one node")
    if not home.isdecimal():
        return Seen(path, problem="the firmware does not say which node the drive is at")
    text, why = read_value(nodes / f"node{home}/distance")
    fields = (text or "").split()
    if not fields or not all(map(str.isdecimal, fields)):
        return Seen(path, problem=why or "not numbers")
    try:
        used = _nodes_used(nodes, subject.cpus)
    except (OSError, ValueError) as error:
        return Seen(path, problem=str(error))
    if not used or max(used) >= len(fields):
        return Seen(path, problem="the CPUs' nodes are not known")
    farthest = max(int(fields[node]) for node in used)
    where = ", ".join(map(str, sorted(used)))
    return Seen(path, (str(farthest),), meaning=f"{farthest} from node {home} to the CPUs of node {where}")


def _nodes_used(nodes: Path, allowed: frozenset[int]) -> set[int]:
    """Return the nodes of these CPUs. Raises OSError or ValueError if a node's CPUs are not known."""
    used: set[int] = set()
    for folder in nodes.glob("node[0-9]*"):
        text, why = read_value(folder / "cpulist")
        if text is None:
            raise OSError(why)
        if cpus_in(text) & allowed:
            used.add(int(folder.name.removeprefix("node")))
    return used


def _without_apm(subject: Subject) -> str:
    hidden = subject.hypervisor and not (subject.host.sys / "module/pcie_aspm").is_dir()
    return "the hypervisor has the link" if hidden else ""


CHECKS = (
    Check(
        id="pcie.path", weight=2, title="path to the drive", look=bridges, excused=without_pci,
        why="a chipset or a switch adds its own time, and shares its link with others", source=_SYSFS,
    ),
    Check(
        id="pcie.link_speed", weight=2,
        title="link speed", look=link("speed"), wanted="the drive's maximum, on every link",
        judge=_full, excused=without_pci, why="a slower link takes longer for each transfer and limits the rate",
        source=_SYSFS + "; Intel's evaluation guide, platform",
    ),
    Check(
        id="pcie.link_width", weight=2,
        title="link width", look=link("width"), wanted="the drive's maximum, on every link",
        judge=_full, excused=without_pci, why="fewer lanes limit the rate", source=_SYSFS,
    ),
    Check(
        id="pcie.aspm_policy", weight=2, title="link power management, policy",
        look=file("sys/module/pcie_aspm/parameters/policy", chosen=True), wanted="performance",
        judge=equals("performance"), excused=all_of(without_drive, _without_apm),
        why="a link that sleeps must wake before a request", source="kernel-parameters: pcie_aspm",
        change="echo performance > /sys/module/pcie_aspm/parameters/policy",
    ),
    Check(
        id="pcie.aspm", weight=3,
        title="link power states enabled", look=states_of_link, wanted="none", judge=equals("none"),
        excused=without_pci, why="L0s and L1 take microseconds to leave", source=_SYSFS,
        change="for f in " + _PCI + "/link/*_aspm; do echo 0 > $f; done",
    ),
    Check(
        id="pcie.runtime_power", weight=2,
        title="runtime power management", look=file("{pci}/power/control"), wanted="on",
        judge=equals("on"), excused=without_pci, why="auto lets the kernel suspend an idle drive",
        source="Documentation/ABI/testing/sysfs-devices-power", change="echo on > " + _PCI + "/power/control",
    ),
    Check(
        id="pcie.errors_corrected", title="corrected errors of the link", look=errors("correctable"), wanted="0",
        judge=lambda value: int(value) == 0, excused=without_pci, why="each corrected error repeats a transfer",
        source="Documentation/PCI/pcieaer-howto.rst",
    ),
    Check(
        id="pcie.errors_fatal", title="fatal errors of the link", look=errors("fatal"), wanted="0",
        judge=lambda value: int(value) == 0, excused=without_pci, why="the link was reset",
        source="Documentation/PCI/pcieaer-howto.rst",
    ),
    Check(
        id="pcie.payload", weight=1,
        title="largest payload (MPS), bytes", look=payload(5, "payloads"), excused=without_pci,
        why="small payloads cost more packets for large blocks", source="PCI Express Base Specification 5.0, 7.5.3.4",
    ),
    Check(
        id="pcie.read_request", weight=1, title="largest read request (MRRS), bytes", look=payload(12, "read requests"),
        excused=without_pci, why="the drive reads the data of a write in parts of at most this size",
        source="PCI Express Base Specification 5.0, 7.5.3.4",
    ),
    Check(
        id="pcie.relaxed_ordering", weight=1, title="relaxed ordering", look=relaxed_ordering, excused=without_pci,
        why="on some machines strict order holds back the drive's transfers",
        source="PCI Express Base Specification 5.0, 7.5.3.4",
    ),
    Check(
        id="pcie.iommu", weight=3,
        title="IOMMU", look=iommu, wanted="identity, or none", judge=equals("identity", "no IOMMU"),
        excused=without_pci, why="translation maps and unmaps memory for each request; strict mode also waits for it",
        source="sysfs-kernel-iommu_groups; kernel-parameters: iommu.passthrough",
        change="start the kernel with iommu.passthrough=1",
    ),
    Check(
        id="pcie.numa_node", title="NUMA node of the drive", look=file("{pci}/numa_node"), excused=without_pci,
        why="-1: the firmware does not say", source=_SYSFS,
    ),
    Check(
        id="pcie.distance", weight=2,
        title="distance to the farthest CPU used", look=distance, wanted="10 (the same node)",
        judge=lambda value: int(value) == 10, excused=without_pci,
        why="requests from another node cross the link between processors",
        source="numastat.rst; ACPI, System Locality Information Table",
        change="pin iogauge: taskset -c $(cat " + _PCI + "/local_cpulist) iogauge ...",
    ),
    Check(
        id="pcie.local_cpus", title="CPUs near the drive", look=files("{pci}/local_cpulist"), excused=without_pci,
        why="workers on them are nearest", source=_SYSFS,
    ),
)  # fmt: skip
