"""``iogauge options``: the supported job options, from the table that the parser uses.

List the job options that are supported: fio's names, the values of each, and its default. With WORDs, list only the
options that mention one of them.

    iogauge options iodepth
"""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

from iogauge.cli.terminal import streams
from iogauge.text.grid import WIDTH


def options(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only options that mention any of these.")
    ] = None,
) -> None:
    """Print the options by chapter."""
    from iogauge.library import job_options
    from iogauge.text.grid import labelled

    lines = []
    for category, group in groupby(job_options.options(*words or ()), key=lambda option: option.category):
        lines += [category, ""]
        for option in group:
            aliases = f"  (also {', '.join(option.aliases)})" if option.aliases else ""
            lines += _at_bars(f"  {option.name}={option.syntax}{aliases}")
            lines += labelled("", f"{option.help} Default: {option.default}.", indent="      ", width=0)
        lines.append("")
    streams.show("".join(f"{line}\n" for line in lines))


def _at_bars(line: str) -> list[str]:
    """Return an option and its values in lines that fit, divided after ``|``."""
    lines = [""]
    for part in line.replace("|", "|\0").split("\0"):
        if len(lines[-1] + part) > WIDTH:
            lines.append(" " * 6)
        lines[-1] += part
    return lines
