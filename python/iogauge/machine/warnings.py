"""All warnings in one table: their messages and remedies.

A warning says that a result means less than it seems to; it never stops a run. ``judge`` decides when to warn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from iogauge.schema import Code, Notice, StepPlan


class Text(NamedTuple):
    """A message and a remedy, with placeholders for facts."""

    message: str
    hint: str


TEXTS: dict[Code, Text] = {
    Code.PAGE_CACHE: Text(
        "{what} went through the page cache: latencies may be memory's, not the drive's",
        "set direct=1",
    ),
    Code.UNWRITTEN: Text(
        "{path}: {share:.0%} of the region was never written, and reads of it are answered without the drive",
        "write the whole region first, or let iogauge create the file",
    ),
    Code.COMPRESSIBLE: Text(
        "{what}: drives and filesystems that compress answer such data faster",
        "use random data: leave zero_buffers, buffer_pattern, buffer_compress_percentage and dedupe_percentage "
        "off, and fill the target with random data before reading it",
    ),
    Code.FEW_SAMPLES: Text(
        "{row}: {ios} completions do not support {quantiles} (fewer than 10 beyond it)",
        "run longer, or ask for lower percentiles",
    ),
    Code.GENERATOR_LIMITED: Text(
        "{row}: the load generator, not only the drive, set the pace: {why}",
        "use more workers on more CPUs, lower the rate, or free the CPUs from other work",
    ),
    Code.MIGRATION: Text(
        "{workers} of {total} workers moved between CPUs while they were measured",
        "pin them: cpus_allowed with cpus_allowed_policy=split, or no more workers than CPUs",
    ),
    Code.VIRTUAL_MACHINE: Text(
        "this machine is virtual ({evidence}): its host may cache, throttle or share the drive, "
        "and take the CPU away",
        "measure on the host or on bare metal; compare only runs from this very machine",
    ),
    Code.BUSY_TARGET: Text(
        "{path}: another program uses it: {who}",
        "stop the other use, or choose an idle drive",
    ),
    Code.NO_POLLING: Text(
        "{what} does not poll: {why}",
        "{remedy}",
    ),
    Code.NO_PIN: Text(
        "workers are not pinned: {workers} workers at once{pollers}, {cpus} CPUs",
        "use at most as many workers as there are CPUs that no other job names, or set cpus_allowed",
    ),
    Code.CLOCK: Text(
        "the clock is less exact than it could be: {why}",
        "use a machine with an invariant TSC and clocksource=tsc; set time synchronisation to slew, not step",
    ),
    Code.IN_FLIGHT: Text(
        "{count} requests had not come back when the run ended; the oldest was {age_s:.1f} s old",
        "look at dmesg for the drive; their latencies are at least their ages and are missing from the histograms",
    ),
    Code.ERRORS: Text(
        "{row}: {count} requests failed ({kinds})",
        "look at dmesg for the drive; latencies are those of the requests that succeeded",
    ),
    Code.MISMATCH: Text(
        "{row}: reads that returned other data than was written: {count}",
        "each bad block is named in the messages of the run and in its JSON; verify_dump=1 saves them",
    ),
    Code.STALLED: Text(
        "{row}: {count} completions were seen after their thread had stood still for over 1 ms: "
        "their latency may be the thread's",
        "free the CPUs from other work, or pin the workers; response and loop gap show what happened",
    ),
    Code.LOG_DROPPED: Text(
        "the request log is incomplete: {count} requests were dropped instead of slowing the run down",
        "let the load wait for its log (log overflow: wait); the histograms are complete",
    ),
    Code.SEARCH_UNFINISHED: Text(
        "{worker}: the job ended before it had found the depth that keeps latency_target, so nothing was measured "
        "(last depth: {depth})",
        "let the job run longer, or shorten latency_window; latency_run=1 measures all depths together",
    ),
    Code.RATE_MISSED: Text(
        "{row}: {what}",
        "the target or the generator cannot keep up: lower the rate, or raise iodepth or numjobs",
    ),
    Code.INTERVALS_MERGED: Text(
        "{count} intervals were handed over late and merged with the next",
        "free a CPU for the process, or use a longer interval; totals are complete",
    ),
    Code.ENGINE_FALLBACK: Text(
        "{requested} is not available here ({why}); used {instead} instead",
        "{remedy}",
    ),
    Code.UNSTEADY: Text(
        "{what}",
        "look at the rate over time in the report; precondition the drive, cool it, or measure longer",
    ),
    Code.THERMAL_THROTTLING: Text(
        "{device}: {what}: the figures depend on its cooling, too",
        "cool it better (airflow, a heat sink), pause between steps (startdelay), or measure for as long as it takes "
        "to settle",
    ),
    Code.UNSUPPORTED: Text(
        "{what}",
        "make steps longer (a longer runtime, or pace full), or ask for a lower quantile",
    ),
    Code.WRITTEN_MEANWHILE: Text(
        "{path}: between two parts of this review {what}: the drive's state may differ between them",
        "measure again without a break, or prepare the state first (state preconditioned)",
    ),
}

CHANGES: dict[Code, str] = {
    Code.IN_FLIGHT: "requests had not come back at the end; figures lack them",
    Code.ERRORS: "",
    Code.MISMATCH: "",
    Code.SEARCH_UNFINISHED: "",
    Code.PAGE_CACHE: "the page cache served it: latencies may be memory's",
    Code.UNWRITTEN: "reads of blocks never written are answered without the drive",
    Code.GENERATOR_LIMITED: "the load generator set the pace, not only the drive",
    Code.BUSY_TARGET: "another program uses the target",
    Code.THERMAL_THROTTLING: "the drive throttled for heat: figures depend on cooling",
    Code.WRITTEN_MEANWHILE: "the target was written between parts of this review",
    Code.UNSTEADY: "the rate did not stay at its level",
    Code.RATE_MISSED: "the requested rate was not reached",
    Code.COMPRESSIBLE: "the data compress: some drives answer them faster",
    Code.STALLED: "threads stood still: some latencies may be theirs",
    Code.ENGINE_FALLBACK: "the engine asked for is missing here; another was used",
    Code.NO_POLLING: "the target does not poll, though polling was asked for",
}
"""Warnings that change the answer, the gravest first, each in a few words; none: its own text has figures that nothing
else has."""


def in_few_words(notice: Notice) -> str:
    """Return a warning that changes the answer in a few words."""
    return CHANGES[notice.code] or notice.message


def of_step(
    run_warnings: Iterable[Notice], step: StepPlan, *, overloads: bool, left: object | None
) -> tuple[Notice, ...]:
    """Return the warnings of a step: those of its run, and those about the step as planned.

    If the step lacks samples although it was lengthened, its own warning replaces the run's about too few samples. If
    its suite ``overloads`` the target on purpose, a missed rate is expected, and no warning. ``left`` describes
    how the rate left its level; None if it did not.
    """
    warnings = [item for item in run_warnings if not (overloads and item.code == Code.RATE_MISSED)]
    if step.short:
        warnings = [item for item in warnings if item.code != Code.FEW_SAMPLES]
        warnings.append(warning(Code.UNSUPPORTED, what=step.short))
    if left is not None:
        warnings.append(warning(Code.UNSTEADY, what=f"the rate did not stay at its level: {left}"))
    return tuple(warnings)


def warning(code: Code, **facts: object) -> Notice:
    """Return the warning with its facts filled in. Raises KeyError if a fact is missing.

    >>> warning(Code.LOG_DROPPED, count=3).message
    'the request log is incomplete: 3 requests were dropped instead of slowing the run down'
    """
    text = TEXTS[code]
    return Notice(code=code, message=text.message.format(**facts), hint=text.hint.format(**facts))
