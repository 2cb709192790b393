"""The output formats of ``iogauge run``. As in fio, their order is fixed: terse, JSON, the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iogauge.cli.terminal import status

if TYPE_CHECKING:
    from iogauge.report.run.diskspd_rates import DiskspdRates
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.schema import RunRecord

NAMES = ("terse", "json", "json+", "normal")
"""In the order in which they are printed."""
ALIASES = {"minimal": "terse", "csv": "terse"}
"""fio's other names of formats."""


@dataclass(frozen=True)
class Formats:
    """The formats to print, in order. With a ``diskspd`` command line, ``normal`` prints DiskSpd's tables."""

    names: tuple[str, ...]
    terse_version: int = 3
    diskspd: str | None = None
    columns: int = 0
    """The width of the table, which then fits on a screen with its warnings; 0: print everything."""

    def render(self, record: RunRecord, stats: IntervalStats, rates: DiskspdRates, *, warnings: str) -> str:
        """Return a run in every format. ``warnings`` is text that follows the table; it may be empty."""
        from iogauge.cli.brief.run import run_text
        from iogauge.report.run import diskspd_table, jsonplus, table, terse

        texts = []
        for name in self.names:
            if name == "terse":
                texts.append(terse.render(record, stats, version=self.terse_version))
            elif name != "normal":
                texts.append(jsonplus.render(record, stats, plus=name == "json+") + "\n")
            elif self.columns:
                texts.append(run_text(record, stats, columns=self.columns))
            elif self.diskspd is None:
                texts += [table.render(record, stats), warnings]
            else:
                texts += [diskspd_table.render(record, rates, command=self.diskspd), warnings]
        return "\n".join(filter(None, texts))

    def warnings(self, record: RunRecord, *, shown: str) -> str:
        """Return the warnings of a run: a line each below a table that fits on a screen, else with their remedies.

        ``shown`` is the text with the table.
        """
        from iogauge.cli.brief.warnings import command_of, warning_lines
        from iogauge.report.run import surroundings
        from iogauge.text import numbers

        if not self.columns or "normal" not in self.names:
            return surroundings.warnings(record.warnings)
        marked = numbers.TOO_FEW in numbers.meanings(shown.splitlines())
        lines = warning_lines(
            record.warnings, command=command_of(record), columns=self.columns, marked=marked
        )
        return "".join(f"{line}\n" for line in lines)


def chosen(text: str, *, terse_version: int, diskspd: str | None, columns: int = 0) -> Formats:
    """Return the formats that --output-format names. DiskSpd's tables are always whole. Raises UsageError."""
    names = {ALIASES.get(name, name) for name in map(str.strip, text.split(","))}
    for name in sorted(names.difference(NAMES)):
        raise status.UsageError(
            f"--output-format: {name!r} is not a format", hint=f"use one of {', '.join(NAMES)}"
        )
    if "json+" in names:
        names.discard("json")  # json+ has everything that json has.
    return Formats(
        tuple(name for name in NAMES if name in names), terse_version, diskspd, 0 if diskspd else columns
    )
