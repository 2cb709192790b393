"""The control groups that this process is in, in every hierarchy, up to the root that it can see.

Source: cgroups(7), Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from iogauge.target.users.mounts import Mount, mounts_of
from iogauge.target.users.sysfs import HOST, Host, read_text


@dataclass(frozen=True)
class Group:
    """One group that the process is in, itself or by a group below it."""

    directory: Path
    name: str
    """As cgroups name it: ``/user.slice``; ``/`` is the root."""
    unified: bool
    """Whether it is of the hierarchy of all controllers (version 2)."""

    @property
    def is_root(self) -> bool:
        """Whether it is the topmost group that the process can see."""
        return self.name == "/"


def own_groups(host: Host = HOST) -> Iterator[Group]:
    """Yield the groups of this process, from its own up to the root, hierarchy by hierarchy."""
    mounts = [mount for mount in mounts_of(host) if mount.kind in ("cgroup", "cgroup2")]
    for line in (read_text(host.proc / "self" / "cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for mount in mounts:
            if mount.kind == "cgroup2":
                member = number == "0"
            else:
                member = bool(names) and bool(set(names.split(",")) & set(mount.options))
            if member:
                yield from _up(mount, path, host)


def _up(mount: Mount, path: str, host: Host) -> Iterator[Group]:
    # A container sees a part of the hierarchy, whose root is named in the mount.
    group = PurePosixPath("/", path.lstrip("/"))
    if group.is_relative_to(mount.root):
        group = PurePosixPath("/", group.relative_to(mount.root))
    for member in (group, *group.parents):
        directory = _point(mount, host) / member.relative_to("/")
        yield Group(directory, str(member), mount.kind == "cgroup2")


def _point(mount: Mount, host: Host) -> Path:
    """Return where a hierarchy is mounted: below sysfs, which is elsewhere for a recorded tree."""
    point = Path(mount.point)
    return host.sys / point.relative_to("/sys") if point.is_relative_to("/sys") else point
