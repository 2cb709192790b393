"""What can be tuned: each setting by the id of its check in the audit, in the order in which settings are changed.

The order matters. Threads go first, since the files of a CPU go with it. The preference goes before the governor, which
refuses preferences once it is ``performance``. Everything is undone in reverse.
"""

from __future__ import annotations

from iogauge.machine.tuning.settings import cpu, drive, kernel
from iogauge.machine.tuning.settings.setting import Setting

SETTINGS: dict[str, Setting] = {
    setting.id: setting for setting in (*cpu.SETTINGS, *kernel.SETTINGS, *drive.SETTINGS)
}
