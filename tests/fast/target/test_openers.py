"""Which other processes have a device open, over made-up trees in the shape of proc; no look may hang."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from iogauge.target.users.openers import open_files, processes_with_open
from iogauge.target.users.sysfs import Host

MOUNTS = """\
20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 1 0:50 / /net rw - nfs4 server:/ rw
22 1 0:51 / /far rw - fuse.sshfs host: rw
"""
LINKS = {
    "0": ("/dev/sdb", 20),
    "1": ("/net/dead", 21),
    "2": ("/far/hung", 22),
    "3": ("pipe:[1]", 13),
    "4": ("/srv/a node of the same device", 20),
    "5": ("/memfd:x (deleted)", 1),
}


class Process:
    """One other process with all of these open; stat, which may hang, is noted."""

    def __init__(self, root: Path, flags: int) -> None:
        self.looked_at: list[str] = []
        self.host = Host(root / "sys", root / "proc", self._stat)
        folder = root / "proc/100"
        (folder / "fd").mkdir(parents=True)
        (folder / "fdinfo").mkdir()
        (folder / "comm").write_text("worker\n")
        (root / "proc/self").mkdir()
        (root / "proc/self/mountinfo").write_text(MOUNTS)
        for name, (link, mount) in LINKS.items():
            (folder / "fd" / name).symlink_to(link)
            (folder / "fdinfo" / name).write_text(f"pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t{mount}\n")

    def _stat(self, path: str) -> os.stat_result:
        name = Path(path).name
        self.looked_at.append(name)
        is_node = name in "04"
        return SimpleNamespace(  # type: ignore[return-value]
            st_mode=stat.S_IFBLK if is_node else stat.S_IFREG,
            st_rdev=os.makedev(8, 16) if is_node else 0,
        )


def test_character_devices_count_only_where_they_are_named(tmp_path: Path) -> None:
    process = Process(tmp_path, os.O_RDWR)
    character = SimpleNamespace(st_mode=stat.S_IFCHR, st_rdev=os.makedev(8, 16))
    host = Host(tmp_path / "sys", tmp_path / "proc", lambda _: character)  # type: ignore[arg-type, return-value]
    assert processes_with_open({"8:16"}, host, write=True) == []
    assert processes_with_open(set(), host, write=True, characters={"8:16"}) == ["worker (pid 100)"]
    assert processes_with_open(set(), process.host, write=True, characters={"8:16"}) == []


def test_what_another_machine_answers_for_is_not_looked_at(tmp_path: Path) -> None:
    process = Process(tmp_path, os.O_RDWR)
    assert processes_with_open({"8:16"}, process.host, write=True) == ["worker (pid 100)"]
    assert process.looked_at == ["0", "4"]


def test_a_filesystem_that_has_answered_is_looked_at(tmp_path: Path) -> None:
    process = Process(tmp_path, os.O_RDONLY)
    names = [file.path.name for file in open_files(process.host, answered={"0:51"})]
    assert names == process.looked_at == ["0", "2", "4"]


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_DIRECT])
def test_only_those_that_can_write_are_named_where_that_matters(tmp_path: Path, flags: int) -> None:
    host = Process(tmp_path, flags).host
    assert bool(processes_with_open({"8:16"}, host, write=True)) == (flags != os.O_RDONLY)
    assert processes_with_open({"8:16"}, host) == ["worker (pid 100)"]
    assert processes_with_open({"8:17"}, host) == []
