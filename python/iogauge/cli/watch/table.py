"""The figures of jobs on the screen: rates, rates set and latencies of the latest interval."""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.cli.watch.clean import clean, fit
from iogauge.cli.watch.heat import Line
from iogauge.live.state import Row
from iogauge.text import numbers

_LATENCIES = {
    "mean": "mean_ns",
    "p50": "p50_ns",
    "p99": "p99_ns",
    "p99.9": "p999_ns",
    "p99.99": "p9999_ns",
    "max": "max_ns",
}
_LEFT_OUT = ("p99.99", "errors", "mean", "p99.9")
"""Columns to leave out on a narrow terminal, in this order."""
_FIRST = ("", "IOPS", "rate set", "MB/s")
"""The columns on the left, in this order."""
_GAP = 2


def directions_table(row: Row, *, columns: int) -> list[Line]:
    """Return a table of the latest interval of a row: a line for each direction, below the names of the columns."""
    last = row.last
    if last is None:
        return [[(f"{_name(row)}: no interval yet", "dim")]]
    ios, moved, errors = row.rates("ios"), row.rates("bytes"), row.rates("errors")
    records: list[dict[str, str]] = []
    for direction, figures in last["directions"].items():
        record = {"": direction, "IOPS": numbers.rate(ios.get(direction, 0.0))}
        if rate := row.asked_iops.get(direction):
            record["rate set"] = f"{numbers.rate(rate)} {ios.get(direction, 0.0) / rate:.0%}"
        record["MB/s"] = numbers.megabytes(moved.get(direction, 0.0), 4)
        for name, key in _LATENCIES.items():
            record[name] = "-" if figures[key] is None else numbers.duration(figures[key], 3)
        if errors.get(direction):
            record["errors"] = f"{figures['errors']:,}"
        records.append(record)
    if not records:
        return [[("nothing completed in the latest interval", "bold yellow")]]
    what = "ramp" if last["ramp"] else ""
    return _grid([{**record, "": f"{record['']} {what}".strip()} for record in records], columns=columns)


def jobs_line(rows: Sequence[Row], selected: int, *, columns: int) -> Line:
    """Return the jobs in one line, the chosen one marked; those around it if there is no room for all."""
    texts = [f"{number + 1} {_name(row)}" for number, row in enumerate(rows)]
    first = 0
    while first < selected and len("  ".join(texts[first : selected + 1])) > columns - 20:
        first += 1
    line: Line = [("jobs: " if first == 0 else "jobs: ... ", "dim")]
    used = len(line[0][0])
    for number in range(first, len(texts)):
        if used + len(texts[number]) + 16 > columns:
            line.append((f"and {len(texts) - number} more", "dim"))
            break
        mark = "[" + texts[number] + "]" if number == selected else texts[number]
        line.append((f"{mark}  ", "bold" if number == selected else ""))
        used += len(mark) + 2
    return line


def jobs_table(rows: Sequence[Row], selected: int, *, columns: int, most: int) -> list[Line]:
    """Return a line for each job, at most ``most`` around the chosen one: its rates and latencies together."""
    first = max(min(selected - most // 2, len(rows) - most), 0)
    records: list[dict[str, str]] = []
    for number in range(first, min(first + most, len(rows))):
        row = rows[number]
        ios, moved = row.rates("ios"), row.rates("bytes")
        mark = ">" if number == selected else " "
        record = {"": f"{mark}{number + 1} {_name(row)}", "IOPS": numbers.rate(sum(ios.values()))}
        if row.asked_iops:
            rate = sum(row.asked_iops.values())
            record["rate set"] = f"{numbers.rate(rate)} {sum(ios.values()) / rate:.0%}"
        record["MB/s"] = numbers.megabytes(sum(moved.values()), 4)
        for direction, figures in (row.last or {"directions": {}})["directions"].items():
            if figures["p99_ns"] is not None:
                record[f"{direction} p99"] = numbers.duration(figures["p99_ns"], 3)
        records.append(record)
    return _grid(records, columns=columns)


def _name(row: Row) -> str:
    return fit(clean(row.name), 24)


def _grid(records: Sequence[dict[str, str]], *, columns: int) -> list[Line]:
    """Return records as a table with aligned columns, without those that have no room."""
    names = list(dict.fromkeys(name for record in records for name in record))
    names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    left_out = list(_LEFT_OUT)
    while True:
        widths = {name: max(len(name), *(len(record.get(name, "")) for record in records)) for name in names}
        if sum(widths.values()) + _GAP * len(names) <= columns or not left_out:
            break
        gone = left_out.pop(0)
        names = [name for name in names if name != gone]

    def line(cells: dict[str, str]) -> str:
        first, *others = names
        right = (f"{'':{_GAP}}{cells.get(name, ''):>{widths[name]}}" for name in others)
        return f"{cells.get(first, ''):<{widths[first]}}{''.join(right)}"

    return [[(line({name: name for name in names}), "dim")], *([(line(record), "")] for record in records)]
