"""The process that shows the screen beside a measurement, which ``beside`` starts as ``python -m``.

Ctrl-C reaches both processes. Only the one that measures acts on it; this one stays to show how the measurement ends.
"""

from __future__ import annotations

import os
import signal
import sys

from iogauge.cli.terminal import process
from iogauge.cli.watch import NICE


def main(pid: int, ready_end: int) -> None:
    """Show the feed of a process on stdout. Closes the descriptor ``ready_end`` when everything is loaded."""
    process.start()
    os.nice(NICE)
    from rich import console, text  # noqa: F401

    from iogauge.cli.watch import loop
    from iogauge.live.finding import feeds

    process.begin()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    info = next((info for info in feeds() if info.pid == pid), None)
    os.close(ready_end)
    if info is not None:
        loop.show_screen(info, sys.stdout, sys.stdin, wait_for_step=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
