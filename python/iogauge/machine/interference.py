"""Detects other users of the drive: processes that have it open, and I/O on it that was not ours.

It only observes. Without root, processes of other users are invisible, so an empty result proves nothing; the byte
count sees their I/O all the same. Source: proc(5).
"""

from __future__ import annotations

import stat
from collections.abc import Collection
from os import stat_result

from iogauge.schema import DeviceStat, TargetFacts
from iogauge.target.users.openers import open_files, program_name
from iogauge.target.users.sysfs import HOST, Host, number_of

_SLACK_BYTES = 1 << 20
"""Tolerance for readahead, superblocks and a partition scan."""
_SLACK_SHARE = 0.05
"""Tolerance as a share of our own bytes: less than this disturbs little, and our request log may be part of it."""


def other_processes(targets: Collection[TargetFacts], host: Host = HOST) -> dict[str, list[str]]:
    """Return, by target path, the other processes that have the target open, as ``name (pid 123)``."""
    wanted: dict[tuple[str, int, int], str] = {}
    answered: set[str] = set()
    for facts in targets:
        # A namespace has two devices: a character device that takes commands, named here, and a block device.
        for name in dict.fromkeys((facts.path, facts.real_path or facts.path)):
            try:
                status = host.stat(name)
            except OSError:
                continue
            wanted[_identity(status)] = facts.path
            answered.add(number_of(status.st_dev))
    users: dict[str, list[str]] = {}
    for file in open_files(host, answered=answered) if wanted else ():
        path = wanted.get(_identity(file.status))
        if path is not None:
            name = program_name(file.process, host)
            if name not in users.setdefault(path, []):
                users[path].append(name)
    return users


def foreign_bytes(
    counted: DeviceStat, *, own_read_bytes: int, own_write_bytes: int, through_filesystem: bool
) -> tuple[int, int]:
    """Return the bytes read and written on the device beyond our own direct I/O; zero within the tolerance.

    The result is meaningful only if all our I/O bypassed the page cache and is counted, ramps included.
    """
    slack = _SLACK_BYTES + int(_SLACK_SHARE * (own_read_bytes + own_write_bytes))
    read, written = counted.read_bytes - own_read_bytes, counted.write_bytes - own_write_bytes
    # A filesystem's journal and metadata may double the bytes written to a file.
    write_slack = slack + (own_write_bytes if through_filesystem else 0)
    return (read if read > slack else 0, written if written > write_slack else 0)


def _identity(status: stat_result) -> tuple[str, int, int]:
    """Return a key that is the same for every node of a device and for every name of a file."""
    if stat.S_ISBLK(status.st_mode):
        return ("block", status.st_rdev, 0)
    if stat.S_ISCHR(status.st_mode):
        return ("character", status.st_rdev, 0)
    return ("file", status.st_dev, status.st_ino)
