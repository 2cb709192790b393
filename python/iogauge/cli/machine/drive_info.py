"""``iogauge drive-info``: what a drive says of itself.

Show what a drive says of itself: whether it is healthy, its power states and when it enters them, its features, its
SMART log and its errors. TARGET is a drive, a partition, an NVMe controller (/dev/nvme0), or a file on the drive.
It changes nothing: it sends only commands that read.

NVMe and SATA drives answer only root. Without root, and for other devices, it shows only what Linux knows of them.

    iogauge drive-info /dev/nvme0n1
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams


def drive_info(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A drive, or a file on it.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all values.")] = False,
) -> None:
    """Print what the drive says."""
    from iogauge.library.drive import info

    process.begin()
    drive = info.drive_info(target)
    streams.show(json.dumps(drive.to_dict(), indent=2, allow_nan=False) + "\n" if as_json else str(drive))
