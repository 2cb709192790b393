"""Starts the workers of a fleet by ssh: checks what is installed there, brings certificates, starts the worker.

A host's certificate lies in a directory of its own in the host's temporary directory, readable by its user only, and is
removed when the worker ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge import __version__
from iogauge.errors import IogaugeError
from iogauge.fleet.dask.workers import ENVIRONMENT, last_lines, worker_command
from iogauge.fleet.installing import copied, install
from iogauge.fleet.keys import key_files

if TYPE_CHECKING:
    import asyncssh

    from iogauge.fleet.hosts import HostEntry

_VERSION = "import iogauge, distributed; print(iogauge.__version__)"
_CONNECT_S = 20
_START_S = 60
"""How long all commands on a host may take until its worker is started; busy hosts import slowly."""
_REMOVE_S = 5
"""How long a host may take to remove the certificate of a worker that did not start."""


class SshWorkers:
    """The workers of a fleet on computers that ssh reaches. Its methods run in Dask's event loop."""

    def __init__(self, hosts: Sequence[HostEntry], *, port: int, keys: Path) -> None:
        """``port``: of the scheduler on this computer; ``keys``: a directory with a certificate for each host."""
        self._hosts = hosts
        self._port = port
        self._keys = keys
        self._connections: list[asyncssh.SSHClientConnection] = []
        self._processes: dict[str, asyncssh.SSHClientProcess[str]] = {}

    async def start(self) -> dict[str, IogaugeError]:
        """Start all workers at once; return why hosts cannot be used, by name, of those that cannot."""
        errors = await asyncio.gather(*map(self._refusal, self._hosts))
        return {host.name: error for host, error in zip(self._hosts, errors, strict=True) if error}

    async def close(self) -> None:
        """Close all connections. The workers end as the scheduler does, and remove their certificates."""
        for connection in self._connections:
            connection.close()

    def has_ended(self, name: str) -> bool:
        """Return whether the worker of a host is known to have ended. Its shell waits for it and says so."""
        status = self._processes[name].exit_status
        return status is not None and status >= 0

    def failure(self, name: str) -> IogaugeError | None:
        """Return why the worker of a host will never be there; None: it runs."""
        process = self._processes[name]
        if process.exit_status is None:
            return None
        said = last_lines(str(process.collect_output()[1] or ""))
        return IogaugeError(
            f"its worker ended with exit status {process.exit_status}{said and f': {said}'}",
            hint="check that the host can connect to this computer",
        )

    async def _refusal(self, host: HostEntry) -> IogaugeError | None:
        """Start a worker; return why it could not be started, if so."""
        import asyncssh

        hint = f"check that this works without a password: {_ssh(host)} true"
        try:
            async with asyncio.timeout(_START_S):
                await self._start(host)
        except IogaugeError as error:
            return error
        except TimeoutError:
            return IogaugeError(f"{host.login} did not answer by ssh within {_START_S} s", hint=hint)
        except (OSError, asyncssh.Error) as error:
            return IogaugeError(f"the ssh connection to {host.login} broke: {error}", hint=hint)
        return None

    async def _start(self, host: HostEntry) -> None:
        """Connect to a host and start its worker. Raises IogaugeError with the reason if that cannot be."""
        import asyncssh

        options: dict[str, Any] = {"username": host.user, "port": host.port}
        options = {name: value for name, value in options.items() if value is not None}
        try:
            connection = await asyncssh.connect(host.address, connect_timeout=_CONNECT_S, **options)
        except (OSError, asyncssh.Error, ValueError) as error:
            why = f"no answer for {_CONNECT_S} s" if isinstance(error, TimeoutError) else str(error)
            raise IogaugeError(
                f"no ssh connection to {host.login}: {why}",
                hint=f"check that this works without a password: {_ssh(host)} true",
            ) from None
        self._connections.append(connection)
        await self._check_version(host, connection)
        directory = await _made_directory(connection)
        try:
            await self._bring_keys(host, connection, directory)
            await self._start_worker(host, connection, directory)
        except BaseException:
            # No worker removes them at its end, or it may not.
            await _remove(connection, directory)
            raise

    async def _start_worker(
        self, host: HostEntry, connection: asyncssh.SSHClientConnection, directory: str
    ) -> None:
        import asyncssh

        # The address of this computer by which it reached the host; the host reaches this computer by the same.
        own = connection.get_extra_info("sockname")[0]
        scheduler = f"tls://[{own}]:{self._port}" if ":" in own else f"tls://{own}:{self._port}"
        command = worker_command(
            scheduler,
            host.name,
            python=host.python,
            keys=(f"{directory}/ca.pem", f"{directory}/host.pem", f"{directory}/host-key.pem"),
        )
        self._processes[host.name] = await connection.create_process(
            remote_command(directory, command),
            stdin=asyncssh.DEVNULL,
            stdout=asyncssh.DEVNULL,
        )

    async def _check_version(self, host: HostEntry, connection: asyncssh.SSHClientConnection) -> None:
        answer = await connection.run(f"{shlex.quote(host.python)} -c {shlex.quote(_VERSION)}")
        version = str(answer.stdout or "").strip()
        if version != __version__:
            said = last_lines(str(answer.stderr or ""), most=1)
            raise IogaugeError(
                f"it has iogauge {version}, and the controller {__version__}"
                if answer.exit_status == 0
                else f"{host.python} has no iogauge that can be part of a fleet{said and f': {said}'}",
                hint="install the controller's wheel there (docs/install.md says how it is made): "
                f"{copied(login=host.login, port=host.port)} && {_ssh(host)} {shlex.quote(install(host.python))}",
            )

    async def _bring_keys(
        self, host: HostEntry, connection: asyncssh.SSHClientConnection, directory: str
    ) -> None:
        """Copy a host's certificate to a directory of it."""
        import asyncssh

        names = ("ca.pem", "host.pem", "host-key.pem")
        try:
            for path, name in zip(key_files(self._keys, host.name), names, strict=True):
                save = f"umask 077 && cat > {shlex.quote(f'{directory}/{name}')}"
                await connection.run(save, input=path.read_text(), check=True)
        except (OSError, asyncssh.Error) as error:
            raise IogaugeError(
                f"its certificate cannot be saved there: {error}", hint="free some space there"
            ) from None


