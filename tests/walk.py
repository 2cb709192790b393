"""List the files that a command passes through, in order: where a newcomer should look.

    python -m tests.walk run job.fio --fail-if 'p99 > 1ms'

Each file stands once, where its first function is called. Imports are left out, and so is what runs in Rust.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import threading
from types import FrameType

from iogauge.cli import main

PACKAGE = "/iogauge/"


def walk(arguments: list[str]) -> tuple[str, ...]:
    """Run a command without its output, and return the files of iogauge's that it passed through."""
    passed: dict[str, None] = {}

    def called(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # the body of a class or a module is none
        if event == "call" and function and PACKAGE in path and ".venv" not in path and not importing(frame):
            passed.setdefault(path.rpartition(PACKAGE)[2])

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return tuple(passed)


def importing(frame: FrameType | None) -> bool:
    """Whether a call was made by an import."""
    while frame is not None and frame.f_code.co_name != "_call_with_frames_removed":
        frame = frame.f_back
    return frame is not None


if __name__ == "__main__":
    print("\n".join(walk(sys.argv[1:])))
