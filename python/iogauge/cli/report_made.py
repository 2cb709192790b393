"""What ``report`` and ``compare`` have in common: reading reviews into a report, and writing its page.

A page of several drives takes a while; on a terminal, stderr shows how far it is. Prints nothing else but warnings.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.cli.judge_by import absolute
from iogauge.cli.terminal import streams
from iogauge.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from iogauge.report.sections import Report
    from iogauge.results.conclusions import Conclusions
    from iogauge.results.suite_result import SuiteResult
    from iogauge.store.outputs import Output


def read_report(
    names: Sequence[str],
    *,
    suites: Sequence[str] = (),
    margin: float | None = None,
    judge_by: Sequence[Path] | None = None,
) -> Report:
    """Read reviews, and warn of those that are incomplete. Raises IogaugeError as ``Report.of`` does."""
    from iogauge.report.sections import Report
    from iogauge.stats.comparison import MARGIN

    with shown("reading and judging") as progress:
        made = Report.of(
            names,
            conclude=partial(_conclude, absolute(judge_by)),
            suites=suites,
            margin=MARGIN if margin is None else margin,
            on_progress=progress,
        )
    for drive in made.drives:
        if drive.missing:
            steps = ", ".join(step.id for step in drive.missing)
            streams.say(f"warning: {drive.path} is incomplete: no step {steps}")
            streams.say(f"hint: complete it: {drive.manifest.completed_by(str(drive.path))}")
    return made


def write_page(
    names: Sequence[str],
    page: Output,
    *,
    suites: Sequence[str],
    margin: float,
    judge_by: Sequence[Path] | None,
    alone: bool,
) -> None:
    """Read reviews and write their page; ``alone``: also where nothing is compared."""
    from iogauge.comparison.sides import refuse_nothing

    made = read_report(names, suites=suites, margin=margin, judge_by=judge_by)
    if not alone:
        refuse_nothing(made.differences, names)
    draw_page(made, page)


def draw_page(made: Report, page: Output) -> None:
    """Write the page of a report. Raises IogaugeError where that cannot be."""
    from iogauge.report.page import render
    from iogauge.results.review import keep_computed

    with shown("drawing") as progress:
        text = render.page(made, on_progress=progress)
    page.write(text.encode())
    keep_computed(made.drives)


@contextlib.contextmanager
def shown(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a part of making a report while it lasts; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _of: None
        return
    with Progress(title=f"report: {what}") as progress:
        progress.step("", expected_s=None)
        yield progress.counted


def _conclude(trusted: Collection[str], result: SuiteResult) -> Conclusions:
    from iogauge.suites import suite_to_judge

    suite = suite_to_judge(result.plan, warn=lambda text: streams.say(f"warning: {text}"), trusted=trusted)
    return suite.conclude(result)
