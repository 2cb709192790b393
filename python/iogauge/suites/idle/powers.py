"""What the records of idle steps say of power: findings and tables. ``idle_power`` plans the steps.

The interval of a mean power allows for the correlation of its readings, as that of a rate does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from iogauge.catalog.published import points
from iogauge.results.conclusions import TextTable
from iogauge.schema import IdleState, PowerTrace, RunRecord
from iogauge.stats.figure import Figure
from iogauge.stats.figures import difference, ratio
from iogauge.stats.moments import rate_with_interval
from iogauge.stats.repeats import repeated
from iogauge.text import numbers

Records = Mapping[str, Sequence[RunRecord]]
"""The records of each step's repeats, by its label."""
MODEL = "the model's energy"
SAME = 1e-3
"""A model's power that differs by less is the same: its reads take some."""


def findings(records: Records, states: Sequence[IdleState], *, awake: str, left: str) -> Iterator[str]:
    """Yield the power of both steps and how they differ; then the drive's states, and how it woke."""
    measured = {label: _powers(repeats) for label, repeats in records.items()}
    for source in dict.fromkeys(name for figures in measured.values() for name in figures):
        figures = {label: powers[source] for label, powers in measured.items() if source in powers}
        yield f"{source}: {'; '.join(f'{label} {_shown(power)}' for label, power in figures.items())}"
        if awake in figures and left in figures:
            yield _compared(figures[awake], figures[left])
    if records and not any(measured.values()):
        yield f"no power was measured: {_reasons(records)}"
    yield from _declared(states)
    for label, repeats in records.items():
        states_seen = dict.fromkeys(run.power.state for run in repeats if run.power and run.power.state)
        if states_seen:
            seen = numbers.listed(list(states_seen))
            yield f"{label}: the drive said that it was in {seen}, asked when the measured part ended"


def tables(records: Records, states: Sequence[IdleState]) -> Iterator[TextTable]:
    """Yield the power of each step and source, the states that the drive declares, and what was published."""
    rows = [
        (label, source, _shown(power), str(power.count))
        for label, repeats in records.items()
        for source, power in _powers(repeats).items()
    ]
    if rows:
        yield TextTable("Power", ("step", "source", "power", "readings"), tuple(rows))
    own = [state for state in states if state.part != "CPU"]
    if own:
        yield TextTable("Declared idle states", _STATES, tuple(_row(state) for state in own))
    yield TextTable(
        "Published idle power",
        ("drive", "what", "power", "source"),
        tuple(
            (
                point.drive,
                _what(point.metric),
                f"{point.relation or ''} {point.value:g} W".strip(),
                point.source,
            )
            for point in points()
            if point.unit == "W" and "idle" in point.metric
        ),
    )


_STATES = ("state", "entered after", "entry", "exit", "power")


def _row(state: IdleState) -> tuple[str, ...]:
    after = {None: "unknown", False: "not by itself", True: "any idle time"}[state.enabled]
    times = [
        "-" if value is None else numbers.span(value) if value else "0"
        for value in (state.after_ns, state.entry_ns, state.exit_ns)
    ]
    return (
        state.name,
        after if state.after_ns is None else times[0],
        *times[1:],
        "-" if state.power_W is None else numbers.power(state.power_W),
    )


def _what(metric: str) -> str:
    return {
        "power_idle": "idle",
        "power_active_idle": "active idle",
        "power_idle_lpm": "idle with power management",
        "power_idle_apst": "idle with APST",
    }.get(metric, metric)


def _powers(repeats: Sequence[RunRecord]) -> dict[str, Figure]:
    """Return the mean power of a step by source, pooled over its repeats."""
    by_run = [_powers_of_run(record) for record in repeats]
    if len(by_run) == 1:
        return by_run[0]
    return {
        source: _pooled([figures[source] for figures in by_run])
        for source in dict.fromkeys(source for figures in by_run for source in figures)
        if all(source in figures for figures in by_run)
    }


def _pooled(runs: Sequence[Figure]) -> Figure:
    """Return the mean over runs, with the interval of how they differ."""
    values = [run.value for run in runs]
    count = sum(run.count for run in runs)
    if min(values) <= 0:
        return Figure(fmean(values), count=count, unit="W")
    spread = repeated(values)
    return Figure(spread.value, spread.low, spread.high, count=count, unit="W")


def _powers_of_run(record: RunRecord) -> dict[str, Figure]:
    """Return the mean power of a run by source; what is the computer's says so."""
    if record.result.drives:
        drive = record.result.drives[0]
        watts = drive.energy_J / (record.result.elapsed_ns / 1e9)
        return {MODEL: Figure(watts, watts, watts, count=1, unit="W")}
    traces = record.power.traces if record.power else ()
    return {_name(trace): _mean(trace) for trace in traces if trace.power_W}


def _name(trace: PowerTrace) -> str:
    return trace.source if trace.of == "target" else f"{trace.source} (the computer's, not the drive's)"


def _mean(trace: PowerTrace) -> Figure:
    mean = rate_with_interval(fmean(trace.power_W), trace.power_W, count=len(trace.power_W), unit="W")
    if mean.low is not None and len(set(trace.power_W)) == 1:
        # Its bounds differ by no more than floating point does.
        return replace(mean, low=mean.value, high=mean.value)
    return mean


def _shown(power: Figure) -> str:
    if power.low == power.high == power.value:
        return numbers.power(power.value)
    return numbers.estimated(power, numbers.power)


def _compared(awake: Figure, left: Figure) -> str:
    """Say how much less is drawn when left idle."""
    saved = difference(awake, left)
    share = ratio(left, awake)
    if saved.low is None or saved.high is None:
        return "whether it draws less when left idle cannot be determined: an interval needs ten readings or more"
    if saved.low == saved.high:
        same = abs(share.value - 1) < SAME
        return "left idle it draws the same" if same else f"left idle it draws {share.value:.2g}x as much"
    if saved.low <= 0 <= saved.high:
        most = numbers.power(max(abs(saved.low), abs(saved.high)))
        return f"left idle it draws the same, within {most}"
    word = "less" if saved.value > 0 else "more"
    return (
        f"left idle it draws {numbers.power(abs(saved.value))} {word}: "
        f"{numbers.times(share.value, share.low, share.high)} as much"
    )


def _reasons(records: Records) -> str:
    problems = dict.fromkeys(
        problem
        for repeats in records.values()
        for run in repeats
        if run.power
        for problem in run.power.problems
    )
    return "; ".join(
        ["no meter, no drive that measures its own power, and no counter of this machine gave any", *problems]
    )


def _declared(states: Sequence[IdleState]) -> Iterator[str]:
    own = [state for state in states if state.part == "drive"]
    entered = [state for state in own if state.enabled and state.after_ns is not None]
    if entered:
        deepest = max(entered, key=lambda state: state.after_ns or 0)
        power = "" if deepest.power_W is None else f", declared at {numbers.power(deepest.power_W)}"
        yield (
            f"the deepest state that the drive enters by itself is {deepest.name}, after "
            f"{numbers.span(deepest.after_ns or 0)}{power}"
        )
    elif own:
        yield "the drive enters no low-power state by itself, as far as it declares"
