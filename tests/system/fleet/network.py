"""Computers for tests of fleets: network namespaces of this computer, joined by a bridge in the first one's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Self

import psutil
import pytest

from tests.refusals import sh

CONTROLLER = "controller"


class Network:
    """A bridge with a computer for each name, and the controller, which has the bridge."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = (CONTROLLER, *names)

    def __enter__(self) -> Self:
        for tool in ("ip", "nsenter"):
            if not shutil.which(tool):
                pytest.skip(f"needs {tool}")
        probe = subprocess.run(
            ["ip", "netns", "add", self._namespace(CONTROLLER)], capture_output=True, text=True, check=False
        )
        if probe.returncode:
            pytest.skip(f"needs network namespaces: {probe.stderr.strip()}")
        try:
            self._ip(CONTROLLER, "link", "add", "bridge", "type", "bridge")
            self._up(CONTROLLER, "bridge")
            for name in self._names[1:]:
                sh("ip", "netns", "add", self._namespace(name))
                link = ("link", "add", name, "type", "veth", "peer", "name", "eth0")
                self._ip(CONTROLLER, *link, "netns", self._namespace(name))
                self._ip(CONTROLLER, "link", "set", name, "master", "bridge", "up")
                self._up(name, "eth0")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what runs there, and remove the namespaces, with all that is in them."""
        for name in self._names:
            for pid in self.processes(name):
                psutil.Process(pid).kill()
            subprocess.run(["ip", "netns", "delete", self._namespace(name)], capture_output=True, check=False)

    def address(self, name: str) -> str:
        return f"10.77.0.{self._names.index(name) + 1}"

    def on(self, name: str) -> tuple[str, ...]:
        """Return what begins a command that runs on a computer."""
        return ("nsenter", f"--net=/run/netns/{self._namespace(name)}", "--")

    def processes(self, name: str) -> list[int]:
        """Return the ids of all processes on a computer."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self._namespace(name)], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in listed.stdout.split()]

    def cut(self, name: str) -> None:
        """Drop all packets from and to a computer from now on."""
        self._ip(CONTROLLER, "link", "set", name, "down")

    def mend(self, name: str) -> None:
        self._ip(CONTROLLER, "link", "set", name, "up")

    def _up(self, name: str, device: str) -> None:
        self._ip(name, "address", "add", f"{self.address(name)}/24", "dev", device)
        for interface in ("lo", device):
            self._ip(name, "link", "set", interface, "up")

    def _ip(self, name: str, *arguments: str) -> None:
        sh("ip", "-n", self._namespace(name), *arguments)

    def _namespace(self, name: str) -> str:
        return f"iogauge-{os.getpid()}-{name}"
