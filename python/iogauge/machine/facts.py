"""Describes the computer and operating system in front of the drive, so that a result can be understood later.

The facts come from proc, sysfs and cgroups. Nothing is changed and nothing is guessed: an unreadable fact is None.
Source: proc(5), cgroups(7), Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from iogauge.machine.cgroups import own_groups
from iogauge.schema import MachineFacts
from iogauge.target.users.sysfs import HOST, Host, read_text

_HYPERVISORS = (
    "qemu", "kvm", "vmware", "virtualbox", "innotek", "xen", "bochs", "parallels", "bhyve",
    "microsoft corporation virtual", "apple virtualization",
)  # fmt: skip
"""Firmware of these is of virtual machines only."""
_CLOUDS = ("amazon ec2", "google", "openstack", "digitalocean", "hetzner", "nutanix")
"""Firmware of these is of virtual machines, and of machines that are rented as a whole."""
_METAL = re.compile(r"\bmetal\b", re.IGNORECASE)
"""In the product's name of a machine without a hypervisor, such as ``c7g.metal``."""


def machine_facts(host: Host = HOST) -> MachineFacts:
    """Describe this machine.

    >>> machine_facts().cpus >= 1
    True
    """
    name = os.uname()
    return MachineFacts(
        hostname=name.nodename,
        kernel=f"{name.sysname} {name.release} {name.machine}",
        cpu=_cpu(host),
        cpus=os.cpu_count() or 1,
        cpus_allowed=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        virtualised=virtualised(host),
        clocksource=read_text(host.sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        governor=_governor(host),
        limits=tuple(cgroup_limits(host)),
        python=platform.python_version(),
        iogauge=_version(),
        git=_commit(),
    )


def virtualised(host: Host = HOST) -> str | None:
    """Return the evidence that this machine is virtual; None if there is none.

    Firmware that names a cloud is no evidence where the CPU could tell: x86 has a flag for it. On Arm there are only
    the names, and those of machines without a hypervisor say ``metal``.
    """
    folder = host.sys / "class/dmi/id"
    named = " ".join(filter(None, (read_text(folder / "sys_vendor"), read_text(folder / "product_name"))))
    emulated, cloud = (any(maker in named.lower() for maker in makers) for makers in (_HYPERVISORS, _CLOUDS))
    hypervisor = read_text(host.sys / "hypervisor" / "type")
    flags = next(_cpuinfo(host, "flags"), "").split()
    if "hypervisor" in flags:
        maker = named if emulated or cloud else hypervisor
        return f"the CPU's hypervisor flag ({maker or 'maker not named'})"
    if hypervisor:
        return f"/sys/hypervisor: {hypervisor}"
    if emulated or (cloud and not flags and not _METAL.search(named)):
        return f"firmware: {named}"
    tree = read_text(host.proc / "device-tree" / "hypervisor" / "compatible")
    return f"device tree: {tree}" if tree else None


def cgroup_limits(host: Host = HOST) -> Iterator[str]:
    """Yield this process's cgroup limits on CPU time and I/O, such as ``cpu.max=50000 100000 (in /a)``.

    The limits of a group and of all its parents hold.
    """
    for group in own_groups(host):
        for limit in _unified(group.directory) if group.unified else _legacy(group.directory):
            yield f"{limit} (in {group.name})"


def _unified(folder: Path) -> Iterator[str]:
    for name in ("cpu.max", "io.max"):
        value = read_text(folder / name)
        if value and not value.startswith("max"):
            yield f"{name}={'; '.join(value.splitlines())}"


def _legacy(folder: Path) -> Iterator[str]:
    quota = read_text(folder / "cpu.cfs_quota_us")
    if quota and int(quota) > 0:
        yield f"cpu.cfs_quota_us={quota}"
    for path in sorted(folder.glob("blkio.throttle.*_device")):
        if value := read_text(path):
            yield f"{path.name}={'; '.join(value.splitlines())}"


def _cpuinfo(host: Host, key: str) -> Iterator[str]:
    for line in (read_text(host.proc / "cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            yield value.strip()


def _cpu(host: Host) -> str:
    return next(_cpuinfo(host, "model name"), "") or platform.processor() or platform.machine()


def _governor(host: Host) -> str | None:
    """Return the scaling governor, or several if CPUs differ."""
    files = (host.sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({text for path in files if (text := read_text(path))})) or None


def _version() -> str:
    try:
        return importlib.metadata.version("iogauge")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _commit() -> str | None:
    """Return the commit of the checkout that iogauge runs from; None for an installed package."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or not (root / "crates" / "core").is_dir():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
