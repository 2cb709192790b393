"""Settings of the kernel, and of irqbalance. Sources: those of the checks in ``machine/audit/kernel.py``."""

from __future__ import annotations

from iogauge.machine.tuning.owner import start_of
from iogauge.machine.tuning.settings.setting import (
    ImpossibleError,
    Machine,
    Setting,
    Steps,
    files,
    one_of,
    up_to,
)


def _irqbalance(machine: Machine, wanted: str) -> Steps:
    """Plan to stop irqbalance by SIGSTOP: SIGCONT undoes it exactly, with systemd and without."""
    proc = machine.door.proc
    try:
        visible = (proc / "2/comm").read_text().strip() == "kthreadd"
    except OSError:
        visible = False
    if not visible:
        raise ImpossibleError("not all processes of the machine are visible")
    changes = []
    for folder in sorted(proc.glob("[0-9]*")):
        try:
            name = (folder / "comm").read_text().strip()
        except OSError:
            continue  # it has ended
        if name == "irqbalance" and (start := start_of(int(folder.name), proc)) is not None:
            changes.append((f"process:{folder.name}:{start}", wanted))
    return Steps(tuple(changes))


def _sysctl(id_: str, path: str, most: int) -> Setting:
    values = f"0 to {most}" if most < 1000 else "a whole number"
    return Setting(id=f"kernel.{id_}", values=values, accepts=up_to(most), plan=files(f"proc/sys/{path}"))


SETTINGS = (
    Setting(id="load.irqbalance", values="stopped", accepts=one_of("stopped"), plan=_irqbalance),
    _sysctl("nmi_watchdog", "kernel/nmi_watchdog", 1),
    _sysctl("timer_migration", "kernel/timer_migration", 1),
    _sysctl("numa_balancing", "kernel/numa_balancing", 3),
    _sysctl("stat_interval", "vm/stat_interval", 3600),
    _sysctl("swappiness", "vm/swappiness", 200),
)
