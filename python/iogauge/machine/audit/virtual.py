"""Checks of virtual machines, and of the control groups that iogauge is in.

Sources: Documentation/admin-guide/cgroup-v2.rst (IO) and cgroup-v1/blkio-controller.rst; proc(5) on cpuinfo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from iogauge.machine.audit.check import Check, Look, Seen, equals, read_value, without_drive
from iogauge.machine.audit.subject import Subject
from iogauge.machine.cgroups import Group, own_groups
from iogauge.target.users.mounts import mounts_of

_SOURCE = "cgroup-v2.rst"
_PATH = "/proc/self/cgroup"


def hypervisor(subject: Subject) -> Seen:
    """Look at the evidence that the machine is virtual."""
    if subject.hypervisor:
        return Seen("/proc/cpuinfo", (subject.hypervisor,))
    if not next(subject.cpuinfo("flags"), ""):
        return Seen("/proc/cpuinfo", problem="the CPU does not say whether a hypervisor runs it")
    return Seen("/proc/cpuinfo", ("no",))


class HiddenError(Exception):
    """What groups set cannot be read; the text is the reason."""


def groups(subject: Subject) -> Iterator[Group]:
    """Yield the groups of iogauge's own process. Raises HiddenError, at the end, if not all of them can be read."""
    for name in ("cgroup", "mountinfo"):
        text, why = read_value(subject.host.proc / "self" / name)
        if not text:
            raise HiddenError(f"/proc/self/{name}: {why or 'empty'}")
    if not any(mount.kind in ("cgroup", "cgroup2") for mount in mounts_of(subject.host)):
        raise HiddenError("no cgroups are mounted")
    hidden = ""
    for group in own_groups(subject.host):
        if not group.directory.is_dir():
            hidden = f"the group {group.name} is not visible"
            continue
        if group.unified and group.is_root and (group.directory / "cgroup.type").exists():
            hidden = "the groups above the container's are not visible"  # the real root has no type
        yield group
    if hidden:
        raise HiddenError(hidden)


def cpu_limits(subject: Subject) -> Seen:
    """Look at the limits on CPU time."""

    def limits() -> Iterator[str]:
        for group in groups(subject):
            name = "cpu.max" if group.unified else "cpu.cfs_quota_us"
            for line in _lines(group, name):
                if not line.startswith(("max", "-1")):
                    yield f"{name}={line} (in {group.name})"

    return _seen(_PATH, limits())


def io_limits(subject: Subject) -> Seen:
    """Look at the limits on I/O of the drive; without one, on I/O of any. Those of other drives are mentioned."""

    def limits() -> Iterator[tuple[str, str]]:
        for group in groups(subject):
            names = ("io.max",) if group.unified else _throttles(group.directory)
            for name in names:
                for line in _lines(group, name):
                    yield line, f"{name}={line} (in {group.name})"

    return _of_the_drive(subject, _PATH, limits())


def latency_targets(subject: Subject) -> Seen:
    """Look at the latency targets of the own groups, and of all groups beside them."""

    def targets() -> Iterator[tuple[str, str]]:
        for group in groups(subject):
            if not group.unified or group.is_root:
                continue
            for directory in sorted(path for path in group.directory.parent.iterdir() if path.is_dir()):
                name = f"{group.name.rpartition('/')[0]}/{directory.name}"
                for line in _lines(Group(directory, name, unified=True), "io.latency"):
                    yield line, f"io.latency={line} (in {name})"

    return _of_the_drive(subject, _PATH, targets())


def cost(subject: Subject) -> Seen:
    """Look at whether the drive's time is shared by weights (iocost), which holds requests back."""
    path = "/sys/fs/cgroup/io.cost.qos"
    try:
        numbers = _numbers(subject)
        roots = [group for group in groups(subject) if group.unified and group.is_root]
    except HiddenError as hidden:
        return Seen(path, problem=str(hidden))
    if not roots:
        return Seen(path, problem="no hierarchy of cgroups version 2 is mounted")
    text, why = read_value(roots[0].directory / "io.cost.qos")
    if text is None:
        return Seen(path, problem=why)
    lines = [line for line in text.splitlines() if line.split(" ", 1)[0] in numbers]
    enabled = [line for line in lines if "enable=1" in line.split()]
    return Seen(path, tuple(enabled) or ("off",))


