"""``iogauge show``: what a saved review found, without measuring anything.

It is what 'iogauge review' printed at its end, judged again by this version. With --step it is one step in full, as
'iogauge run' shows a run. With --variation it has how the figures of repeats differ from run to run, step by step. An
incomplete review is shown as far as it got.

'published' is a built-in review: the figures that others published, drive by drive; 'published:p4800x' are those of
some drives.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.judge_by import JudgeBy, absolute
from iogauge.cli.terminal import process, status, streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.schema import SuitePlan
    from iogauge.store import Review


def show(
    review: Annotated[
        str, typer.Argument(metavar="REVIEW", help="A saved review, or 'published'.", show_default=False)
    ],
    suite: Annotated[
        list[str] | None, typer.Option("--suite", metavar="NAME", help="Only this suite; repeatable.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="ID", help="One step in full, by the id that --json shows."),
    ] = None,
    variation: Annotated[
        bool, typer.Option("--variation", help="How every figure differs from run to run, too.")
    ] = False,
    judge_by: JudgeBy = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print what was found."""
    from iogauge.report import published_shown
    from iogauge.results.published import is_published
    from iogauge.store import Review

    process.begin()
    if is_published(review):
        if suite or step or variation:
            raise status.UsageError(
                f"{review} has neither suites nor steps", hint="leave --suite, --step and --variation out"
            )
        streams.show(published_shown.as_json([review]) if as_json else published_shown.text([review]))
        return
    saved = Review.open(Path(review))
    if step is None:
        plans = _plans(saved, suite or ())
        _review(saved, plans, trusted=absolute(judge_by), variation=variation, as_json=as_json)
    elif suite or variation:
        raise status.UsageError(
            "--step names a step of whatever suite", hint="leave --suite and --variation out"
        )
    else:
        _step(saved, step, as_json=as_json)


def _review(
    saved: Review,
    plans: Sequence[SuitePlan],
    *,
    trusted: Collection[str],
    variation: bool,
    as_json: bool,
) -> None:
    from iogauge.report import review_text
    from iogauge.report.run.surroundings import warnings
    from iogauge.results.reported import told_lines
    from iogauge.store.reported import read_told

    told = read_told(saved.path)
    judged = review_text.judged(
        saved, plans, warn=lambda text: streams.say(f"warning: {text}"), trusted=trusted
    )
    if as_json:
        shown = review_text.as_json(judged, saved.manifest, path=str(saved.path), violations=())
        if told:
            shown["told"] = [each.model_dump(mode="json") for each in told]
        streams.show(json.dumps(shown, indent=2, allow_nan=False) + "\n")
    else:
        text = review_text.tables(judged, saved.manifest, variation=variation)
        streams.show(text + "".join(f"{line}\n" for line in told_lines(told)))
    streams.say(warnings(review_text.warnings(judged, saved.manifest)), end="")
    saved.keep_computed()


def _plans(saved: Review, suites: Sequence[str]) -> list[SuitePlan]:
    there = dict.fromkeys(plan.suite for plan in saved.manifest.plans)
    if unknown := [name for name in suites if name not in there]:
        raise IogaugeError(f"{saved.path} has no suite {unknown[0]!r}", hint=f"it has: {', '.join(there)}")
    return [plan for plan in saved.manifest.plans if not suites or plan.suite in suites]


def _step(saved: Review, step_id: str, *, as_json: bool) -> None:
    from iogauge.report.run import jsonplus, surroundings, table
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.workload.suggest import closest

    planned = [*saved.manifest.steps, *(plan.search for plan in saved.manifest.plans if plan.search)]
    known = [step.id for step in planned]
    if step_id not in known:
        # With its suite's name or without.
        names = {name: each for each in known for name in (each, each.partition(".")[2] or each)}
        near = closest(step_id, names)
        first = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
        raise IogaugeError(
            f"{saved.path} has no step {step_id!r}",
            hint=f"did you mean {names[near]}?" if near else f"its steps: {first}; see show --json",
        )
    record = saved.record(step_id)
    stats = IntervalStats.over(saved.intervals(step_id), interval_ns=record.plan.interval_ns)
    streams.show(jsonplus.render(record, stats, plus=True) + "\n" if as_json else table.render(record, stats))
    streams.say(surroundings.warnings(record.warnings), end="")
