"""Hosts that ssh reaches: what is run on them, and what is said of those that cannot be used."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncssh
import pytest

from iogauge import __version__
from iogauge.errors import IogaugeError
from iogauge.fleet.dask import ssh
from iogauge.fleet.dask.ssh import SshWorkers, remote_command
from iogauge.fleet.hosts import HostEntry
from iogauge.fleet.keys import make_keys


def test_a_worker_leaves_its_last_words_and_nothing_else(tmp_path: Path) -> None:
    """Temporary directories may have blanks in their names."""
    neighbour = tmp_path / "my"
    neighbour.mkdir()
    directory = tmp_path / "my tmp" / "it's"
    directory.mkdir(parents=True)
    (directory / "host-key.pem").touch()
    command = remote_command(str(directory), ["sh", "-c", "echo no space left >&2; exit 3"])
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "no space left\n")
    assert neighbour.is_dir()
    assert list((tmp_path / "my tmp").iterdir()) == []


class Computers:
    """Stands for asyncssh: each address answers in its own way."""

    def __init__(self) -> None:
        self.connecting: set[str] = set()
        self.all_are = asyncio.Event()

    async def connect(self, address: str, **_: Any) -> Computer:
        self.connecting.add(address)
        if len(self.connecting) == 5:
            self.all_are.set()
        # Nobody gets a connection before all have been called: they are started at the same time.
        await self.all_are.wait()
        if address == "away":
            raise OSError("No route to host")
        if address == "hangs":
            await asyncio.Event().wait()
        return Computer(address)


class Computer:
    """The connection to a computer on which commands do nothing."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return "192.0.2.1", 22

    async def run(self, command: str, **_: Any) -> SimpleNamespace:
        if "-c" not in command:
            return SimpleNamespace(stdout="/tmp/keys\n", stderr="", exit_status=0)
        if self.address == "bare":
            said = "Traceback:\nModuleNotFoundError: No module named 'iogauge'\n"
            return SimpleNamespace(stdout="", stderr=said, exit_status=1)
        return SimpleNamespace(stdout=f"{__version__}\n", stderr="", exit_status=0)

    async def create_process(self, _: str, **__: Any) -> SimpleNamespace:
        status = 2 if self.address == "broken" else None
        said = "one\ntwo\n\nOSError: cannot connect\n"
        return SimpleNamespace(exit_status=status, collect_output=lambda: ("", said))

    def close(self) -> None:
        pass


def test_hosts_that_cannot_be_used_are_named_and_the_others_are_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["away", "hangs", "bare", "broken", "good"]
    make_keys(tmp_path / "keys", names)
    hosts = [HostEntry(name=name, address=name, port=22 if name == "bare" else None) for name in names]
    workers = SshWorkers(hosts, port=1, keys=tmp_path / "keys")
    # The others take milliseconds.
    monkeypatch.setattr(ssh, "_START_S", 3)

    async def start() -> dict[str, IogaugeError]:
        monkeypatch.setattr(asyncssh, "connect", Computers().connect)
        return await workers.start()

    refused = asyncio.run(start())
    assert {name: str(error) for name, error in refused.items()} == {
        "away": "no ssh connection to away: No route to host",
        "hangs": "hangs did not answer by ssh within 3 s",
        "bare": "python3 has no iogauge that can be part of a fleet: "
        "ModuleNotFoundError: No module named 'iogauge'",
    }
    assert refused["away"].hint == "check that this works without a password: ssh away true"
    hint = refused["bare"].hint or ""
    assert f"scp -P 22 iogauge-{__version__}-*.whl bare: && ssh -p 22 bare 'python3 -m pip install" in hint
    assert workers.failure("good") is None
    failure = workers.failure("broken")
    assert str(failure) == "its worker ended with exit status 2: one | two | OSError: cannot connect"


class Saving(Computer):
    """A computer on which saving the key fails, or never ends, or on which the worker does not start."""

    def __init__(self, trouble: str) -> None:
        super().__init__("good")
        self.trouble = trouble
        self.commands: list[str] = []
        self.is_saving = asyncio.Event()

    async def run(self, command: str, **options: Any) -> SimpleNamespace:
        self.commands.append(command)
        if "host-key.pem" in command:
            self.is_saving.set()
            if self.trouble == "fails":
                raise asyncssh.ConnectionLost("no space")
            if self.trouble == "hangs":
                await asyncio.Event().wait()
        return await super().run(command, **options)

    async def create_process(self, _: str, **__: Any) -> SimpleNamespace:
        raise asyncssh.ChannelOpenError(1, "no process")


@pytest.mark.parametrize("trouble", ["fails", "hangs", "does not start"])
def test_the_certificate_of_a_worker_that_does_not_start_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    make_keys(tmp_path / "keys", ["r1"])
    host = HostEntry(name="r1", address="r1")
    workers = SshWorkers([host], port=1, keys=tmp_path / "keys")

    async def start() -> list[str]:
        computer = Saving(trouble)

        async def connect(*_: Any, **__: Any) -> Computer:
            return computer

        monkeypatch.setattr(asyncssh, "connect", connect)
        starting = asyncio.create_task(workers._start(host))
        await computer.is_saving.wait()
        if trouble == "hangs":
            starting.cancel()  # as at the end of its time
        with pytest.raises((IogaugeError, asyncssh.Error, asyncio.CancelledError)):
            await starting
        return computer.commands

    assert asyncio.run(start())[-1] == "rm -rf /tmp/keys"
