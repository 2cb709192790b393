"""``iogauge verify``: whether a target holds what stamped writes wrote to it.

Read a target after a power cut, and say whether the drive kept its promises. A program wrote stamps, and a log beside
them on another disk (docs/faults.md). --after-crash LOG expects every write that was flushed, or had FUA; of others,
any version may be there. --after-run LOG is for a drive that kept its power: it expects every write that completed.

The answer comes first, then counts; -v names each block. A block is corrupt, misdirected, torn, late, stale or lost, or
it violates nothing. Part of a write may be missing beyond the atomic unit of the drive: --atomic-unit.

Exit status: 0 nothing violates; 1 error; 2 wrong usage; 3 blocks violate.

    iogauge verify /dev/nvme0n1 --after-crash=stamps.log

    iogauge verify drive.img --after-crash=stamps.log --atomic-unit=4k -v
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams


def verify(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The drive or file that was written.", show_default=False)
    ],
    after_crash: Annotated[
        Path | None,
        typer.Option("--after-crash", metavar="LOG", help="The log of the run; the power was cut."),
    ] = None,
    after_run: Annotated[
        Path | None,
        typer.Option("--after-run", metavar="LOG", help="The log of the run; the drive kept its power."),
    ] = None,
    atomic_unit: Annotated[
        str | None,
        typer.Option(
            "--atomic-unit",
            metavar="BYTES",
            help="What the drive writes whole or not at all.  "
            "[default: a drive's logical block, 512 for a file]",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Name each block.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all numbers.")] = False,
) -> None:
    """Print whether the drive kept its promises."""
    from iogauge.library.running.verification import verify

    process.begin()
    verification = verify(target, after_crash=after_crash, after_run=after_run, atomic_unit=atomic_unit)
    text = verification.text(verbose=verbose)
    streams.show(json.dumps(verification.to_dict(), indent=2, allow_nan=False) + "\n" if as_json else text)
    if verification.violations:
        raise typer.Exit(status.VIOLATED)
