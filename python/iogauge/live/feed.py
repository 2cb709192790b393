"""Writes the feed of a running measurement; ``iogauge.live`` lists its events.

A feed must never harm what it reports on. It is written by the thread that polls the core, from what that thread has
in hand, and never by workers. If it cannot be written, it ends there, and the measurement goes on.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import iogauge
from iogauge.errors import IogaugeError
from iogauge.live.figures import merged
from iogauge.live.pending import Pending
from iogauge.live.places import Writer
from iogauge.live.rows import Place, PlannedRow, listed, planned_rows
from iogauge.live.segments import SEGMENT_BYTES, Segments
from iogauge.live.steadiness import Steadiness
from iogauge.live.wording import moved
from iogauge.machine.samples.news import DriveNews
from iogauge.schema import Interval, RunPlan, RunRecord, SuitePlan

Outcome = Literal["done", "interrupted", "failed"]

MOST_DISTRIBUTIONS = 64
"""The most rows of a run whose latencies are published: that takes nearly half a millisecond for each direction."""
_MOST_TEXT = 2000
_MOST_WORDS = 200
_KNOWN_NOTICES = 256
_DIGITS = re.compile(r"[\d.,]+")


class Feed(AbstractContextManager["Feed"]):
    """The feed of one measurement; a watcher of ``reviews.runner``, too. Nothing that it does raises an error.

    ``review``: the directory of the review. ``virtual``: its targets are drive models. ``steps``: how many steps it
    has. ``directory``: where the file lies, instead of in the runtime directory. Not thread-safe.
    """

    def __init__(
        self,
        *,
        title: str,
        targets: Sequence[str] = (),
        review: Path | None = None,
        virtual: bool = False,
        command: Sequence[str] | None = None,
        directory: Path | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.reason = ""
        """Why nothing is written; empty: it is."""
        self._clock = clock
        self._begin = {
            "command": [_cut(word) for word in (sys.argv if command is None else command)[:_MOST_WORDS]],
            "title": _cut(title),
            "review": None if review is None else str(review.absolute()),
            "targets": [_cut(path) for path in targets[:_MOST_WORDS]],
            "virtual": virtual,
            "version": iogauge.__version__,
        }
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._segments: Segments | None = None
        self._pending = Pending(virtual=virtual)
        self._rows: dict[Place, PlannedRow] = {}
        self._distributions: set[Place] = set()
        self._steadiness: dict[Place, Steadiness] = {}
        self._criteria: dict[Place, float] = {}
        self._number = 0
        self._label: str | None = None
        self._notices: dict[str, None] = {}
        self._outcome: Outcome | None = None
        self._text = ""

    def __enter__(self) -> Feed:
        try:
            self._segments = Segments(
                directory=self._directory, most_bytes=self._segment_bytes, clock=self._clock
            )
        except (OSError, IogaugeError) as error:
            self.reason = str(error)
        writer = Writer.of_this_process()
        self._write("begin", {"pid": writer.pid, "start_ticks": writer.start_ticks, **self._begin}, heads=())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._end_step(complete=False)
        outcome, text = self._outcome or "done", self._text
        if error is not None:
            outcome, text = "failed" if isinstance(error, Exception) else "interrupted", str(error)
        self._write("end", {"outcome": outcome, "text": _cut(text)})
        if self._segments is not None:
            self._segments.close()

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int = 0,
        ahead_s: float | None = None,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """Publish that a step begins; the arguments are those of ``reviews.runner.Watcher``."""
        self._end_step(complete=False)
        self._number += not search
        self._label = _cut(label)
        self._rows, self._distributions, self._steadiness, self._criteria = {}, set(), {}, {}
        self._write(
            "step",
            {
                "label": self._label,
                "number": self._number,
                "steps": self._number + ahead,
                "more": more,
                "search": search,
                "expected_s": expected_s,
                "ahead_s": ahead_s,
            },
            heads=("rows",),
        )

    def started(self, plan: RunPlan) -> None:
        """Publish the rows of the step that begins."""
        self._rows = planned_rows(plan)
        self._distributions = set(list(self._rows)[:MOST_DISTRIBUTIONS])
        self._steadiness = {place: Steadiness(row.steady) for place, row in self._rows.items() if row.steady}
        self._write("rows", {"rows": listed(self._rows)}, heads=())

    def interval(self, interval: Interval) -> None:
        """Publish an interval, or keep it until others are to be published with it.

        How far its row is from a steady state is published with it: virtual time brings that many times a second, too.
        """
        if self._segments is None:
            return
        due = self._pending.add(interval)
        for neighbours in due:
            self._publish(neighbours)
        place = interval.stage, interval.row
        steadiness = self._steadiness.get(place)
        if steadiness and (criterion := steadiness.add(interval)) is not None:
            self._criteria[place] = criterion
        if due and place in self._criteria:
            self._steady(place, attained=False, criterion=self._criteria.pop(place))

    def drive(self, news: DriveNews) -> None:
        """Publish what a drive said of itself."""
        self._write(
            "drive",
            {
                "path": f"/dev/{news.device}",
                "temperature_C": news.temperature_C,
                "throttled": news.throttled,
                "hot": news.hot,
            },
        )

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Publish the end of a step of a review, which has been saved, and the figures of its measured job."""
        judged = [row for row in record.result.rows if row.name == plan.measured_job]
        self._recorded(record)
        self._end_step(
            complete=True,
            text="; ".join(moved(row.tallies, row.end_ns - row.start_ns, plan.kind) for row in judged),
        )

    def finished(self, record: RunRecord) -> None:
        """Publish the end of a run, and why it ended early if it did."""
        self._recorded(record)
        rows = [
            f"{row.name}: {moved(row.tallies, row.end_ns - row.start_ns)}" for row in record.result.rows[:3]
        ]
        result = record.result
        failed = [f"{worker.name}: {worker.error}" for worker in result.workers if worker.error]
        self._end_step(complete=result.stopped_by is None and not failed, text="; ".join(rows))
        if result.stopped_by == "interrupt":
            self.conclude("interrupted", "")
        elif result.error or failed:
            self.conclude("failed", result.error or "; ".join(dict.fromkeys(failed)))

    def conclude(self, outcome: Outcome, text: str) -> None:
        """Set how the measurement ended. Without it, it is done, or failed by an error that leaves the context."""
        self._outcome, self._text = outcome, text

    def message(self, text: str) -> None:
        """Publish a message; what follows ``hint:`` is its hint."""
        said, _, hint = text.partition("\nhint: ")
        self._notice(said, hint)

    def _recorded(self, record: RunRecord) -> None:
        """Publish the warnings of a run, and which of its rows are steady."""
        for neighbours in self._pending.rest():
            self._publish(neighbours)
        for warning in record.warnings:
            self._notice(warning.message, warning.hint, once=_DIGITS.sub("", warning.message))
        for row in record.result.rows:
            if row.steady is not None:
                place = row.stage, row.row
                self._steady(place, attained=row.steady.attained, criterion=row.steady.criterion)

    def _notice(self, text: str, hint: str, *, once: str = "") -> None:
        """Publish a notice. ``once``: not if one with this key has been published; steps have the same warnings."""
        if once in self._notices:
            return
        if once:
            self._notices[once] = None
        if len(self._notices) > _KNOWN_NOTICES:
            self._notices.pop(next(iter(self._notices)))
        self._write("notice", {"text": _cut(text), "hint": _cut(hint)})

    def _steady(self, place: Place, *, attained: bool, criterion: float) -> None:
        steadiness, row = self._steadiness.get(place), self._rows.get(place)
        if steadiness is None or row is None:
            return
        self._write(
            "steady",
            {
                "row": place[1],
                "name": row.name,
                "attained": attained,
                "criterion": criterion,
                "limit": steadiness.plan.limit,
                "unit": steadiness.unit,
            },
        )

    def _publish(self, neighbours: list[Interval]) -> None:
        place = neighbours[0].stage, neighbours[0].row
        self._write("interval", merged(neighbours, with_latencies=place in self._distributions))

    def _end_step(self, *, complete: bool, text: str = "") -> None:
        for neighbours in self._pending.rest():
            self._publish(neighbours)
        if self._label is not None:
            self._write("step_end", {"label": self._label, "complete": complete, "text": _cut(text)})
        self._label = None

    def _write(self, event: str, fields: dict[str, Any], *, heads: tuple[str, ...] | None = None) -> None:
        """Write an event. If that fails, nothing more is written: a line may be torn."""
        if self._segments is None:
            return
        try:
            self._segments.write(event, fields, heads=heads)
        except (OSError, ValueError, IogaugeError) as error:
            self.reason = str(error)
            self._segments.close()
            self._segments = None


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
