"""A review as a table for people and as JSON for programs.

Both hold the same figures. A quantile that its sample does not support has a mark in the table, and ``supported:
false`` in JSON. The commands ``review`` and ``show`` print them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from iogauge.catalog.state import MEANING
from iogauge.machine.warnings import warning
from iogauge.report.run.fail_if import Violation
from iogauge.report.run.surroundings import state_text
from iogauge.results.explained.wording import COLUMNS
from iogauge.results.position import Position, name_of
from iogauge.results.review import labels_of
from iogauge.results.suite_result import SuiteResult
from iogauge.reviews.runner import Failed
from iogauge.schema import Code, Manifest, Notice, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, StepFigures
from iogauge.stats.pooled import variations
from iogauge.stats.quantiles import FEWEST_BLOCKS
from iogauge.stats.repeats import Variation
from iogauge.store import Review
from iogauge.suites import suite_to_judge
from iogauge.text import numbers, too_short
from iogauge.text.grid import WIDTH, aligned, folded, heading, labelled

TABLE_QUANTILES = (0.5, 0.99, 0.999, 0.9999)
"""The quantiles of the table; JSON has all that were judged."""
_LATENCIES = 3
"""The column of a table of steps where its latencies begin: a table that is too wide is divided there."""
_WIDE = 0.2
"""An interval wider than this share of its figure is lopsided: its bounds are shown instead of ±."""


def judged(
    review: Review,
    plans: Sequence[SuitePlan],
    *,
    warn: Callable[[str], None],
    trusted: Collection[str],
) -> list[SuiteResult]:
    """Return the results of plans of a review, judged by their suites.

    ``warn`` is called if a suite cannot be loaded. ``trusted`` are the absolute paths of Python files that may be run.
    """
    suites = {plan.suite: suite_to_judge(plan, warn=warn, trusted=trusted) for plan in plans}
    labels = labels_of([review])
    return [
        SuiteResult(
            review,
            plan,
            label=labels[review.path, plan.targets],
            conclude=suites[plan.suite].conclude,
        )
        for plan in plans
    ]


def tables(judged: Sequence[SuiteResult], manifest: Manifest, *, variation: bool = False) -> str:
    """Return the steps and findings of every plan as lines of text, ending with a newline.

    ``variation`` adds how the figures of every step differ from run to run, and the parts of explained latencies.
    """
    lines = [line for result in judged for line in [*_table(result, manifest, variation=variation), ""]]
    lines += numbers.meanings(lines)
    intervals = any(re.search(r"\(\S+( \S+)? to \S+( \S+)?\)", line) for line in lines)
    if intervals:
        lines.append("in brackets: the 95 % interval")
    if intervals and any(
        position.figures.mean and not position.figures.mean.dependence for position in _positions(judged)
    ):
        lines.append(
            f"steps with fewer than {FEWEST_BLOCKS} intervals of time: their requests are assumed to be independent, "
            "so the true 95 % intervals are wider"
        )
    if remark := too_short.may_miss(run.figures.duration_s for result in judged for run in result.runs):
        lines.append(remark)
    for target in manifest.targets:
        if target.modelled:
            if state := target.modelled.begun_as:
                lines.append(f"{target.path} begins every run {state}: {MEANING[state]}")
        else:
            lines.append(
                f"{target.path} before: {state_text(manifest.state_before.get(target.path), target)}"
            )
    if manifest.ceiling is not None:
        lines.append(
            f"the generator alone: at most {manifest.ceiling.iops:,.0f} IOPS a worker; adds "
            f"{numbers.duration(manifest.ceiling.lat_mean_ns)} to every latency at depth 1"
        )
    return "".join(f"{line}\n" for line in lines)


def _table(result: SuiteResult, manifest: Manifest, *, variation: bool) -> Iterator[str]:
    """Yield the lines of one plan."""
    plan, conclusions = result.plan, result.conclusions
    quantiles = sorted({*TABLE_QUANTILES, *([manifest.until_supported] if manifest.until_supported else [])})
    # A plan that only prepares a drive can have no steps.
    done = f", {result.complete} of {numbers.counted(len(plan.steps), 'step')}" if plan.steps else ""
    yield from heading(f"{plan.title} ({manifest.pace}): {', '.join(plan.targets)}{done}")
    for series, positions in result.by_series().items():
        if series:
            yield f"{series}:"
        # Names are aligned to the left, numbers to the right.
        left = 1 if any(position.plan.label for position in positions) else 0
        rows = (_cells(position, plan, quantiles) for position in positions)
        yield from folded([_head(plan, quantiles), *rows], left=left, split=_LATENCIES)
    for table in (*conclusions.tables, *(matrix.table for matrix in conclusions.matrices)):
        yield f"{table.title}:"
        yield from folded([table.head, *table.rows])
    yield from _variation(result)
    if variation:
        yield from _varied(result)
    yield from _explained(result, details=variation)
    growth = result.growth if plan.load_jobs else None
    if growth is not None:
        slower = numbers.times(growth.value, growth.low, growth.high)
        yield f"writes slow reads {slower}: mean read latency under the most writes, against the fewest"
    yield from conclusions.findings
    yield from (f"note: {note}" for note in plan.notes)
    if result.missing:
        yield f"missing: {', '.join(step.id for step in result.missing)}"


def _variation(result: SuiteResult) -> Iterator[str]:
    """Yield the largest run-to-run variation of each figure, and its position."""
    worst: dict[str, tuple[float, str]] = {}
    for position in result.positions:
        where = f"({position.name})" if position.plan.label else f"at {position.name}"
        for name, spread in _variations(result, position).items():
            worst[name] = max(worst.get(name, (0.0, "")), (spread.coefficient, where))
    if worst:
        runs = max(len(position.runs) for position in result.positions)
        figures = ", ".join(
            f"{name} {numbers.percent(value)} {where}" for name, (value, where) in worst.items()
        )
        named = all(position.plan.label for position in result.positions)
        along = "" if named else f", by {result.plan.axis.name}"
        yield f"largest variation between {runs} runs (coefficient of variation{along}): {figures}"


def _variations(result: SuiteResult, position: Position) -> dict[str, Variation]:
    return variations([run.figures for run in position.runs], result.conclusions.quantiles)


def _explained(result: SuiteResult, *, details: bool) -> Iterator[str]:
    """Yield where the time of a modelled drive's requests went; with ``details``, part by part."""
    if not result.explained:
        return
    yield "where the time went:"
    for step in result.explained:
        yield from labelled("", f"{step.name}: {step.answer}", indent="", width=0, columns=WIDTH)
    if details:
        for step in result.explained:
            yield f"{step.name}:"
            yield from aligned(step.rows)
        yield from labelled("", COLUMNS, indent="", width=0, columns=WIDTH)


