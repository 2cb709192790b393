"""Runs in the guest: executes the commands that the host sends, several at once.

A request is a JSON line {"id", "command", "input"}; the answer is {"id", "status", "out", "err"}. A line {"ready"} is
sent first. Commands run in sh as root; their output is text, with undecodable bytes replaced.
"""

from __future__ import annotations

import json
import subprocess
import threading

PORT = "/dev/virtio-ports/host"


def main() -> None:
    """Answer until the host goes."""
    with open(PORT, "r+b", buffering=0) as port:  # noqa: PTH123
        lock = threading.Lock()

        def answer(**fields: object) -> None:
            left = memoryview(json.dumps(fields).encode() + b"\n")
            with lock:
                while left:  # the port takes 32 KiB at once
                    left = left[port.write(left) :]

        def execute(request: dict[str, str]) -> None:
            ran = subprocess.run(
                ["sh", "-c", request["command"]],
                input=request["input"],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            answer(id=request["id"], status=ran.returncode, out=ran.stdout, err=ran.stderr)

        answer(ready=True)
        # Requests are threads, since a test runs commands beside others.
        line = b""
        while chunk := port.read(65536):
            *lines, line = (line + chunk).split(b"\n")
            for complete in lines:
                threading.Thread(target=execute, args=(json.loads(complete),), daemon=True).start()


if __name__ == "__main__":
    main()
