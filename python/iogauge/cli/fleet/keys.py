"""``iogauge fleet keys``: make the certificates with which the hosts of a fleet know each other.

Make a certificate authority in DIRECTORY, and a certificate for the controller and for each HOST. A directory that has
an authority keeps it and gets certificates for further hosts; no file is overwritten.

Whoever connects to a host's Dask worker can run code there. So beyond this computer every connection is encrypted, and
both ends show a certificate from here. Each certificate, a host's as well as the controller's, lets its holder run code
on the scheduler and on every host. So make an authority for each set of hosts that may trust each other.

Copy ca.pem, HOST.pem and HOST-key.pem to each host, and nothing else. Keep ca-key.pem to yourself: it makes further
certificates.

    iogauge fleet keys keys --host r1 --host r2
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams


def keys(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the keys are kept.")],
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NAME", help="A host, by its name in the fleet; repeatable."),
    ] = None,
) -> None:
    """Make the keys, and print the directory."""
    from iogauge.fleet.keys import make_keys

    process.begin()
    make_keys(directory, host or ())
    streams.show(f"{directory}\n")