def _varied(result: SuiteResult) -> Iterator[str]:
    """Yield a table of each step's coefficients of variation, and of the variance between its runs."""
    varied = [
        (position, _variations(result, position)) for position in result.positions if len(position.runs) > 1
    ]
    names = list(dict.fromkeys(name for _, spreads in varied for name in spreads))
    if not names:
        return
    rows = [
        [
            position.name,
            str(len(position.runs)),
            *(numbers.percent(spreads[name].coefficient) if name in spreads else "-" for name in names),
            "-"
            if "mean" not in spreads or (share := spreads["mean"].share) is None
            else numbers.percent(share),
        ]
        for position, spreads in varied
    ]
    yield "variation between runs (coefficient of variation), and the share of the mean's variance between runs:"
    yield from folded([["step", "runs", *names, "between runs"], *rows])


def _positions(judged: Sequence[SuiteResult]) -> list[Position]:
    return [position for result in judged for position in result.positions]


def as_json(
    judged: Sequence[SuiteResult],
    manifest: Manifest,
    *,
    path: str,
    violations: Iterable[tuple[str, Violation]],
    failed: Iterable[Failed] = (),
) -> dict[str, Any]:
    """Return the results of a review in JSON's types. Latencies are in nanoseconds, rates in bytes a second."""
    return {
        "schema_version": manifest.schema_version,
        "review": path,
        "id": manifest.id,
        "pace": manifest.pace,
        "repeats": manifest.repeats,
        "state": manifest.state,
        "seed": manifest.seed,
        "targets": [target.model_dump(mode="json") for target in manifest.targets],
        "state_before": {
            path: state.model_dump(mode="json") for path, state in manifest.state_before.items()
        },
        "machine": manifest.machine.model_dump(mode="json"),
        "plans": [_plan(result) for result in judged],
        "warnings": [warning.model_dump(mode="json") for warning in manifest.warnings],
        "failed": [{"step": failure.step_id, "why": failure.why} for failure in failed],
        "violations": [
            {
                "step": step,
                "condition": violation.condition,
                "message": violation.message,
                "unknown": violation.unknown,
            }
            for step, violation in violations
        ],
    }


