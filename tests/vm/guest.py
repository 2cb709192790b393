"""A guest of QEMU with emulated NVMe drives, on which tests run commands.

The guest is emulated in software (TCG), about twenty times slower than its host, so tests in it compare behaviour and
never speed. One thread emulates both CPUs: with a thread for each, Linux sometimes fails at boot while it patches its
own code (QEMU 7.2). That thread shares a CPU of the host with the drives' one: QEMU 7.2 drops the memory barriers of
a guest that has one thread, so on two CPUs a drive may miss the doorbell of a request, which then never completes.
The root disk is a snapshot: when the guest ends, all changes are lost but those of the data drives. QEMU's monitor
(QMP) removes and adds devices.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

OUT = Path(__file__).parents[2] / ".vm"
"""The directory of the image, which ``make test-vm`` builds."""
ROOT = "PARTUUID=544f4f52-01"
"""The root's partition, made by ``image.sh``."""
PYTHON = "/usr/lib/iogauge/bin/python"
"""The interpreter of iogauge's package in the guest."""
BOOT_S = 300
COMMAND_S = 600
"""How long a guest may take that shares its CPUs with other tests."""


@dataclass(frozen=True)
class Ran:
    """A command that has ended in the guest."""

    command: str
    status: int
    out: str
    err: str

    def ok(self) -> str:
        """Return stdout of a command that succeeded."""
        assert self.status == 0, f"{self.command}: status {self.status}\n{self.out}{self.err}"
        return self.out


@dataclass(frozen=True)
class Drive:
    """An NVMe drive of the guest: its serial number, its size, and options of QEMU's devices and of its file."""

    serial: str
    size_bytes: int = 1 << 30
    controller: str = ""
    namespace: str = ""
    file: str = "driver=file"
    """QEMU's block layer above the file: ``driver=blkdebug,...`` injects errors."""


