"""Runs in the guest: executes the commands that the host sends, several at once.

A request is a JSON line {"id", "command", "input"} or {"id", "iogauge"}; the answer is {"id", "status", "out", "err"}.
A line {"ready"} is sent first. Commands run in sh as root; their output is text, with undecodable bytes replaced.

The arguments in ``iogauge`` run in a fork of a process that has imported most of iogauge: emulated, the imports of each
command take longer than what most tests do with it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PORT = "/dev/virtio-ports/host"
IMPORTED = [
    "iogauge.cli.terminal.commands",
    "iogauge.cli.run",
    "iogauge.execution",
    "iogauge.library.running.measurement",
]
FORKED = multiprocessing.get_context("forkserver")


def run_iogauge(arguments: list[str], folder: str) -> None:
    """Run a command of iogauge in this process, with files of ``folder`` as its output."""
    from iogauge.cli import main

    for number, name in enumerate(("out", "err"), 1):
        file = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["iogauge", *arguments]
    sys.exit(main())


def forked(arguments: list[str]) -> tuple[int, str, str]:
    """Return the status and the output of a command of iogauge."""
    with tempfile.TemporaryDirectory() as folder:
        process = FORKED.Process(target=run_iogauge, args=(arguments, folder))
        process.start()
        process.join()
        out, err = (Path(folder, name).read_text(errors="replace") for name in ("out", "err"))
        return process.exitcode or 0, out, err


def in_shell(command: str, text: str) -> tuple[int, str, str]:
    """Return the status and the output of a shell's command."""
    ran = subprocess.run(
        ["sh", "-c", command], input=text, capture_output=True, text=True, errors="replace", check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def main() -> None:
    """Answer until the host goes."""
    FORKED.set_forkserver_preload(IMPORTED)
    with open(PORT, "r+b", buffering=0) as port:  # noqa: PTH123
        lock = threading.Lock()

        def answer(**fields: object) -> None:
            left = memoryview(json.dumps(fields).encode() + b"\n")
            with lock:
                while left:  # the port takes 32 KiB at once
                    left = left[port.write(left) :]

        def execute(request: dict[str, str]) -> None:
            if "iogauge" in request:
                status, out, err = forked(shlex.split(request["iogauge"]))
            else:
                status, out, err = in_shell(request["command"], request["input"])
            answer(id=request["id"], status=status, out=out, err=err)

        answer(ready=True)
        # Requests are threads, since a test runs commands beside others.
        line = b""
        while chunk := port.read(65536):
            *lines, line = (line + chunk).split(b"\n")
            for complete in lines:
                threading.Thread(target=execute, args=(json.loads(complete),), daemon=True).start()


if __name__ == "__main__":
    main()