def _plan(result: SuiteResult) -> dict[str, Any]:
    plan, conclusions = result.plan, result.conclusions
    return {
        "key": plan.key,
        "suite": plan.suite,
        "targets": list(plan.targets),
        "axis": plan.axis.model_dump(mode="json"),
        "kind": plan.kind.value,
        "findings": list(conclusions.findings),
        "steps": [_step(result, position) for position in result.positions],
        "missing": [step.id for step in result.missing],
        "growth": _ratio(result.growth) if plan.load_jobs else None,
        "tables": [asdict(table) for table in conclusions.tables],
        "matrices": [asdict(matrix) for matrix in conclusions.matrices],
        "convergences": [asdict(convergence) for convergence in conclusions.convergences],
        "effects": [asdict(effects) for effects in conclusions.effects],
        "search": conclusions.search and asdict(conclusions.search),
        "explained": [{"step": step.name, **step.load.to_dict()} for step in result.explained],
        "notes": list(plan.notes),
    }


def warnings(judged: Sequence[SuiteResult], manifest: Manifest) -> tuple[Notice, ...]:
    """Return each kind of warning once: those of the review, then those of steps, with the number of steps."""
    first: dict[Code, tuple[Position, Notice, SuiteResult]] = {}
    steps: Counter[Code] = Counter()
    for result in judged:
        for position in result.positions:
            own = [notice for notice in position.warnings if notice not in manifest.warnings]
            steps.update({notice.code for notice in own})
            for notice in own:
                first.setdefault(notice.code, (position, notice, result))
    several = len(judged) > 1
    return (
        *manifest.warnings,
        *_unprepared(judged),
        *(_placed(*one, steps=steps[code], several=several) for code, one in first.items()),
    )


def _unprepared(judged: Sequence[SuiteResult]) -> Iterator[Notice]:
    """Yield a warning for each target that was not steady when its preparation ended."""
    for result in judged:
        if result.plan.prepares and any(not course.steady for course in result.conclusions.convergences):
            target = ", ".join(result.plan.targets)
            yield warning(
                Code.UNSTEADY,
                what=f"{target} was not steady when its preparation ended: its state still changed during the steps "
                "that followed",
            )


def _placed(position: Position, notice: Notice, result: SuiteResult, *, steps: int, several: bool) -> Notice:
    others = f", and {numbers.counted(steps - 1, 'other step')}" if steps > 1 else ""
    suite = f"{result.plan.title}, " if several else ""
    where = f"{suite}{'' if position.plan.label or position.series else 'at '}{position.name}"
    return notice.model_copy(update={"message": f"{where}{others}: {notice.message}"})


