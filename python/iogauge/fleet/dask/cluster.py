"""Brings a fleet up and down: processes of this computer, computers reached by ssh, or the workers of a scheduler.

Each way ends in the same: a Dask client that talks to the workers directly, and a link for each host. The scheduler of
the first two lives in this process, so whatever ends this process ends the fleet.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet.dask.needed import needed
from iogauge.fleet.keys import making

if TYPE_CHECKING:
    from distributed import Client, Scheduler, Security

    from iogauge.fleet.control.link import Link
    from iogauge.fleet.hosts import HostEntry

CONNECT_S = 30.0
"""How long a scheduler may take to answer."""
START_S = 120.0
"""How long a worker on another computer may take to start and to connect: Python's modules may come over a network."""
_NEVER = float("inf")


@contextmanager
def local_fleet(names: Sequence[str], *, keys: Path | None = None) -> Iterator[tuple[Link, ...]]:
    """Start a worker for each name on this computer, on loopback; yield links to them.

    Connections are TLS: any user of this computer can reach loopback. ``keys``: a directory of certificates; None: they
    are made for this fleet only. Raises IogaugeError if a worker does not start.
    """
    from iogauge.fleet.dask.workers import local_workers, worker_command
    from iogauge.fleet.keys import key_files, make_keys

    with _quiet() as stack:
        scratch = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="iogauge-fleet-", ignore_cleanup_errors=True)
        )
        if keys is None:
            keys = Path(scratch) / "keys"
            make_keys(keys, names)
        scheduler, security = stack.enter_context(own_scheduler(host="127.0.0.1", keys=keys))
        commands = {}
        for name in names:
            authority, certificate, key = map(str, key_files(keys, name))
            files = (authority, certificate, key)
            command = worker_command(scheduler.address, name, python=sys.executable, keys=files)
            commands[name] = [*command, "--host", "127.0.0.1"]
        workers = stack.enter_context(local_workers(commands, scratch=Path(scratch)))

        client = stack.enter_context(connected(scheduler.address, security))
        by_name = {worker.name: worker for worker in workers}

        def failure(name: str) -> IogaugeError | None:
            if why := by_name[name].failure():
                return IogaugeError(
                    f"its process ended: {why}", hint="start fewer hosts, or remove the cause"
                )
            return None

        # A worker that runs connects at last, however busy this computer is. Dask ends it if it cannot.
        addresses, missing = _awaited(client, names, failure=failure, timeout_s=_NEVER)
        for name, error in missing.items():
            raise IogaugeError(f"{name}: {error}", hint=error.hint)
        yield links_to(
            client,
            addresses,
            has_ended=lambda name: by_name[name].has_ended,
            kill=lambda name: by_name[name].kill(),
        )


@contextmanager
def ssh_fleet(hosts: Sequence[HostEntry], *, keys: Path | None = None) -> Iterator[tuple[Link, ...]]:
    """Start a worker on each host by ssh; yield links to them.

    Connections between controller and hosts are TLS. ``keys``: a directory of certificates; None: they are made for
    this fleet only. A host that cannot be reached, or lacks this version of iogauge, has a link that refuses.
    """
    from iogauge.fleet.dask.ssh import SshWorkers
    from iogauge.fleet.keys import make_keys

    needed("asyncssh")
    names = [host.name for host in hosts]
    with _quiet() as stack:
        if keys is None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="iogauge-fleet-"))
            keys = Path(scratch) / "keys"
            make_keys(keys, names)
        # Every address of this computer: which one a host can reach, its ssh connection shows.
        scheduler, security = stack.enter_context(own_scheduler(host="", keys=keys))
        client = stack.enter_context(connected(f"tls://127.0.0.1:{scheduler.port}", security))
        workers = SshWorkers(hosts, port=scheduler.port, keys=keys)
        stack.callback(lambda: client.sync(workers.close))
        unreached = client.sync(workers.start)
        directories = {host.name: host.directory for host in hosts}
        addresses, missing = _awaited(
            client,
            [name for name in names if name not in unreached],
            failure=workers.failure,
            timeout_s=START_S + len(names) / 10,
        )
        links = links_to(client, addresses, directories, has_ended=workers.has_ended)
        yield _in_order(names, links, {**unreached, **missing})


