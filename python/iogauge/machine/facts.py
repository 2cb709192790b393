"""Describes the computer and operating system in front of the drive, so that a result can be understood later.

The facts come from proc, sysfs and cgroups. Nothing is changed and nothing is guessed: an unreadable fact is None.
Source: proc(5), cgroups(7), Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from iogauge.schema import MachineFacts
from iogauge.target.users.mounts import Mount, mounts_of
from iogauge.target.users.sysfs import HOST, Host, read_text

_VIRTUAL_VENDORS = (
    "qemu", "kvm", "vmware", "virtualbox", "innotek", "xen", "bochs", "parallels", "bhyve", "amazon ec2", "google",
    "openstack", "digitalocean", "hetzner", "nutanix", "microsoft corporation virtual", "apple virtualization",
)  # fmt: skip


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

    On x86 the CPU's hypervisor flag decides, and firmware names give the maker. On Arm there are only the names.
    """
    folder = host.sys / "class/dmi/id"
    named = " ".join(filter(None, (read_text(folder / "sys_vendor"), read_text(folder / "product_name"))))
    maker = named if any(vendor in named.lower() for vendor in _VIRTUAL_VENDORS) else None
    hypervisor = read_text(host.sys / "hypervisor" / "type")
    flags = next(_cpuinfo(host, "flags"), "").split()
    if "hypervisor" in flags:
        return f"the CPU's hypervisor flag ({maker or hypervisor or 'maker not named'})"
    if hypervisor:
        return f"/sys/hypervisor: {hypervisor}"
    if maker:
        return f"firmware: {maker}"
    tree = read_text(host.proc / "device-tree" / "hypervisor" / "compatible")
    return f"device tree: {tree}" if tree else None


def cgroup_limits(host: Host = HOST) -> Iterator[str]:
    """Yield this process's cgroup limits on CPU time and I/O, such as ``cpu.max=50000 100000 (in /a)``."""
    hierarchies = {mount.kind: mount for mount in mounts_of(host) if mount.kind == "cgroup2"}
    controllers = [mount for mount in mounts_of(host) if mount.kind == "cgroup"]
    for line in (read_text(host.proc / "self" / "cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and "cgroup2" in hierarchies:
            yield from _limits(_point(hierarchies["cgroup2"], host), path, _unified)
        for mount in controllers:
            if names and set(names.split(",")) & set(mount.options):
                yield from _limits(_point(mount, host), path, _legacy)


def _point(mount: Mount, host: Host) -> Path:
    """Return where a hierarchy of cgroups is mounted: below sysfs, which is elsewhere for a recorded tree."""
    point = Path(mount.point)
    return host.sys / point.relative_to("/sys") if point.is_relative_to("/sys") else point


def _limits(point: Path, path: str, read: Callable[[Path], Iterator[str]]) -> Iterator[str]:
    """Yield the limits of a group and of all its parents: every one of them holds."""
    relative = Path(path.lstrip("/"))
    for group in (relative, *relative.parents):
        for limit in read(point / group):
            yield f"{limit} (in /{'' if str(group) == '.' else group})"


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