def weights(subject: Subject) -> Seen:
    """Look at the weights of the own groups for the drive."""

    def shares() -> Iterator[str]:
        numbers = _numbers(subject)
        for group in groups(subject):
            for name in ("io.weight", "io.bfq.weight") if group.unified else ("blkio.bfq.weight",):
                lines = [line.split() for line in _lines(group, name)]
                shared = {words[0] if words[1:] else "default": words[-1] for words in lines if words}
                own = (shared[number] for number in numbers if number in shared)
                if weight := next(own, shared.get("default")):
                    yield f"{name} {weight} (in {group.name})"

    seen = _seen(_PATH, shares())
    return seen if seen.values != ("none",) else Seen(_PATH, ("none",), meaning="the groups have none")


def _throttles(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("blkio.throttle.*_device"))


def _lines(group: Group, name: str) -> list[str]:
    """Return the lines of a group's file; none if there is no such file. Raises HiddenError if it is unreadable."""
    text, why = read_value(group.directory / name)
    if text is None and why != "no such file":
        raise HiddenError(f"{name}: {why}")
    return (text or "").splitlines()


def _numbers(subject: Subject) -> frozenset[str]:
    if not subject.numbers:
        raise HiddenError("the drive's number is not known")
    return subject.numbers


def _of_the_drive(subject: Subject, path: str, settings: Iterable[tuple[str, str]]) -> Seen:
    """Return the settings whose line begins with the drive's number; if no drive is named, all."""
    own: list[str] = []
    others: list[str] = []
    problem = ""
    try:
        numbers = _numbers(subject) if subject.drive else None
        for line, text in settings:
            (own if numbers is None or line.split(" ", 1)[0] in numbers else others).append(text)
    except HiddenError as hidden:
        problem = str(hidden)
    if problem and not own:
        return Seen(path, problem=problem)
    meaning = "; ".join(own or ["none"]) + (f"; of other drives: {'; '.join(others)}" if others else "")
    return Seen(path, tuple(own) or ("none",), meaning=meaning)


def _seen(path: str, values: Iterator[str]) -> Seen:
    """Return values; what could be read of them decides, also where other groups are hidden."""
    read: list[str] = []
    try:
        read.extend(values)
    except HiddenError as hidden:
        return Seen(path, tuple(read), problem=str(hidden))
    return Seen(path, tuple(read) or ("none",))


def _check(name: str, title: str, look: Look, why: str, *, wanted: str = "none") -> Check:
    return Check(
        id=f"virtual.{name}",
        weight=3,
        title=title,
        look=look,
        wanted=wanted,
        judge=equals(wanted),
        why=why,
        source=_SOURCE,
    )


CHECKS = (
    Check(
        id="virtual.hypervisor", weight=3, title="virtual machine", look=hypervisor, wanted="no", judge=equals("no"),
        why="the hypervisor's share of each request cannot be told from the drive's", source="proc(5), cpuinfo flags",
    ),
    _check(
        "cgroup_cpu", "cgroup limits on CPU time", cpu_limits, "a throttled worker waits for its next period"
    ),
)  # fmt: skip
DRIVE_CHECKS = (
    _check(
        "cgroup_io", "cgroup limits on I/O", io_limits, "the limit is measured, not the drive",
    ),
    _check(
        "cgroup_io_latency", "cgroup targets of latency", latency_targets,
        "where a group misses its target, the I/O of the groups beside it is held back",
    ),
    Check(
        id="virtual.cgroup_io_cost", weight=3,
        title="sharing of the drive by weights (iocost)", look=cost, wanted="off",
        judge=equals("off"), why="it holds requests back, so that each group gets its share", source=_SOURCE,
        excused=without_drive,
    ),
    Check(
        id="virtual.cgroup_io_weight", weight=1,
        title="cgroup weights of I/O", look=weights,
        why="they count where iocost or the scheduler bfq shares the drive", source=_SOURCE, excused=without_drive,
    ),
)  # fmt: skip
