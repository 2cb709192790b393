"""Runs a command whose CLOCK_MONOTONIC is shifted: ``shifted_clock.py NANOSECONDS COMMAND ...``, as root.

The kernel shifts it, in a time namespace, for the command and all that it starts.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

CLONE_NEWTIME = 0x80


def main() -> int:
    seconds, nanoseconds = divmod(int(sys.argv[1]), 10**9)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    Path("/proc/self/timens_offsets").write_text(f"monotonic {seconds} {nanoseconds}\n")
    return subprocess.call(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
