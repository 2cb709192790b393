"""``iogauge trace``: traces of I/O requests.

Record, import and show traces of I/O requests, and fit job files to them.

A trace has the requests that a device or a file got: when each arrived, whether it read or wrote, where, how much, and
how long it took if that is known. It is one Parquet file, which other programs can read.
"""

from __future__ import annotations

COMMANDS = {
    "fit": "Write a job file that does what a trace does.",
    "import": "Make a trace of what another program recorded.",
    "record": "Record the requests of a disk.",
    "show": "Show what a trace has: rates, sizes, reuse; draw charts.",
}
"""Each is the function of a file of its name here, imported when it is called."""