def _head(plan: SuitePlan, quantiles: Sequence[float]) -> list[str]:
    rate = ["achieved", f"{plan.judged} IOPS"] if plan.load_jobs else ["IOPS", "MB/s"]
    return [plan.axis.unit, *rate, "mean", *(f"p{q * 100:.12g}" for q in quantiles)]


def _cells(position: Position, plan: SuitePlan, quantiles: Sequence[float]) -> list[str]:
    figures, mean = position.figures, position.figures.mean
    iops = spread(figures.iops, *_between_runs(figures), numbers.rate)
    achieved = numbers.bandwidth(position.achieved_Bps) if position.achieved_Bps else "-"
    return [
        name_of(position.plan, plan.axis, series=False, unit=False),
        *([achieved, iops] if plan.load_jobs else [iops, numbers.megabytes(figures.rate_Bps)]),
        # The mean of repeats has its interval; that of one run is in --json and in the report.
        "-"
        if mean is None
        else spread(mean.value, mean.low, mean.high, numbers.duration)
        if figures.runs > 1
        else numbers.duration(mean.value),
        *(numbers.marked(figures.quantile(q)) for q in quantiles),
    ]


def spread(value: float, low: float | None, high: float | None, shown: numbers.Written) -> str:
    """Return a figure with its interval as ± a share of it, or with the bounds of a wide or half-open interval.

    >>> spread(100.0, 98.0, 103.0, numbers.rate), spread(100.0, None, None, numbers.rate)
    ('100.0 ±3.0 %', '100.0')
    >>> spread(54_338.0, 16_000.0, 190_000.0, numbers.rate)
    '50,000 (20,000 to 190,000)'
    >>> spread(124.6, 119.9, None, numbers.rate)
    '124.6 (119.9 or more)'
    """
    if value <= 0 or (low is None and high is None):
        return shown(value, 4)
    if low is None or high is None:
        return numbers.ranged(value, low, high, shown)
    reach = max(high / value - 1, 1 - low / value)
    if reach > _WIDE:
        return numbers.ranged(value, low, high, shown)
    return f"{numbers.in_digits(value, low, high, shown)[0]} {numbers.reaching(reach)}"


def _between_runs(figures: StepFigures) -> tuple[float | None, float | None]:
    """Return the bounds of a step's IOPS by how its runs differ; a single run has none."""
    return (figures.iops_figure.low, figures.iops_figure.high) if figures.runs > 1 else (None, None)


def _step(result: SuiteResult, position: Position) -> dict[str, Any]:
    figures, step = position.figures, position.plan
    iops_low, iops_high = _between_runs(figures)
    return {
        "id": step.id,
        "series": step.series,
        "label": step.label,
        "direction": step.direction,
        "at": step.at,
        "seed": step.seed,
        "requested_Bps": position.requested_Bps,
        "achieved_Bps": position.achieved_Bps,
        "duration_s": figures.duration_s,
        "runs": len(position.runs),
        "ios": figures.ios,
        "iops": figures.iops,
        "iops_low": iops_low,
        "iops_high": iops_high,
        "rate_Bps": figures.rate_Bps,
        "mean_ns": _estimate(figures.mean),
        "quantiles_ns": {f"{q:.12g}": _estimate(figures.quantile(q)) for q in result.conclusions.quantiles},
        "variation": {name: asdict(spread) for name, spread in _variations(result, position).items()},
        "errors": figures.errors,
        "flagged": figures.flagged,
        "late": figures.late,
        "in_flight": figures.in_flight,
        "warnings": [warning.model_dump(mode="json") for warning in position.warnings],
    }


def _estimate(estimate: Figure | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "supported": estimate.supported,
        "needed": estimate.needed,
        "long_enough": estimate.long_enough,
    }


def _ratio(growth: Ratio | None) -> dict[str, float | None] | None:
    return None if growth is None else {"value": growth.value, "low": growth.low, "high": growth.high}
