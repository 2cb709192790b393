"""A run on one screen: its finding in a sentence, then a row for each job and direction.

Latencies are responses where requests had a schedule, and else lat. Figures have three digits: a single run of the
command computes no intervals.
"""

from __future__ import annotations

from iogauge.cli.brief.screen import EVERYTHING, rows_that_fit, wrapped
from iogauge.cli.brief.warnings import command_of, warning_lines
from iogauge.report import verified
from iogauge.report.run import endings
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.report.run.rows import Row, Stream, fraction, left_out, rows, supported
from iogauge.report.run.table import priority_words, title
from iogauge.schema import Direction, Job, Kind, RunRecord
from iogauge.stats.histogram import Histogram
from iogauge.text import numbers
from iogauge.text.grid import narrowed

LINES = 24
"""The most lines of a run, with its warnings."""
PERCENTILES = (50, 90, 99, 99.9, 99.99)
LEFT_OUT_FIRST = (
    "I/Os", "IOPS max", "IOPS min", "stddev", "min", "p90", "p99.99", "p50", "max", "p99.9", "MB/s"
)  # fmt: skip
"""The columns that a narrow terminal lacks, the first to go first; then the job's own percentiles, lowest first."""
_DEFAULT_LIST = Job(name="default").percentile_list
_NOUNS = {
    Direction.READ: "reads",
    Direction.WRITE: "writes",
    Direction.TRIM: "trims",
    Direction.SYNC: "syncs",
}

Part = tuple[Row, Stream]


def run_text(record: RunRecord, stats: IntervalStats, *, columns: int) -> str:
    """Return a run as lines of at most ``columns``; with those of its warnings they are at most ``LINES``."""
    most = LINES - len(
        warning_lines(record.warnings, command=command_of(record), columns=columns, marked=True)
    )
    return "".join(f"{line}\n" for line in _lines(record, stats, columns=columns, most=most))


def _lines(record: RunRecord, stats: IntervalStats, *, columns: int, most: int) -> list[str]:
    job_rows = list(rows(record))
    parts = [(row, stream) for row in job_rows for stream in row.streams]
    # A run that was interrupted early has no row.
    before = wrapped(title(job_rows[0]), columns=columns, most=2) if len(job_rows) == 1 else []
    before += [*wrapped(_headline(parts), columns=columns, most=2), ""]
    table = _table(parts, stats, columns=columns) if parts else []
    after = [*_notes(record, parts, table, columns), EVERYTHING]
    if not parts:
        return [*before[:-1], *after]
    return [*before, *rows_that_fit(table, most=most - len(before) - len(after)), *after]


def _headline(parts: list[Part]) -> str:
    """Return what the busiest job and direction reached, in a sentence."""
    if not parts:
        return "nothing completed"
    row, stream = max(parts, key=_weight)
    tally = row.tally(stream)
    noun = _NOUNS.get(stream, "I/Os") if isinstance(stream, Direction) else "I/Os"
    bytes_ = f" ({_megabytes(row, stream)} MB/s)" if tally.bytes else ""
    others = f"; the busiest of {len(parts)} rows" if len(parts) > 1 else ""
    cells = _latency_cells(row, stream)
    latency = f", half within {cells['p50']}" if cells.get("p50", "-") != "-" else ""
    if cells.get("p99", "-") != "-":
        latency += f", 99 % within {cells['p99']}"
    rate = numbers.within(row.iops(stream), None, None)
    depth = endings.depth_measured(row)
    at_depth = f"{depth}: " if depth else ""
    return f"{row.name}: {at_depth}{rate} {noun} a second{bytes_}{latency}{others}"


def _weight(part: Part) -> tuple[bool, int]:
    """Return what makes a part the busiest: what a job reads back counts less than what it is for."""
    row, stream = part
    own = not isinstance(stream, Direction) or any(stream in job.rw.directions for job in row.jobs)
    return own, row.tally(stream).ios


def _table(parts: list[Part], stats: IntervalStats, *, columns: int) -> list[str]:
    latencies = [_latency_cells(row, stream) for row, stream in parts]
    heads = list(dict.fromkeys(head for cells in latencies for head in cells))
    own = [head for head in heads if head.startswith("p") and head not in LEFT_OUT_FIRST and head != "p99"]
    failed = any(row.tally(stream).errors for row, stream in parts)
    spread = ["IOPS min", "IOPS max"]
    table = [["job", "", "IOPS", "MB/s", *heads, *(["errors"] if failed else []), "I/Os", *spread]]
    for (row, stream), cells in zip(parts, latencies, strict=True):
        tally = row.tally(stream)
        rates = stats.iops(stage=row.result.stage, row=row.result.row, direction=stream)
        table.append(
            [
                row.name,
                stream.value,
                numbers.within(row.iops(stream), None, None),
                _megabytes(row, stream),
                *(cells.get(head, "-") for head in heads),
                *([f"{sum(tally.errors.values()):,}"] if failed else []),
                f"{tally.ios:,}",
                *(
                    numbers.within(value, None, None) if rates.samples > 1 else "-"
                    for value in (rates.minimum, rates.maximum)
                ),
            ]
        )
        table += _by_priority(row, stream, heads, ["-"] if failed else [])
    return narrowed(table, [*LEFT_OUT_FIRST, *own[:-1]], columns=columns, left=2, names=["job"])


