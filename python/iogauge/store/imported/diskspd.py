"""Makes steps of DiskSpd's results: what its XML and its text have in common.

A step is a time span. Its row sums up all threads and targets, since DiskSpd has percentiles only of that sum. They are
printed to three decimals of a millisecond, so they are exact to half a microsecond. A latency begins before the
submission: it is lat.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, JobFile, Kind
from iogauge.store.imported.steps import ImportedFigures, ImportedLatency, ImportedRow, PublishedQuantile
from iogauge.workload.diskspd import arguments, jobs

NAME = "diskspd"
HALF_DIGIT_NS = 500
"""Half of the last digit of a time in milliseconds with three decimals."""
MS = 10**6


@dataclass
class Part:
    """One thread on one target. Counts, and means in nanoseconds, by direction."""

    thread: int
    target: str
    ios: dict[Direction, int] = field(default_factory=dict)
    bytes: dict[Direction, int] = field(default_factory=dict)
    mean_ns: dict[Direction, float] = field(default_factory=dict)
    stddev_ns: dict[Direction, float] = field(default_factory=dict)


@dataclass
class Distribution:
    """One column of the table of percentiles, in nanoseconds."""

    quantiles: dict[float, float] = field(default_factory=dict)
    min_ns: float | None = None
    max_ns: float | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None

    def latency(self, count: int) -> ImportedLatency | None:
        """Return the column as a latency of ``count`` samples; None where it is empty."""
        if not count or (self.max_ns is None and self.mean_ns is None):
            return None
        return ImportedLatency(
            count=count,
            mean_ns=self.mean_ns,
            stddev_ns=self.stddev_ns,
            min_ns=self.min_ns,
            max_ns=self.max_ns,
            quantiles=tuple(
                PublishedQuantile(
                    q=q, value_ns=value, low_ns=max(value - HALF_DIGIT_NS, 0), high_ns=value + HALF_DIGIT_NS
                )
                for q, value in sorted(self.quantiles.items())
            ),
        )


def rows(
    parts: Sequence[Part],
    columns: Mapping[Direction, Distribution],
    together: Distribution,
    *,
    duration_s: float,
) -> tuple[ImportedRow, tuple[ImportedRow, ...]]:
    """Return the row of the total, and one row for every part."""
    total = Part(thread=0, target="")
    for part in parts:
        for direction in part.ios:
            total.ios[direction] = total.ios.get(direction, 0) + part.ios[direction]
            total.bytes[direction] = total.bytes.get(direction, 0) + part.bytes[direction]
    ios = sum(total.ios.values())
    latencies = {
        direction: column.latency(total.ios.get(direction, 0)) for direction, column in columns.items()
    }
    row = ImportedRow(
        name=NAME,
        duration_s=duration_s,
        figures=_figures(total, latencies, duration_s),
        together=together.latency(ios),
    )
    return row, tuple(
        ImportedRow(
            name=f"{part.thread}: {part.target}",
            duration_s=duration_s,
            figures=_figures(part, _means(part), duration_s),
        )
        for part in parts
    )


def _means(part: Part) -> dict[Direction, ImportedLatency | None]:
    return {
        direction: ImportedLatency(
            count=part.ios[direction],
            mean_ns=part.mean_ns[direction],
            stddev_ns=part.stddev_ns.get(direction),
        )
        for direction in part.mean_ns
        if part.ios.get(direction)
    }


def _figures(
    part: Part, latencies: Mapping[Direction, ImportedLatency | None], duration_s: float
) -> dict[Direction, ImportedFigures]:
    figures = {}
    for direction, ios in part.ios.items():
        if ios:
            latency = latencies.get(direction)
            figures[direction] = ImportedFigures(
                ios=ios,
                bytes=part.bytes[direction],
                iops=ios / duration_s if duration_s else 0.0,
                rate_Bps=part.bytes[direction] / duration_s if duration_s else 0.0,
                latencies={Kind.LAT: latency} if latency else {},
            )
    return figures


def failed(source: str, message: str) -> IogaugeError:
    """Return the error of a run that failed before it measured, in DiskSpd's own words."""
    text = "".join(character for character in " ".join(message.split()) if character.isprintable())
    return IogaugeError(
        f"{source}: DiskSpd failed: {text[:200]}",
        hint="look at DiskSpd's other output, fix the cause, and run it again to the end",
    )


def jobs_of(words: Iterable[str]) -> tuple[JobFile | None, tuple[str, ...]]:
    """Return the jobs of a command line, or a warning why there are none."""
    try:
        command = arguments.read(list(words), windows=True)
        return jobs.job_file(command, source=NAME), ()
    except IogaugeError as error:
        return None, (f"its load cannot be said as jobs: {error}",)


def started_at(text: str) -> str | None:
    """Return DiskSpd's time of day in ISO 8601; None where it is none.

    >>> started_at("2024/06/14 20:49:12 UTC")
    '2024-06-14T20:49:12+00:00'
    """
    match = re.fullmatch(r"(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d) UTC", text.strip())
    return f"{match[1]}-{match[2]}-{match[3]}T{match[4]}+00:00" if match else None


def split(command: str) -> list[str]:
    r"""Split a command line of Windows: words with blanks are quoted, and backslashes are literal.

    >>> split(r'diskspd.exe -b4k "C:\a b\t.dat"')
    ['diskspd.exe', '-b4k', 'C:\\a b\\t.dat']
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters, lexer.quotes = True, "", "", '"'
    try:
        return list(lexer)
    except ValueError:
        return command.split()
