"""Defines the options of steady states, at which a job ends before its runtime.

Source: fio 3.33's options.c (str_steadystate_cb), steadystate.c; later versions for ``lat``.
"""

from __future__ import annotations

from iogauge.schema import Steadiness
from iogauge.workload import numbers
from iogauge.workload.numbers import LARGEST, SECOND
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import Kind, decimal, decimal_text, duration
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue

DEFAULT_STEADINESS = Steadiness(figure="iops", slope=True, percent=True, limit=0.01)
"""fio's criterion for a job that gives only a duration."""

_FIGURES = ("iops", "bw", "lat")


def _read(text: str, kb_base: int) -> Steadiness:
    word, _, limit = text.partition(":")
    figure, slope, _ = word.partition("_slope")
    if figure not in _FIGURES or word not in (figure, f"{figure}_slope"):
        words = [f"{figure}{slope}" for figure in _FIGURES for slope in ("", "_slope")]
        raise BadValue("is not a criterion of a steady state", hint=f"one of: {', '.join(words)}")
    if not limit:
        raise BadValue("has no limit", hint=f"write {word}:LIMIT, such as {word}:5%")
    percent = limit.endswith("%")
    return Steadiness.model_validate(
        {
            "figure": figure,
            "slope": bool(slope),
            "percent": percent,
            "limit": decimal(limit[:-1]) if percent else _absolute(figure, limit, kb_base),
        }
    )


def _absolute(figure: str, text: str, kb_base: int) -> float:
    """Return a limit in the unit of its figure: I/Os a second, bytes a second, ns."""
    if figure == "iops":
        return decimal(text)
    if figure == "lat":
        # fio's plain number is in nanoseconds here, its unit one of microseconds.
        return float(text) if text.isdigit() else float(numbers.duration_ns(text, default_unit_ns=1))
    return float(numbers.integer(text, maximum=LARGEST, kb_base=kb_base, unit="bytes/s"))


def _write(value: Steadiness) -> str:
    word = f"{value.figure}_slope" if value.slope else value.figure
    return f"{word}:{decimal_text(value.limit)}{'%' if value.percent else ''}"


STEADY = (
    entry(
        "steadystate",
        Category.TIME,
        Kind(syntax="iops|bw|lat[_slope]:limit[%]", read=_read, write=_write),
        "none",
        "End the job once its IOPS, bandwidth or mean clat is steady for steadystate_duration: its largest deviation "
        "from the mean, or the slope of a line through it, is below the limit. With group_reporting, for the group.",
        aliases=("ss",),
    ),
    entry(
        "steadystate_duration",
        Category.TIME,
        duration(SECOND),
        "0 (never ends)",
        "Time over which steadystate judges.",
        field="steadystate_duration_ns",
        aliases=("ss_dur",),
    ),
    entry(
        "steadystate_ramp_time",
        Category.TIME,
        duration(SECOND),
        "0",
        "Time of the job before steadystate judges.",
        field="steadystate_ramp_ns",
        aliases=("ss_ramp",),
    ),
    entry(
        "steadystate_check_interval",
        Category.TIME,
        duration(SECOND),
        "1s",
        "Length of one sample of steadystate; at least a second, as in fio.",
        field="steadystate_interval_ns",
        aliases=("ss_interval",),
    ),
)
"""All options of steady states, in the order of the reference."""
