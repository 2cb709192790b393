"""``iogauge audit``: the settings of a machine, and of the path to a drive, that change latency.

Show which settings of this machine differ from what low latency wants, why each matters, and the command that changes
it: processors, kernel, interrupts, PCIe, block layer and drive. Nothing is changed. With TARGET, the path to that drive
is looked at, too; TARGET is a drive, or a file on it.

What cannot be read is unknown, never as wanted; root reads more. A setting that differs is not a fault: measure what it
is worth on this machine before you keep a change.

    iogauge audit /dev/nvme0n1
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams


def audit(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="A drive, or a file on it.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every fact, also those as wanted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all facts.")] = False,
) -> None:
    """Print what differs."""
    from iogauge.library.audit import audit

    process.begin()
    result = audit(target)
    if as_json:
        streams.show(json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n")
    else:
        streams.show(result.to_text(every=every))
