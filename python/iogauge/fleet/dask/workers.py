"""The process that makes a computer a host: a Dask worker of one thread, without a nanny.

A nanny would start a killed worker again: but a host that was lost stays lost, since nobody can tell what its drives
have been through.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

ENVIRONMENT = {
    # The profiler of Dask would wake a host a hundred times a second while it measures.
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_LOGGING__DISTRIBUTED": "error",
}


def worker_command(
    scheduler: str, name: str, *, python: str, keys: tuple[str, str, str] | None = None
) -> list[str]:
    """Return the command that starts a worker.

    ``keys``: the files of the authority, and of the host's certificate and key; None: without TLS.
    """
    command = [
        *(python, "-m", "distributed.cli.dask_worker", scheduler),
        *("--name", name, "--nthreads", "1", "--memory-limit", "0", "--death-timeout", "300"),
        *("--no-nanny", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
    ]
    if keys is not None:
        authority, certificate, key = keys
        command += ["--tls-ca-file", authority, "--tls-cert", certificate, "--tls-key", key]
    return command


def last_lines(said: str, *, most: int = 5) -> str:
    """Return the last lines of what a process said, in one line.

    >>> last_lines("starting\\n\\nOSError: no space left\\nended\\n", most=2)
    'OSError: no space left | ended'
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " | ".join(lines[-most:])


def shares_of_cpus(hosts: int, cpus: Sequence[int]) -> list[Sequence[int]]:
    """Return the CPUs of each of several hosts of one computer: as many as can be its own, else one with others.

    Without shares, each would choose the same CPU for its first worker.

    >>> shares_of_cpus(2, range(5)), shares_of_cpus(3, [0, 1])
    ([range(0, 2), range(2, 5)], [[0], [1], [0]])
    """
    if hosts > len(cpus):
        return [cpus[at % len(cpus) :][:1] for at in range(hosts)]
    ends = [at * len(cpus) // hosts for at in range(hosts + 1)]
    return [cpus[begin:end] for begin, end in pairwise(ends)]


class LocalWorker:
    """A worker on this computer, in a session of its own: Ctrl-C reaches the controller only."""

    def __init__(
        self, name: str, command: Sequence[str], *, cpus: Sequence[int], environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self._log = os.memfd_create(f"worker {name}", os.MFD_CLOEXEC)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env={**os.environ, **ENVIRONMENT, **environment},
            start_new_session=True,
        )
        # It has one thread yet, from which all others and its processes inherit the CPUs. It may have ended.
        with suppress(ProcessLookupError):
            os.sched_setaffinity(self._process.pid, cpus)

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def failure(self) -> str | None:
        """Return what the worker said last if it has ended; None while it runs."""
        if self._process.poll() is None:
            return None
        said = last_lines(os.pread(self._log, 1 << 20, 0).decode(errors="replace"))
        return said or f"it ended with exit status {self._process.returncode}"

    def kill(self) -> None:
        """Kill the worker, without waiting for its end."""
        self._process.kill()

    def close(self) -> None:
        """Kill the worker, which may hang. The controller has closed its host before, if it could."""
        self._process.kill()
        self._process.wait()
        os.close(self._log)


@contextmanager
def local_workers(
    commands: Mapping[str, Sequence[str]], *, scratch: Path
) -> Iterator[tuple[LocalWorker, ...]]:
    """Start a worker for each host of this computer, and end them with the context.

    ``commands`` by the names of hosts; ``scratch``: a directory for Dask's own files.
    """
    started: list[LocalWorker] = []
    environment = {"DASK_TEMPORARY_DIRECTORY": str(scratch)}
    shares = shares_of_cpus(len(commands), sorted(os.sched_getaffinity(0)))
    try:
        for (name, command), cpus in zip(commands.items(), shares, strict=True):
            started.append(LocalWorker(name, command, cpus=cpus, environment=environment))
        yield tuple(started)
    finally:
        for worker in started:
            worker.close()
