"""Checks of what else runs: services, timers, load, and how long the machine and its drive have been on.

Sources: the kernel's Documentation/accounting/psi.rst; proc(5); systemd.timer(5), systemd.unit(5) on wants directories;
Intel's evaluation guide, which found udevd behind the largest latencies, and its rule of three powered hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from iogauge.machine.audit.check import Check, Look, Seen, at_least, at_most, equals, read_value
from iogauge.machine.audit.subject import Subject
from iogauge.text.numbers import counted

POWERED_S = 3 * 3600
"""How long 3D XPoint refreshes faster after it was stored long or hot."""
_NOISY = (
    "fstrim", "smartd", "updatedb", "plocate-build", "updatedb.plocat", "multipathd", "mdadm", "mdcheck", "thermald",
    "power-profiles-", "tlp", "apt", "unattended-upgr", "dnf", "packagekitd", "snapd", "btrfs",
)  # fmt: skip
"""Names of processes, as the kernel cuts them, that read drives or change settings on their own."""
_TIMERS = (
    "fstrim", "updatedb", "plocate", "mlocate", "mdcheck", "mdmonitor", "mdadm", "raid-check", "e2scrub", "xfs_scrub",
    "btrfs", "zfs", "smart", "lvm2",
)  # fmt: skip
"""How the names of timers begin that read or trim drives."""
_PLACES = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
"""Where systemd looks for units, the first first: one hides the units of the same name in those after it."""
_HIDDEN = "not all processes of the machine are visible"


def processes(named: Callable[[str], bool]) -> Look:
    """Look at which processes of these names run."""

    def look(subject: Subject) -> Seen:
        names = subject.processes
        if names is None:
            return Seen("/proc/*/comm", problem=_HIDDEN)
        return Seen("/proc/*/comm", tuple(sorted(set(filter(named, names)))) or ("none",))

    return look


def udevd(subject: Subject) -> Seen:
    """Look at whether udevd handles events now: it has workers then, and for a few seconds after."""
    names = subject.processes
    if names is None:
        return Seen("/proc/*/comm", problem=_HIDDEN)
    managers = sum(name in ("systemd-udevd", "udevd", "eudevd") for name in names)
    # Since version 250 of systemd workers have a name of their own; before, they had the manager's.
    workers = names.count("(udev-worker)") + max(managers - 1, 0)
    if workers:
        return Seen("/proc/*/comm", (counted(workers, "worker"),))
    return Seen("/proc/*/comm", ("idle",), meaning="idle" if managers else "it does not run")


def timers(subject: Subject) -> Seen:
    """Look at which timers of systemd are switched on that read or trim drives."""
    path = "/etc/systemd/system/timers.target.wants"
    if subject.processes is None:
        return Seen(path, problem=_HIDDEN + ", so these may be another machine's files")
    if read_value(subject.host.proc / "1/comm")[0] != "systemd":
        return Seen(path, problem="systemd does not run the machine")
    enabled: set[str] = set()
    masked: dict[str, bool] = {}
    if not any((subject.root / place).is_dir() for place in _PLACES):
        return Seen(path)
    try:
        for place in _PLACES:
            for name, nothing in _units(subject.root / place):
                masked.setdefault(name, nothing)
            wants = _units(subject.root / place / "timers.target.wants")
            enabled |= {name for name, nothing in wants if not nothing}
    except OSError as error:
        return Seen(path, problem=(error.strerror or str(error)).lower())
    names = (name for name in enabled if name.startswith(_TIMERS) and not masked.get(name, False))
    return Seen(path, tuple(sorted(names)) or ("none",))


def _units(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the timers in a directory of systemd, and whether each is a link to nothing. A missing directory has none.

    Raises OSError if it cannot be read.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.suffix == ".timer":
            yield path.name, path.is_symlink() and path.readlink() == Path("/dev/null")


def pressure(resource: str) -> Look:
    """Look at the share of the last 10 s in which a task waited for a resource, in percent."""

    def look(subject: Subject) -> Seen:
        path = f"/proc/pressure/{resource}"
        text, why = read_value(subject.host.proc / "pressure" / resource)
        if text is None:
            return Seen(path, problem=why)
        fields = dict(word.partition("=")[::2] for word in text.splitlines()[0].split()[1:]) if text else {}
        share = fields.get("avg10")
        return Seen(path, (share,), meaning=f"{share} %") if share else Seen(path, problem="no avg10 in it")

    return look


def uptime(subject: Subject) -> Seen:
    """Look at how long the drive has been powered, in seconds: at least since the machine's start.

    A drive that was powered only once counts the hours itself. One that counts fewer hours in all than the machine is
    up was attached later.
    """
    text, why = read_value(subject.host.proc / "uptime")
    seconds = (text or "").split(".", 1)[0]
    if not seconds.isdecimal():
        return Seen("/proc/uptime", problem=why or "not a number")
    started_s = int(seconds)
    meaning = f"{started_s / 3600:.1f} h since the machine's start"
    smart = subject.answers.smart if subject.answers else None
    if smart is None:
        return Seen("/proc/uptime", (seconds,), meaning=meaning)
    path = "/proc/uptime and log 02h"
    counted_s = 3600 * smart.power_on_h  # whole hours, rounded down
    if counted_s + 3600 < started_s:
        return Seen(
            path,
            (str(counted_s + 3600),),
            meaning=f"{meaning}, but the drive counts {smart.power_on_h} h in all",
        )
    if smart.power_cycles == 1 and counted_s > started_s:
        return Seen(path, (str(counted_s),), meaning=f"{smart.power_on_h} h since the drive's only power-on")
    return Seen(path, (seconds,), meaning=meaning)


def _load(subject: Subject) -> Seen:
    text, why = read_value(subject.host.proc / "loadavg")
    if not text:
        return Seen("/proc/loadavg", problem=why or "empty")
    load, cpus = text.split()[0], sum(1 for _ in subject.cpuinfo("processor"))
    if not cpus:
        return Seen("/proc/loadavg", problem="the number of CPUs is not known")
    share = f"{100 * float(load) / cpus:.0f}"
    return Seen("/proc/loadavg", (share,), meaning=f"{load} in the last minute, {share} % of {cpus} CPUs")


CHECKS = (
    Check(
        id="load.irqbalance", weight=2,
        title="irqbalance", look=processes(lambda name: name == "irqbalance"), wanted="stopped",
        judge=equals("none"), why="it moves the interrupts of the drive during a run",
        source="Intel's evaluation guide, ladder: irqbalance off", change="systemctl stop irqbalance",
    ),
    Check(
        id="load.services", weight=1,
        title="services that use drives", look=processes(lambda name: name in _NOISY),
        wanted="none", judge=equals("none"), why="they read drives, or change settings, during a run",
        source="Intel's evaluation guide; ezFIO", change="systemctl stop them for the time of the review",
    ),
    Check(
        id="load.udevd", volatile=True,
        title="udevd", look=udevd, wanted="idle", judge=equals("idle"),
        why="it opens and reads drives when something of them changes, such as after a program closed them",
        source="Intel's evaluation guide; systemd-udevd.service(8)", change="udevadm control --stop-exec-queue",
    ),
    Check(
        id="load.timers", weight=1,
        title="timers that use drives", look=timers, wanted="none", judge=equals("none"),
        why="they trim, check or read drives when their time comes, which may be during a run",
        source="systemd.timer(5), fstrim(8)", change="systemctl stop the timers for the time of the review",
    ),
    Check(
        id="load.average", volatile=True,
        title="load, % of the CPUs", look=_load, wanted="at most 5", judge=at_most(5),
        why="other work takes CPUs and caches", source="proc(5)",
    ),
    Check(
        id="load.pressure_cpu", volatile=True,
        title="waiting for a CPU", look=pressure("cpu"), wanted="at most 1 %",
        judge=at_most(1), why="a worker that waits for a CPU is not measuring the drive", source="psi.rst",
    ),
    Check(
        id="load.pressure_io", volatile=True,
        title="waiting for I/O", look=pressure("io"), wanted="at most 1 %", judge=at_most(1),
        why="somebody else uses a drive", source="psi.rst",
    ),
    Check(
        id="load.pressure_memory", volatile=True,
        title="waiting for memory", look=pressure("memory"), wanted="at most 1 %",
        judge=at_most(1), why="pages are reclaimed during the run", source="psi.rst",
    ),
)  # fmt: skip
DRIVE_CHECKS = (
    Check(
        id="load.uptime", volatile=True,
        title="known powered time, s", look=uptime, wanted="at least 3 h",
        judge=at_least(POWERED_S),
        why="3D XPoint that was stored long or hot refreshes faster for about three hours; a restart of the machine"
        " that kept its power does not count, but cannot be told from one that did not",
        source="Intel's evaluation guide, preconditioning",
    ),
)  # fmt: skip