def _by_priority(row: Row, stream: Stream, heads: list[str], errors: list[str]) -> list[list[str]]:
    """Return a row for each I/O priority of a part's requests, if they had several."""
    table = []
    every = row.tally(stream).ios
    for priority, histogram in row.priorities(stream):
        cells = _cells(histogram, _percentiles(row))
        rate = row.iops(stream) * histogram.count / max(every, 1)
        latencies = [cells.get(head, "-") for head in heads]
        name = f"  {priority_words(priority)}"
        figures = [
            numbers.within(rate, None, None),
            "-",
            *latencies,
            *errors,
            f"{histogram.count:,}",
            "-",
            "-",
        ]
        table.append([row.name, name, *figures])
    return table


def _megabytes(row: Row, stream: Stream) -> str:
    return numbers.within(row.bandwidth_Bps(stream) / 1e6, None, None) if row.tally(stream).bytes else "-"


def _kind(row: Row, stream: Stream) -> Kind | None:
    """Return the latency to show: response where requests had a schedule; None if the job leaves all of them out."""
    first = [Kind.RESPONSE] if row.scheduled(stream) or row.commits(stream) else []
    return next((kind for kind in (*first, Kind.LAT, Kind.CLAT) if not left_out(row.job, kind)), None)


def _latency_cells(row: Row, stream: Stream) -> dict[str, str]:
    """Return the latencies of a part by the heads of their columns."""
    percentiles = _percentiles(row)
    kind = _kind(row, stream)
    histogram = None if kind is None else row.histogram(stream, kind)
    if histogram is None or not histogram.count:
        return _reported(row, stream, percentiles)
    return _cells(histogram, percentiles)


def _percentiles(row: Row) -> tuple[float, ...]:
    listed = row.job.percentile_list
    return PERCENTILES if listed == _DEFAULT_LIST else listed


def _cells(histogram: Histogram, percentiles: tuple[float, ...]) -> dict[str, str]:
    cells = {
        "mean": histogram.mean,
        **{f"p{percentile:.12g}": histogram.quantile(fraction(percentile)) for percentile in percentiles},
        "max": histogram.max,
        "min": histogram.min,
        "stddev": histogram.stddev,
    }
    few = {
        f"p{percentile:.12g}" for percentile in percentiles if not supported(histogram, fraction(percentile))
    }
    return {head: ("~" if head in few else "") + numbers.duration(cells[head], 3) for head in cells}


def _reported(row: Row, stream: Stream, percentiles: tuple[float, ...]) -> dict[str, str]:
    """Return the latencies that another program reported without samples."""
    for latency in row.record.reported:
        if (latency.stage, latency.row, latency.direction) == (row.result.stage, row.result.row, stream):
            known = {
                "mean": latency.mean_ns,
                **{f"p{p:.12g}": latency.quantiles_ns.get(fraction(p)) for p in percentiles},
                "max": latency.max_ns,
            }
            return {head: numbers.duration(value, 3) for head, value in known.items() if value is not None}
    return {}


def _notes(record: RunRecord, parts: list[Part], table: list[str], columns: int) -> list[str]:
    notes = []
    if any(_kind(*part) is Kind.RESPONSE for part in parts):
        notes.append("latencies count from when a request was due (a sync's: from the first write before it)")
    by_priority = sorted({row.priority_kind for row, stream in parts if row.priorities(stream)})
    if by_priority:
        notes.append(f"the latency of an I/O priority is {' or '.join(by_priority)}, as in fio")
    notes += numbers.meanings(table)
    all_rows = list(rows(record))
    # The headline of a single row has its depth.
    if len(all_rows) > 1 or not any(map(endings.depth_measured, all_rows)):
        notes += filter(None, map(endings.of_latency_target, all_rows))
    notes += filter(None, map(endings.of_steady_state, all_rows))
    notes += verified.checked(record)
    if record.result.stopped_by:
        reason = f": {record.result.error}" if record.result.error else ""
        notes.append(f"stopped by {record.result.stopped_by}{reason}")
    return [line for note in notes for line in wrapped(note, columns=columns, most=2)]
