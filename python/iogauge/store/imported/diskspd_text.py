"""Reads the tables that DiskSpd prints as text.

Counts are exact; latencies have three decimals of a millisecond. Columns are found by their headings, since some exist
only with -L or -D. Each time span of a text becomes a step; the totals at its end are not read.

Source: DiskSpd 2.2 (ResultParser.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from iogauge.schema import Direction, JobFile
from iogauge.store.imported import diskspd
from iogauge.store.imported.diskspd import MS, Distribution, Part
from iogauge.store.imported.document import damaged, integer, number
from iogauge.store.imported.steps import ImportedStep

_BEGIN = re.compile(r"^Results for timespan \d+:\s*$", re.MULTILINE)
_SECTIONS = ((Direction.READ, "Read IO"), (Direction.WRITE, "Write IO"))
_QS = {"25th": 0.25, "50th": 0.5, "75th": 0.75, "90th": 0.9, "95th": 0.95, "99th": 0.99} | {
    f"{nines}-nines": float(f"0.{'9' * nines}") for nines in range(3, 10)
}


def recognised(text: str) -> bool:
    """Return whether a text is DiskSpd's."""
    return _BEGIN.search(text) is not None


def read(text: str, path: Path) -> tuple[ImportedStep, ...]:
    """Return the time spans of a text as steps. Raises ``IogaugeError`` if it is damaged."""
    source = str(path)
    text = text.replace("\r\n", "\n")
    head, *spans = _BEGIN.split(text)
    match = re.search(r"^Command Line: (.*)$", head, re.MULTILINE)
    command = match[1].strip() if match else ""
    begun = re.search(r"^\tstart time: (.*)$", head, re.MULTILINE)
    # With -X, the command line names a file, which is not at hand.
    jobs, said = diskspd.jobs_of(diskspd.split(command)) if command else (None, ("it has no command line",))
    return tuple(
        _step(
            # The totals of all spans follow the last one.
            span.partition("\nTotals:\n")[0],
            label=path.stem if len(spans) == 1 else f"{path.stem}-{place}",
            command=command,
            jobs=jobs,
            said=said,
            started_at=diskspd.started_at(begun[1]) if begun else None,
            source=source,
        )
        for place, span in enumerate(spans, start=1)
    )


def _step(
    span: str,
    *,
    label: str,
    command: str,
    jobs: JobFile | None,
    said: tuple[str, ...],
    started_at: str | None,
    source: str,
) -> ImportedStep:
    time = re.search(r"^actual test time:\s*([0-9.]+)s$", span, re.MULTILINE)
    if time is None:
        message = next((line.strip() for line in span.splitlines() if line.strip(" *\t")), "")
        if message.endswith("."):
            raise diskspd.failed(source, message)
        raise damaged(source, "has no 'actual test time'")
    duration_s = number(time[1], source=source, what="actual test time")
    parts: dict[tuple[int, int], Part] = {}
    for direction, title in _SECTIONS:
        for place, cells in enumerate(_table(span, title, source)):
            _add(parts, place, direction, cells, source)
    if not parts:
        raise damaged(source, "has no line for any thread")
    columns, together = _distribution(span, source)
    for column, title in (
        (together, "Total IO"),
        *((columns[direction], title) for direction, title in _SECTIONS),
    ):
        if column.max_ns is not None:
            column.mean_ns, column.stddev_ns = _totals(span, title, source)
    row, part_rows = diskspd.rows(list(parts.values()), columns, together, duration_s=duration_s)
    warnings = () if together.quantiles else ("latencies were not measured: DiskSpd measures them with -L",)
    return ImportedStep(
        label=label,
        tool="diskspd",
        version="",
        source=source,
        rows=(row,),
        parts=part_rows,
        command=command or None,
        jobs=jobs,
        started_at=started_at,
        warnings=(*warnings, *said),
    )


def _table(span: str, title: str, source: str) -> Iterator[dict[str, str]]:
    """Yield the line of each thread of a section, by column."""
    lines = iter(span.partition(f"\n{title}\n")[2].splitlines())
    names = [name.strip() for name in next(lines, "").split("|")]
    if names[0] != "thread":
        raise damaged(source, f"the section '{title}' is missing or has no heading")
    next(lines, None)
    for line in lines:
        if line.startswith("-") or not line.strip():
            return
        # The file's name is last, and may contain any character.
        cells = [cell.strip() for cell in line.split("|", len(names) - 1)]
        if len(cells) != len(names):
            raise damaged(source, f"{line[:60]!r} has {len(cells)} columns instead of {len(names)}")
        yield dict(zip(names, cells, strict=True))


def _totals(span: str, title: str, source: str) -> tuple[float | None, float | None]:
    """Return mean and standard deviation of a section's latencies, in nanoseconds."""
    section = span.partition(f"\n{title}\n")[2].partition("\n\n")[0]
    heading, total = (
        re.search(pattern, section, re.MULTILINE) for pattern in (r"^thread .*$", r"^total: .*$")
    )
    if heading is None or total is None:
        raise damaged(source, f"the section '{title}' has no total")
    # This line begins with the bytes, the second column of the other lines.
    names, figures = ([cell.strip() for cell in line[0].split("|")] for line in (heading, total))
    cells = dict(zip(names[1:], figures, strict=False))
    mean, deviation = (
        None if cells.get(name, "N/A") == "N/A" else number(cells[name], source=source, what=name) * MS
        for name in ("AvgLat", "LatStdDev")
    )
    return mean, deviation


def _add(
    parts: dict[tuple[int, int], Part], place: int, direction: Direction, cells: dict[str, str], source: str
) -> None:
    thread = integer(cells["thread"], source=source, what="a thread")
    target = re.sub(r" \([^()]*\)$", "", cells.get("file", ""))
    part = parts.setdefault((place, thread), Part(thread=thread, target=target))
    part.ios[direction] = integer(cells.get("I/Os"), source=source, what="I/Os")
    part.bytes[direction] = integer(cells.get("bytes"), source=source, what="bytes")
    for held, name in ((part.mean_ns, "AvgLat"), (part.stddev_ns, "LatStdDev")):
        if cells.get(name, "N/A") != "N/A" and part.ios[direction]:
            held[direction] = number(cells[name], source=source, what=name) * MS


def _distribution(span: str, source: str) -> tuple[dict[Direction, Distribution], Distribution]:
    columns = [Distribution(), Distribution(), Distribution()]
    lines = span.partition("\nTotal latency distribution:\n")[2].splitlines()[2:]
    for line in lines:
        name, *cells = (cell.strip() for cell in line.split("|"))
        if len(cells) != len(columns):
            break
        for column, cell in zip(columns, cells, strict=True):
            if cell == "N/A":
                continue
            value_ns = round(
                number(cell.removeprefix("~").lstrip(), source=source, what=f"the percentile {name}") * MS
            )
            if name == "min":
                column.min_ns = value_ns
            elif name == "max":
                column.max_ns = value_ns
            elif name in _QS:
                column.quantiles[_QS[name]] = value_ns
            else:
                raise damaged(source, f"{name[:40]!r} is not a percentile")
    return {Direction.READ: columns[0], Direction.WRITE: columns[1]}, columns[2]