@contextmanager
def scheduled_fleet(
    address: str, *, keys: Path | None = None, listed: Sequence[HostEntry] = ()
) -> Iterator[tuple[Link, ...]]:
    """Connect to a Dask scheduler; yield a link to each of its workers, every one of which is a host.

    ``listed``: the workers that are hosts, by name; empty: all. One that is not there has a link that refuses.
    Raises UsageError for an address that needs TLS; IogaugeError if the scheduler does not answer, has no worker, or
    has one that can be reached without TLS.
    """
    from iogauge.fleet.dask.security import require_tls, security_for

    with _quiet() as stack:
        client = stack.enter_context(connected(address, security_for(address, keys)))
        hosts = worker_addresses(client)
        if not hosts:
            raise IogaugeError(
                f"{address}: the scheduler has no worker",
                hint=f"start one on each host: {_worker(address, 'HOST')}",
            )
        for worker in hosts.values():
            require_tls(worker)
        names = [host.name for host in listed] or [*hosts]
        directories = {host.name: host.directory for host in listed}
        links = links_to(client, {name: hosts[name] for name in names if name in hosts}, directories)
        absent = {
            name: IogaugeError(
                "the scheduler has no worker of this name", hint=f"start one there: {_worker(address, name)}"
            )
            for name in names
            if name not in hosts
        }
        yield _in_order(names, links, absent)


def _worker(address: str, name: str) -> str:
    """Return the command that starts the worker of a host, in the directory of its certificate.

    >>> _worker("tcp://127.0.0.1:8786", "r1")
    'dask worker tcp://127.0.0.1:8786 --name r1 --nthreads 1 --memory-limit 0 --no-nanny --no-dashboard'
    >>> _worker("tls://10.0.0.1:8786", "r1").partition(" --no-dashboard ")[2]
    '--tls-ca-file ca.pem --tls-cert r1.pem --tls-key r1-key.pem'
    """
    command = f"dask worker {address} --name {name} --nthreads 1 --memory-limit 0 --no-nanny --no-dashboard"
    if not address.startswith("tls://"):
        return command
    return f"{command} --tls-ca-file ca.pem --tls-cert {name}.pem --tls-key {name}-key.pem"


@contextmanager
def _quiet() -> Iterator[ExitStack]:
    """Require Dask, keep it quiet, and yield a stack for what the fleet is made of."""
    needed("distributed")
    from iogauge.fleet.dask.quiet import quiet

    with quiet(), ExitStack() as stack:
        yield stack


@contextmanager
def own_scheduler(*, host: str, keys: Path | None) -> Iterator[tuple[Scheduler, Security]]:
    """Run a scheduler in a thread of this process; yield it, and how to connect to it.

    ``host``: the address on which it listens; empty: on all, which needs ``keys``.
    """
    from distributed import Scheduler, Security
    from distributed.utils import LoopRunner

    from iogauge.fleet.dask.security import security_of

    security = Security(require_encryption=False) if keys is None else security_of(keys)

    async def start() -> Scheduler:
        scheduler = Scheduler(
            host=host,
            port=0,
            protocol="tcp" if keys is None else "tls",
            security=security,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
        )
        await scheduler
        return scheduler

    runner = LoopRunner()
    runner.start()
    try:
        scheduler = runner.run_sync(start)
        try:
            yield scheduler, security
        finally:
            runner.run_sync(scheduler.close)
    finally:
        runner.stop()


