"""The real machine: what it is, what it counted, who else uses the drive, and what is wrong with a run.

``facts`` describes it, ``stat`` and ``interference`` read the block device's counters and users, ``extents`` and
``compress`` look at what would be read, ``judge`` turns all that into the warnings of ``warnings``, and ``watch``
does it around one run. Changes nothing on the machine and issues no measured I/O.
"""

from iogauge.machine.facts import machine_facts
from iogauge.machine.judge import Observations, RowFigures, Tail, judge
from iogauge.machine.warnings import warning
from iogauge.machine.watch import Watch

__all__ = ["Observations", "RowFigures", "Tail", "Watch", "judge", "machine_facts", "warning"]
