"""``iogauge audit``: the settings of a machine, and of the path to a drive, that change latency.

Show which settings of this machine differ from what low latency wants, why each matters, and the command that changes
it: processors, kernel, interrupts, PCIe, block layer and drive. It changes nothing. With TARGET, a drive or a file on
it, it also reads the drive and the path to it.

A setting that cannot be read is unknown, never as wanted; root can read more. A setting that differs is not a fault:
measure what it is worth on this machine before you keep a change.

For a machine with Windows, --windows-script prints a PowerShell script that changes nothing. Run it there, and pass the
JSON that it writes to --import here.

    iogauge audit /dev/nvme0n1

    iogauge audit --windows-script --output audit.ps1

    iogauge audit --import audit.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.errors import UsageError


def audit(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="A drive, or a file on it.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every fact, also those as wanted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all facts.")] = False,
    windows_script: Annotated[
        bool, typer.Option("--windows-script", help="Print the script that reads a machine with Windows.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the script here.")
    ] = None,
    import_file: Annotated[
        Path | None, typer.Option("--import", metavar="FILE.json", help="Judge what the script wrote.")
    ] = None,
) -> None:
    """Print what differs."""
    from iogauge.library.audit import audit, windows_audit_script

    process.begin()
    if windows_script:
        if target is not None or import_file is not None or every or as_json:
            raise UsageError(
                "--windows-script prints a script, and audits nothing",
                hint="leave out everything but --output",
            )
        script = windows_audit_script(output, on_message=streams.say)
        streams.show(script if output is None else f"{output}\n")
        return
    if output is not None:
        raise UsageError("--output is for --windows-script", hint="redirect the standard output")
    result = audit(target, import_file=import_file)
    if as_json:
        streams.show(json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n")
    else:
        streams.show(result.to_text(every=every))
