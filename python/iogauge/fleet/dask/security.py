"""Which addresses need TLS, and Dask's settings for it."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.fleet.keys import CONTROLLER, key_files, making
from iogauge.text.option import option

if TYPE_CHECKING:
    from distributed import Security


def is_loopback(address: str) -> bool:
    """Return whether an address such as ``tcp://127.0.0.1:8786`` leads to this computer only.

    >>> [is_loopback(f"tcp://{host}:8786") for host in ("127.0.0.1", "[::1]", "localhost", "10.0.0.1", "db3")]
    [True, True, True, False, False]
    """
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_tls(address: str) -> None:
    """Raise UsageError for an address without TLS, unless it is on loopback and the user is not root.

    Any user of this computer can reach loopback, and so run code as whoever connects there. ``open_to_all`` warns users
    other than root of that.
    """
    if address.startswith("tls://"):
        return
    if address.startswith("tcp://") and is_loopback(address):
        if os.geteuid() != 0:
            return
        raise UsageError(
            f"{address}: without TLS, every user of this computer can run code as root",
            hint=_how_to(),
        )
    if not address.startswith("tcp://"):
        raise UsageError(
            f"{address}: is no address of a Dask scheduler", hint="tls://HOST:PORT, as the scheduler says"
        )
    raise UsageError(
        f"{address}: without TLS, whoever reaches this address can run code on every host",
        hint=_how_to(),
    )


def open_to_all(address: str) -> str:
    """Return the warning for an address without TLS, which only this computer's users reach; empty: it has TLS."""
    if address.startswith("tls://"):
        return ""
    return (
        f"{address} has no TLS: every user of this computer can run code as you on the scheduler and on all its "
        f"workers. To prevent that, {_how_to()}"
    )


def _how_to() -> str:
    return (
        f"make certificates: {making('keys', 'host1')}; start scheduler and workers with them,"
        f" and add {option('keys', 'keys')}"
    )


def security_for(address: str, keys: Path | None) -> Security:
    """Return how the controller connects to a scheduler.

    Raises UsageError for an address that needs TLS, and where ``keys`` and the address do not fit; IogaugeError if a
    key is missing.
    """
    from distributed import Security

    require_tls(address)
    if address.startswith("tcp://"):
        if keys is not None:
            raise UsageError(
                f"{address}: {option('keys')} is for a scheduler with TLS",
                hint="leave it out, or name the scheduler as tls://HOST:PORT",
            )
        return Security(require_encryption=False)
    if keys is None:
        raise UsageError(
            f"{address}: TLS needs the directory of the fleet's certificates",
            hint=f"add {option('keys', 'DIRECTORY')}",
        )
    return security_of(keys)


def security_of(keys: Path) -> Security:
    """Return Dask's settings for TLS with the controller's certificate. Raises IogaugeError if a key is missing."""
    from distributed import Security

    authority, certificate, key = map(str, key_files(keys, CONTROLLER))
    return Security(
        require_encryption=True,
        tls_ca_file=authority,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
    )