@contextmanager
def connected(address: str, security: Security) -> Iterator[Client]:
    """Connect to a scheduler. Raises IogaugeError if it does not answer, or refuses the certificate."""
    from distributed import Client

    try:
        client = Client(
            address, security=security, timeout=CONNECT_S, direct_to_workers=True, heartbeat_interval="5s"
        )
    except (OSError, ValueError, TypeError) as error:
        reason = str(error.__cause__ or error) or type(error).__name__
        raise IogaugeError(
            f"{address}: no connection to a Dask scheduler: {reason}",
            hint="check that it runs and, with TLS, that its certificate and yours are of the same authority:"
            f" {making('DIRECTORY', 'HOST')}",
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=5)


def worker_addresses(client: Client) -> dict[str, str]:
    """Return the addresses of all workers by the names of their hosts, sorted by name."""
    workers: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    hosts = {host_name(str(worker["name"])): address for address, worker in workers.items()}
    if len(hosts) < len(workers):
        raise UsageError("two workers have the same name", hint="start each with a name of its own")
    return dict(sorted(hosts.items()))


def host_name(worker: str) -> str:
    """Return the name of a host for a worker's; Dask's own are addresses. Raises UsageError if nothing is left of it.

    >>> host_name("db3"), host_name("tls://10.0.0.3:4123")
    ('db3', '10.0.0.3-4123')
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", worker.rpartition("://")[2]).strip("-._")[:63]
    if not name:
        raise UsageError(
            f"a worker of the scheduler is called {worker!r}, which has no letter or digit of ASCII",
            hint="start it with a name of letters and digits",
        )
    return name


def links_to(
    client: Client,
    hosts: Mapping[str, str],
    directories: Mapping[str, str | None] = MappingProxyType({}),
    *,
    has_ended: Callable[[str], bool] = lambda _: False,
    kill: Callable[[str], None] = lambda _: None,
) -> tuple[Link, ...]:
    """Return a link to each host.

    ``hosts``: addresses of workers by name; ``directories``: where hosts keep their reviews, if not at their own place;
    ``has_ended`` returns whether the worker of a host is known to have ended, ``kill`` kills it if it can be.
    """
    from iogauge.fleet.dask.actor import DaskLink

    return tuple(
        DaskLink(
            name,
            client,
            address,
            directory=directories.get(name),
            has_ended=partial(has_ended, name),
            kill=partial(kill, name),
        )
        for name, address in hosts.items()
    )


def _in_order(
    names: Sequence[str], links: Sequence[Link], unreached: Mapping[str, IogaugeError]
) -> tuple[Link, ...]:
    """Return the links to hosts in the order of their names, with links that refuse for those not reached."""
    from iogauge.fleet.control.unreached import UnreachedLink

    by_name: dict[str, Link] = {link.name: link for link in links}
    by_name |= {name: UnreachedLink(name, error) for name, error in unreached.items()}
    return tuple(by_name[name] for name in names)


def _awaited(
    client: Client,
    names: Sequence[str],
    *,
    failure: Callable[[str], IogaugeError | None],
    timeout_s: float,
) -> tuple[dict[str, str], dict[str, IogaugeError]]:
    """Wait until all workers are there, at most ``timeout_s``; return the addresses of those, and why others are not.

    ``failure`` returns why the worker of a host will never be there; None: it still may.
    """
    deadline = time.monotonic() + timeout_s
    failed: dict[str, IogaugeError] = {}
    while True:
        hosts = worker_addresses(client)
        for name in names:
            if name not in hosts and name not in failed and (error := failure(name)) is not None:
                failed[name] = error
        missing = [name for name in names if name not in hosts and name not in failed]
        if missing and time.monotonic() <= deadline:
            time.sleep(0.05)
            continue
        for name in missing:
            failed[name] = IogaugeError(
                f"its worker did not connect to this computer within {timeout_s:.0f} s",
                hint="check that no firewall keeps the host from connecting to this computer",
            )
        return {name: hosts[name] for name in names if name not in failed}, failed