async def _made_directory(connection: asyncssh.SSHClientConnection) -> str:
    """Make a directory on a host for its certificate; return its path."""
    made = await connection.run("umask 077 && mktemp -d")
    directory = str(made.stdout or "").strip()
    if made.exit_status != 0 or not directory.startswith("/") or "\n" in directory:
        raise IogaugeError(
            f"no temporary directory can be made there: {last_lines(str(made.stderr or ''))}",
            hint="free some space there",
        )
    return directory


async def _remove(connection: asyncssh.SSHClientConnection, directory: str) -> None:
    """Remove a directory of a host, if the host still answers."""
    import asyncssh

    with contextlib.suppress(OSError, asyncssh.Error):
        async with asyncio.timeout(_REMOVE_S):
            await connection.run(f"rm -rf {shlex.quote(directory)}")


def remote_command(directory: str, command: Sequence[str]) -> str:
    """Return what the shell of a host runs: the worker; then its last words are said, and its directory is removed.

    Until it ends, what it says goes to a file: nobody reads it, and a full pipe would stop the worker.
    """
    log = shlex.quote(f"{directory}/log")
    end = f"tail -c 2000 {log} >&2; rm -rf {shlex.quote(directory)}"
    environment = " ".join(f"{name}={shlex.quote(value)}" for name, value in ENVIRONMENT.items())
    return f"trap {shlex.quote(end)} EXIT; {environment} {shlex.join(command)} 2> {log}"


def _ssh(host: HostEntry) -> str:
    """Return the command that logs in to a host."""
    return f"ssh {host.login}" if host.port is None else f"ssh -p {host.port} {host.login}"
