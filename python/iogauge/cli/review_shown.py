"""A review's judgement as a table for people and as JSON for programs.

Both say the same: quantiles that the sample does not support are marked in the one and ``supported: false`` in the
other. Shapes text and data; ``review.py`` prints them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from iogauge.report.fail_if import Violation
from iogauge.report.grid import WIDTH, aligned
from iogauge.schema import Code, Manifest, SuitePlan
from iogauge.schema import Warning as Caution
from iogauge.stats import words
from iogauge.stats.figures import Ratio
from iogauge.stats.quantiles import FEWEST_BLOCKS, Estimate
from iogauge.suites import Judgement, StepJudgement

SHOWN = (0.5, 0.99, 0.999, 0.9999)
"""Quantiles of the table; JSON has all that were judged."""


def table(judgement: Judgement, manifest: Manifest, *, findings: Sequence[str]) -> str:
    """Return the steps and what they show as lines of text, ending with a newline."""
    plan = judgement.plan
    planned = words.counted(len(plan.steps), "step")
    title = f"{plan.title} ({manifest.pace}): {manifest.target.path}, {len(judgement.steps)} of {planned}"
    lines = [title, "-" * min(len(title), WIDTH)]
    for series, steps in judgement.by_series().items():
        rows = aligned([_head(plan), *(_cells(step, plan) for step in steps)], left=0)
        lines += [*([f"{series}:"] if series else []), *rows]
    if any(not estimate.supported for step in judgement.steps for estimate in _shown(step)):
        lines.append("~ fewer than ten samples lie beyond this quantile: run longer (--runtime, --pace full)")
    growth = judgement.growth if plan.pressure else None
    if growth is not None:
        grown = words.times(growth.value, growth.low, growth.high)
        lines.append(f"mean read latency under most pressure is {grown} that under least")
    lines += findings
    if any("(95 %:" in line for line in lines) and any(
        step.figures.mean and not step.figures.mean.dependence for step in judgement.steps
    ):
        lines.append(
            f"this takes requests as independent, since steps have fewer than {FEWEST_BLOCKS} intervals: "
            "the true range is wider"
        )
    if manifest.ceiling is not None:
        lines.append(
            f"the generator alone: {manifest.ceiling.iops:,.0f} IOPS a worker, "
            f"{words.duration(manifest.ceiling.lat_mean_ns)} of every latency at depth 1"
        )
    lines += [f"note: {note}" for note in plan.notes]
    if judgement.missing:
        lines.append(f"missing: {', '.join(judgement.missing)}")
    return "".join(f"{line}\n" for line in lines)


def as_json(
    judgement: Judgement,
    manifest: Manifest,
    *,
    path: str,
    findings: Sequence[str],
    violations: Iterable[tuple[str, Violation]],
) -> dict[str, Any]:
    """Return all that the review shows, in JSON's types. Latencies are in nanoseconds, rates in bytes a second."""
    plan = judgement.plan
    return {
        "schema_version": manifest.schema_version,
        "review": path,
        "id": manifest.id,
        "suite": plan.suite,
        "pace": manifest.pace,
        "seed": manifest.seed,
        "target": manifest.target.model_dump(mode="json"),
        "machine": manifest.machine.model_dump(mode="json"),
        "axis": plan.axis.model_dump(mode="json"),
        "findings": list(findings),
        "steps": [_step(step) for step in judgement.steps],
        "missing": list(judgement.missing),
        "growth": _ratio(judgement.growth) if plan.pressure else None,
        "notes": list(plan.notes),
        "warnings": [warning.model_dump(mode="json") for warning in manifest.warnings],
        "violations": [
            {"step": step, "condition": found.condition, "message": found.message, "unknown": found.unknown}
            for step, found in violations
        ],
    }


def warnings(judgement: Judgement, manifest: Manifest) -> tuple[Caution, ...]:
    """Return each kind of warning once: those of the whole review, then those of steps, with how many gave it."""
    first: dict[Code, tuple[StepJudgement, Caution]] = {}
    steps: Counter[Code] = Counter()
    for step in judgement.steps:
        own = [warning for warning in step.warnings if warning not in manifest.warnings]
        steps.update({warning.code for warning in own})
        for warning in own:
            first.setdefault(warning.code, (step, warning))
    return (*manifest.warnings, *(_placed(*first[code], steps[code], judgement) for code in first))


def _placed(step: StepJudgement, warning: Caution, steps: int, judgement: Judgement) -> Caution:
    others = f", and {words.counted(steps - 1, 'other step')}" if steps > 1 else ""
    series = f"{step.plan.series}, " if step.plan.series else ""
    place = f"{series}at {step.plan.at:g} {judgement.plan.axis.unit}{others}"
    return warning.model_copy(update={"message": f"{place}: {warning.message}"})


def _head(plan: SuitePlan) -> list[str]:
    rate = ["achieved", f"{plan.judged} IOPS"] if plan.pressure else ["IOPS", "MB/s"]
    return [plan.axis.unit, *rate, "mean", *(f"p{q * 100:.12g}" for q in SHOWN)]


def _cells(step: StepJudgement, plan: SuitePlan) -> list[str]:
    figures = step.figures
    iops = f"{figures.iops:,.0f}"
    pressed = words.bandwidth(step.achieved_Bps) if step.achieved_Bps else "-"
    return [
        f"{step.plan.at:g}",
        *([pressed, iops] if plan.pressure else [iops, words.figure(figures.rate_Bps / 1e6)]),
        "-" if figures.mean is None else words.duration(figures.mean.value),
        *(_marked(figures.quantiles.get(q)) for q in SHOWN),
    ]


def _shown(step: StepJudgement) -> Sequence[Estimate]:
    return [estimate for q in SHOWN if (estimate := step.figures.quantiles.get(q)) is not None]


def _marked(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return ("" if estimate.supported else "~ ") + words.duration(estimate.value)


def _step(step: StepJudgement) -> dict[str, Any]:
    figures = step.figures
    return {
        "id": step.plan.id,
        "series": step.plan.series,
        "at": step.plan.at,
        "seed": step.plan.seed,
        "asked_Bps": step.asked_Bps,
        "achieved_Bps": step.achieved_Bps,
        "duration_s": figures.duration_s,
        "ios": figures.ios,
        "iops": figures.iops,
        "rate_Bps": figures.rate_Bps,
        "mean_ns": _estimate(figures.mean),
        "quantiles_ns": {f"{q:.12g}": _estimate(estimate) for q, estimate in figures.quantiles.items()},
        "errors": figures.errors,
        "flagged": figures.flagged,
        "late": figures.late,
        "in_flight": figures.in_flight,
        "warnings": [warning.model_dump(mode="json") for warning in step.warnings],
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "supported": estimate.supported,
        "needed": estimate.needed,
    }


def _ratio(growth: Ratio | None) -> dict[str, float | None] | None:
    return None if growth is None else {"value": growth.value, "low": growth.low, "high": growth.high}