class Guest:
    """A running guest. Use it as a context manager."""

    def __init__(
        self,
        directory: Path,
        drives: Iterable[Drive],
        *,
        kernel_options: str = "",
        qemu_options: Iterable[str] = (),
    ) -> None:
        self._directory = directory
        self._drives = tuple(drives)
        self._kernel_options = kernel_options
        self._qemu_options = tuple(qemu_options)
        self._answers: dict[str, queue.SimpleQueue[Ran]] = {}
        self._ready: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        command = [
            "taskset", "--cpu-list", str(_cpu()),
            "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=single",
            "-cpu", "max", "-smp", "2", "-m", "2G",
            "-display", "none", "-nodefaults", "-no-user-config",
            "-kernel", str(OUT / "vmlinuz"),
            "-append", f"root={ROOT} rootwait rw init=/init console=ttyS0 quiet panic=-1 {self._kernel_options}",
            "-serial", f"file:{self._directory / 'console'}",
            "-drive", f"file={OUT / 'root.img'},if=none,id=root,format=raw,snapshot=on",
            "-device", "nvme,drive=root,serial=root",
            "-device", "virtio-serial",
            "-chardev", f"socket,id=host,path={self._directory / 'port'},server=on,wait=off",
            "-device", "virtserialport,chardev=host,name=host",
            "-qmp", f"unix:{self._directory / 'qmp'},server=on,wait=off",
        ]  # fmt: skip
        for number, drive in enumerate(self._drives):
            command += self._of(drive, number)
        command += self._qemu_options
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            self._port = self._connected("port")
            self._qmp = self._connected("qmp").makefile("rw")
            self._qmp.readline()  # the greeting
            self.monitor("qmp_capabilities")
            threading.Thread(target=self._read, daemon=True).start()
            self._wait_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, command: str, *, input: str = "", patience_s: float = COMMAND_S) -> Ran:  # noqa: A002
        """Run a shell command as root and return its end. Raises TimeoutError."""
        return self._asked({"command": command, "input": input}, patience_s)

    def sh(self, command: str, **options: Any) -> str:
        """Run a shell command that must succeed, and return its stdout."""
        return self.run(command, **options).ok()

    def iogauge(self, arguments: str, *, patience_s: float = COMMAND_S) -> Ran:
        """Run iogauge in the guest, without a shell."""
        return self._asked({"iogauge": arguments}, patience_s)

    def _asked(self, request: dict[str, str], patience_s: float) -> Ran:
        """Send a request, and return the end of its command. Raises TimeoutError."""
        with self._lock:
            self._count += 1
            number = str(self._count)
        answer: queue.SimpleQueue[Ran] = queue.SimpleQueue()
        self._answers[number] = answer
        self._port.sendall(json.dumps({"id": number, **request}).encode() + b"\n")
        try:
            return answer.get(timeout=patience_s)
        except queue.Empty:
            raise TimeoutError(f"{request}: no answer in {patience_s} s\n{self.console()}") from None

    def start(self, command: str, **options: Any) -> queue.SimpleQueue[Ran]:
        """Run a shell command beside others; return a queue to which its end comes."""
        ended: queue.SimpleQueue[Ran] = queue.SimpleQueue()
        threading.Thread(target=lambda: ended.put(self.run(command, **options)), daemon=True).start()
        return ended

    def reboot(self) -> None:
        """Reset the guest as a power cut does, and wait until it is up again."""
        self._answers.clear()
        self.monitor("system_reset")
        self._wait_ready()

    def monitor(self, command: str, **arguments: object) -> Any:
        """Run a command of QEMU's monitor and return its result."""
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp.flush()
        while True:
            answer = json.loads(self._qmp.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def console(self) -> str:
        """Return the kernel's messages."""
        return (self._directory / "console").read_text(errors="replace")

    def _of(self, drive: Drive, number: int) -> list[str]:
        path = self._directory / f"{drive.serial}.img"
        if not path.exists():
            with path.open("wb") as file:
                file.truncate(drive.size_bytes)
        file = (
            drive.file.replace("FILE", str(path)) if "FILE" in drive.file else f"{drive.file},filename={path}"
        )
        return [
            "-blockdev", f"node-name=file{number},{file}",
            "-blockdev", f"node-name=raw{number},driver=raw,file=file{number},discard=unmap",
            "-device", f"nvme,id=nvme{number + 1},serial={drive.serial}{_more(drive.controller)}",
            "-device", f"nvme-ns,drive=raw{number},bus=nvme{number + 1}{_more(drive.namespace)}",
        ]  # fmt: skip

    def _connected(self, name: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        path = self._directory / name
        while True:
            try:
                connection.connect(os.fspath(path))
            except (FileNotFoundError, ConnectionRefusedError):
                if self._process.poll() is not None:
                    assert self._process.stderr is not None
                    raise RuntimeError(f"QEMU ended: {self._process.stderr.read()}") from None
                threading.Event().wait(0.01)
            else:
                return connection

    def _read(self) -> None:
        with self._port.makefile("rb") as answers:
            for line in answers:
                answer = json.loads(line)
                if "ready" in answer:
                    self._ready.put(True)
                elif waiting := self._answers.pop(answer.pop("id"), None):
                    waiting.put(Ran("", **answer))

    def _wait_ready(self) -> None:
        try:
            self._ready.get(timeout=BOOT_S)
        except queue.Empty:
            raise TimeoutError(f"the guest did not boot in {BOOT_S} s:\n{self.console()}") from None

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()


def missing() -> list[str]:
    """Return the programs that the guest needs and the machine lacks."""
    return [
        name
        for name in ("qemu-system-x86_64", "mmdebstrap", "mkfs.ext4", "taskset")
        if shutil.which(name) is None
    ]


def _cpu() -> int:
    """Return the CPU of this process's guests; the guests of other test processes have others where there are more."""
    cpus = sorted(os.sched_getaffinity(0))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return cpus[worker % len(cpus)]


def _more(options: str) -> str:
    return f",{options}" if options else ""
