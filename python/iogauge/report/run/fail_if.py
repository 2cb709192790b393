"""Conditions on a run's results, for scripts: ``--fail-if 'p99.9 > 1ms'``.

    [job=NAME:] [read|write|trim|sync .] [lat|clat|slat|response|queued|lateness|loop_gap .] FIGURE OP VALUE

FIGURE is ``pQ`` (``p99.9``), ``mean``, ``min``, ``max``, ``stddev`` of a latency (lat where none is named), or
``iops``, ``bw``, ``ios``, ``errors``, ``short``, ``late``, ``flagged``. OP is one of ``> >= < <= == !=``.

A condition is checked on each reported row, or on the rows named NAME. If the condition names no direction, a latency
is checked in each direction, and counts and rates are summed over all directions.

A quantile that its sample cannot support is not compared: its true value may lie on either side of the threshold.
Its ``Violation`` is marked ``unknown``, unless a lower quantile already exceeds the threshold. The command reports it
as an error and says how much longer to run.

``cli`` decides the exit status. Conditions on the tables of reviews and comparisons are in ``report.conditions``.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Literal, NoReturn

from iogauge.errors import IogaugeError, UsageError
from iogauge.report.run.rows import Row, rows, supported
from iogauge.schema import Direction, Job, JobFile, Kind, RunRecord
from iogauge.stats.figure import Figure
from iogauge.stats.histogram import Histogram, needed
from iogauge.stats.limits import Outcome, Ruling, lower_quantiles, rule
from iogauge.text import numbers
from iogauge.text.option import option

Measure = Literal["duration", "bandwidth", "number"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_MOMENTS = ("mean", "min", "max", "stddev")
_COUNTS = ("ios", "errors", "short", "late", "flagged")
_UNITS: dict[Measure, dict[str, int]] = {
    "duration": {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    "bandwidth": {
        "B/s": 1,
        "kB/s": 10**3,
        "MB/s": 10**6,
        "GB/s": 10**9,
        "KiB/s": 1 << 10,
        "MiB/s": 1 << 20,
        "GiB/s": 1 << 30,
    },
    "number": {"": 1, "k": 10**3, "M": 10**6, "G": 10**9},
}
_EXAMPLE = "write for example 'p99.9 > 1ms', 'read.p99 > 200us', 'iops < 10000' or 'write.bw < 100MB/s'"
_SHAPE = re.compile(r"(?P<metric>[^<>=!]*)(?P<op>>=|<=|==|!=|>|<)(?P<value>[^<>=!]*)")
_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_VALUE = re.compile(r"(\d+(?:\.\d+)?)\s*([^\d\s.]*)")


@dataclass(frozen=True)
class Violation:
    """One row and direction that meets a condition, or for which the condition cannot be judged (``unknown``).

    ``measured`` is in ns, B/s or plain numbers; None if unknown. ``message`` is the sentence for a person, ``brief``
    the same in at most a line; empty: the message is brief.
    """

    condition: str
    row: str
    direction: Direction | None
    measured: float | None
    message: str
    hint: str | None = None
    unknown: bool = False
    brief: str = ""


@dataclass(frozen=True)
class Condition:
    """A parsed ``--fail-if``. ``measure`` is the unit of ``threshold``: ns, B/s or plain numbers."""

    text: str
    figure: str
    op: str
    threshold: float
    measure: Measure
    job: str | None = None
    direction: Direction | None = None
    kind: Kind = Kind.LAT
    q: float | None = None
    """The quantile as a fraction in (0, 1), if the figure is a quantile."""

    def concerns(self, jobs: JobFile) -> bool:
        """Return whether any job of ``jobs`` can meet the condition."""
        return any(self._concerns(job) for job in jobs.jobs if self.job in (None, job.name))

    def require(self, jobs: JobFile) -> None:
        """Raise IogaugeError if no job of ``jobs`` can meet the condition: a misspelling, reported before the run."""
        named = [job for job in jobs.jobs if self.job in (None, job.name)]
        if not named:
            refuse(
                self.text, f"there is no job {self.job!r}", near=self.job, of={job.name for job in jobs.jobs}
            )
        if not any(map(self._concerns, named)):
            issued = sorted({direction.value for job in named for direction in _issued(job)})
            raise IogaugeError(
                f"{option('fail_if')} '{self.text}': no job issues a {self.direction}",
                hint=f"name a direction that is issued: {', '.join(issued)}",
            )

    def check(self, record: RunRecord) -> list[Violation]:
        """Return the rows and directions that meet the condition, or for which it is unknown; empty if there are none.

        A condition on writes is not checked on a row that only reads.
        """
        named = [row for row in rows(record) if self.job in (None, row.name)]
        if not named:
            names = {row.name for row in rows(record)}
            refuse(self.text, f"the run has no row {self.job!r}", near=self.job, of=names)
        concerned = [row for row in named if any(map(self._concerns, row.jobs))]
        return [violation for row in concerned for violation in self._check_row(row)]

    def _concerns(self, job: Job) -> bool:
        return self.direction is None or self.direction in _issued(job)

    def _check_row(self, row: Row) -> Iterable[Violation]:
        if self.figure in ("iops", "bw", *_COUNTS):
            directions = [self.direction] if self.direction else list(Direction)
            yield from self._judge(row, self.direction, self._rate_or_count(row, directions))
            return
        if self.kind is Kind.LOOP_GAP:
            yield from self._latency(row, None)
            return
        directions = [self.direction] if self.direction else list(row.directions)
        if not directions:
            yield self._unknown(row, None, "nothing completed")
        for direction in directions:
            yield from self._latency(row, direction)

    def _rate_or_count(self, row: Row, directions: list[Direction]) -> float:
        if self.figure == "iops":
            return sum(row.iops(direction) for direction in directions)
        if self.figure == "bw":
            return sum(row.bandwidth_Bps(direction) for direction in directions)
        tallies = [row.tally(direction) for direction in directions]
        if self.figure == "errors":
            return sum(sum(tally.errors.values()) for tally in tallies)
        return float(sum(getattr(tally, self.figure) for tally in tallies))

    def _latency(self, row: Row, direction: Direction | None) -> Iterable[Violation]:
        histogram = row.histogram(direction, self.kind) if direction else row.loop_gap
        if histogram is None:
            yield self._unknown(
                row, direction, f"{self.kind.value} is unknown: the engine makes no call to submit"
            )
        elif histogram.count == 0 or (self.figure == "stddev" and histogram.count < 2):
            yield self._unknown(row, direction, f"{numbers.counted(histogram.count, 'sample')} only")
        elif self.q is None:
            yield from self._judge(row, direction, float(getattr(histogram, self.figure)))
        elif supported(histogram, self.q):
            yield from self._judge(row, direction, float(histogram.quantile(self.q)))
        else:
            yield self._unsupported(row, direction, histogram, self.q)

    def _judge(self, row: Row, direction: Direction | None, measured: float) -> Iterable[Violation]:
        if OPERATORS[self.op](measured, self.threshold):
            message = (
                f"{_scope_text(row, direction)} {self._name()} is {self._written(measured)} ({self.text})"
            )
            yield Violation(self.text, row.name, direction, measured, message)

    def _unsupported(
        self, row: Row, direction: Direction | None, histogram: Histogram, q: float
    ) -> Violation:
        """Return what is known of a quantile without the samples for it: perhaps a lower one decides."""
        figure = _quantile(histogram, q)
        ruling = ruled(figure, self.op, self.threshold, lower_quantiles(q, partial(_quantile, histogram)))
        if ruling.outcome is Outcome.MISSED:
            message = f"{_scope_text(row, direction)} {self._name()} is {figure}; {ruling.why} ({self.text})"
            return Violation(self.text, row.name, direction, figure.value, message)
        hint = f"run {figure.needed / figure.count:.3g} times as long, or choose a lower quantile"
        return self._unknown(row, direction, ruling.reason, hint=hint)

    def _unknown(
        self, row: Row, direction: Direction | None, reason: str, *, hint: str | None = None
    ) -> Violation:
        message = f"{_scope_text(row, direction)} {self._name()} cannot be judged: {reason} ({self.text})"
        return Violation(self.text, row.name, direction, None, message, hint, unknown=True)

    def _name(self) -> str:
        return self.figure if self.figure in ("iops", "bw", *_COUNTS) else f"{self.kind.value} {self.figure}"

    def _written(self, value: float) -> str:
        if self.measure == "duration":
            return numbers.duration(value)
        return numbers.bandwidth(value) if self.measure == "bandwidth" else numbers.figure(value)


def parse(text: str) -> Condition:
    """Return the condition that ``text`` states. Raises UsageError, with a hint, if it states none.

    >>> parse("read.p99.9 > 1ms").threshold, parse("job=log: write.bw < 100MB/s").job
    (1000000.0, 'log')
    """
    job, rest = None, text.strip()
    if rest.startswith("job="):
        job, colon, rest = (part.strip() for part in rest.removeprefix("job=").rpartition(":"))
        if not colon or not job:
            refuse(text, "a colon must follow job=NAME", hint="write 'job=NAME: p99 > 1ms'")
    shape = _SHAPE.fullmatch(rest)
    if not shape:
        refuse(text, "not a figure, a comparison and a value", hint=_EXAMPLE)
    if "[" in shape["metric"]:
        refuse(text, "a run has neither suites nor positions", hint=_EXAMPLE)
    *scopes, figure = parts_of(shape["metric"].strip())
    q = quantile_of(text, figure)
    measure: Measure = "duration"
    if figure == "bw":
        measure = "bandwidth"
    elif figure == "iops" or figure in _COUNTS:
        measure = "number"
    elif q is None and figure not in _MOMENTS:
        known = {"p50", "p99", "p99.9", "iops", "bw", *_MOMENTS, *_COUNTS}
        refuse(text, f"{figure!r} is not a figure of a run", near=figure, of=known)
    direction, kind = _scopes(text, scopes)
    if kind and measure != "duration":
        refuse(
            text, f"{figure} is not a figure of {kind.value}", hint=f"write {figure!r} without {kind.value!r}"
        )
    if kind is Kind.LOOP_GAP and direction:
        refuse(text, "the loop gap belongs to no direction", hint=f"leave out {direction.value!r}")
    threshold = threshold_of(text, shape["value"].strip(), measure)
    return Condition(
        text.strip(), figure, shape["op"], threshold, measure, job, direction, kind or Kind.LAT, q
    )


def ruled(figure: Figure, op: str, threshold: float, lower: Iterable[Figure] = ()) -> Ruling:
    """Return whether a figure meets the limit that a condition sets: the condition holds if the limit is missed.

    ``op`` is ``>``, ``>=``, ``<`` or ``<=``, and ``lower`` as in ``stats.limits.rule``. A figure that has no interval,
    as another program reports it, is judged by its value.

    >>> [ruled(Figure(5, *ends), ">", 4.5).outcome.value for ends in ((4.6, 6), (4, 6), (None, 6), ())]
    ['missed', 'not shown', 'not shown', 'missed']
    >>> [ruled(Figure(5, 5, 5), op, 5).outcome.value for op in OPERATORS if op in (">", ">=", "<", "<=")]
    ['missed', 'missed', 'met', 'met']
    """
    return rule(
        _bounded(figure),
        threshold,
        upper=op in (">", ">="),
        lower=list(map(_bounded, lower)),
        equal=op in (">", "<"),
    )


def _bounded(figure: Figure) -> Figure:
    exact = figure.low is None and figure.high is None and figure.long_enough
    return replace(figure, low=figure.value, high=figure.value) if exact else figure


def _quantile(histogram: Histogram, q: float) -> Figure:
    return Figure(
        float(histogram.quantile(q)),
        supported=supported(histogram, q),
        needed=needed(q),
        count=histogram.count,
    )


def parts_of(metric: str) -> list[str]:
    """Return the parts of a metric between its dots; the dot inside ``p99.9`` does not count.

    >>> parts_of("read.lat.p99.9")
    ['read', 'lat', 'p99.9']
    """
    parts = metric.split(".")
    if len(parts) > 1 and parts[-1].isdigit() and re.fullmatch(r"p\d+", parts[-2]):
        parts[-2:] = [".".join(parts[-2:])]
    return parts


def quantile_of(text: str, figure: str) -> float | None:
    """Return the quantile of a figure such as ``p99.9``; None: it is another figure. ``text`` is the condition."""
    match = _QUANTILE.fullmatch(figure)
    if not match:
        return None
    q = float(Decimal(match[1]) / 100)
    if not 0 < q < 1:
        refuse(text, f"{figure} is not a quantile between 0 and 100", hint="use 'min' or 'max' for the ends")
    return q


def _scopes(text: str, scopes: list[str]) -> tuple[Direction | None, Kind | None]:
    direction: Direction | None = None
    kind: Kind | None = None
    for word in scopes:
        if word in list(Direction) and direction is None and kind is None:
            direction = Direction(word)
        elif word in list(Kind) and kind is None:
            kind = Kind(word)
        else:
            known = {str(name) for name in (*Direction, *Kind)}
            refuse(
                text,
                f"{word!r} is not a direction or a latency, or stands in the wrong place",
                near=word,
                of=known - {word},
            )
    return direction, kind


def threshold_of(text: str, value: str, measure: Measure) -> float:
    """Return a value with its unit, in ns, B/s or as a plain number. Raises UsageError if it is none."""
    match = _VALUE.fullmatch(value)
    if not match:
        refuse(text, f"{value!r} is not a value", hint=_EXAMPLE)
    number, unit = match[1], match[2]
    units = _UNITS[measure]
    if unit not in units:
        if not unit:
            refuse(text, f"{value!r} lacks its unit", hint=f"use one of {', '.join(units)}")
        near = next((name for name in units if name.lower() == unit.lower()), None)
        hint = f"did you mean {number}{near}?" if near else f"use one of {', '.join(filter(None, units))}"
        refuse(text, f"{unit!r} is not a unit of this figure", hint=hint)
    return float(Decimal(number) * units[unit])


def refuse(
    text: str, reason: str, *, hint: str | None = None, near: str | None = None, of: Iterable[str] = ()
) -> NoReturn:
    """Raise UsageError about a condition, with a hint: ``hint``, or the name of ``of`` that is nearest to ``near``."""
    known = sorted(of)
    close = difflib.get_close_matches(near or "", known, n=1)
    if hint is None:
        hint = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(known)}"
    raise UsageError(f"{option('fail_if')} '{text.strip()}': {reason}", hint=hint)


def _issued(job: Job) -> set[Direction]:
    syncs = job.fsync or job.fdatasync or job.sync_file_range
    return {*job.directions, *([Direction.SYNC] if syncs else [])}


def _scope_text(row: Row, direction: Direction | None) -> str:
    return f"{row.name}: {direction.value}" if direction else f"{row.name}:"
