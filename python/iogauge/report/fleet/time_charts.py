"""A fleet over time: percentiles of all hosts together, how many hosts ran, and how far from the plan they began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Table
from iogauge.report.charts.over_time.lines import side
from iogauge.report.charts.specification import LOG_SCALE, Chart, Choice, finished, log_ticks, patch, single
from iogauge.report.charts.theme import DRIVES, INK, SOFT, STAIR, STAIR_FILL, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.report.fleet.view import FleetView, Moment, Start

PERCENTILES = {"p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9"}
_FEW = 120
"""The page has static pictures of charts with at most so many moments."""
_MOST_STARTS = 40
"""The most hosts of a step in the chart of starts: evenly chosen by lateness, with both ends."""
_CHOSEN = "datum.choice === chosen"


def moments_chart(view: FleetView) -> Chart:
    """Return the percentiles of the fleet over time; the reader chooses the step."""
    table = moments_table(view.moments)
    by_choice: dict[str, list[Moment]] = {}
    for moment in view.moments:
        by_choice.setdefault(_choice(moment), []).append(moment)
    points = (
        f"Each point has the highest percentiles of {view.thinned} intervals. "
        if view.thinned > 1
        else "One point per interval. "
    )
    choices = {
        choice: Choice(
            choice,
            "log",
            {
                "log": patch(
                    title=f"The fleet over time: {choice}",
                    subtitle=f"All hosts together. {points}Grey: not all hosts ran.",
                    description="Percentiles of the fleet's latency, its rate, and how many hosts ran.",
                    chosen=choice,
                    **_ends(moments),
                )
            },
        )
        for choice, moments in by_choice.items()
    }
    return Chart(
        "fleet-over-time",
        "The fleet over time",
        table,
        {"log": finished({"vconcat": list(_panels()), "spacing": 8})},
        choices,
        chosen="Step",
        dense=max(map(len, by_choice.values())) > _FEW,
    )


def moments_table(moments: Sequence[Moment]) -> Table:
    """Return a row for each moment: latencies in microseconds."""
    return Table.of(
        [
            {
                "choice": _choice(moment),
                "start_s": moment.start_s,
                "end_s": end_s,
                "hosts_running": moment.hosts_running,
                "hosts": moment.hosts,
                "iops": moment.iops,
                "MBps": None if moment.bytes_per_s is None else moment.bytes_per_s / 1e6,
                "p50_us": _us(moment.p50_ns),
                "p99_us": _us(moment.p99_ns),
                "p999_us": _us(moment.p999_ns),
                "p9999_us": _us(moment.p9999_ns),
            }
            for moment, end_s in zip(moments, _end_times(moments), strict=True)
        ]
    )


def starts_chart(view: FleetView) -> Chart:
    """Return how far from the plan hosts began each step, a point for each host."""
    table = starts_table(view.starts)
    steps = list(dict.fromkeys(map(str, table.column("step"))))
    y = vega.name(
        "step", sort=steps, scale={"domain": steps}, axis={"title": None, "labelLimit": 260, "grid": True}
    )
    axis = {"title": "After the planned start, µs", "format": ",~r", "tickCount": 8}
    x = vega.number("late_us", axis=axis, scale={"zero": True})
    base = vega.unit(x=x, y=y)
    bounded = vega.transformed(
        base,
        {"calculate": "datum.late_us - datum.bound_us", "as": "least_us"},
        {"calculate": "datum.late_us + datum.bound_us", "as": "most_us"},
    )
    least = vega.number("least_us", axis=axis)
    spec = vega.layered(
        vega.drawn({"data": {"values": [{}]}}, vega.mark("rule", color=INK), x={"datum": 0}),
        vega.drawn(bounded, vega.mark("rule", color=STAIR, opacity=0.5), x=least, x2=vega.end("most_us")),
        vega.drawn(
            base,
            vega.mark("point", filled=True, size=30, opacity=0.8, color=DRIVES[0]),
            tooltip=[
                vega.name("host"),
                vega.number("late_us", title="late, µs", format=",.3~r"),
                vega.number("bound_us", title="known to ±µs", format=",.3~r"),
            ],
        ),
        width=WIDTH,
        height=max(24 * len(steps), 60),
    )
    texts = patch(
        title="How far from the plan hosts began",
        subtitle=f"A point for each host{_chosen_hosts(view)}. Lines: how well its clock is known.",
        description="The lateness of the first request of each host at each step.",
    )
    return single("fleet-starts", table, finished(spec), texts, dense=len(table.rows) > 10 * _FEW)


def starts_table(starts: Sequence[Start]) -> Table:
    """Return a row for each start, of many hosts at a step some; times are in microseconds."""
    by_step: dict[str, list[Start]] = {}
    for start in starts:
        by_step.setdefault(start.step, []).append(start)
    return Table.of(
        [
            {
                "step": step,
                "host": start.host,
                "late_us": start.late_ns / 1e3,
                "bound_us": start.bound_ns / 1e3,
            }
            for step, started in by_step.items()
            for start in _evenly(started)
        ]
    )


def _evenly(starts: Sequence[Start]) -> list[Start]:
    ordered = sorted(starts, key=lambda start: start.late_ns)
    if len(ordered) <= _MOST_STARTS:
        return ordered
    last = _MOST_STARTS - 1
    return [ordered[round(place * (len(ordered) - 1) / last)] for place in range(_MOST_STARTS)]


def _chosen_hosts(view: FleetView) -> str:
    return f", at most {_MOST_STARTS} of a step" if len(view.hosts) > _MOST_STARTS else ""


def _choice(moment: Moment) -> str:
    return f"{moment.step}, {moment.direction}s"


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1e3


def _end_times(moments: Sequence[Moment]) -> Iterator[float]:
    """Yield when each moment ends: when the next of its step begins; the last is as long as the one before it."""
    lasted_s = 1.0
    for place, moment in enumerate(moments):
        following = moments[place + 1] if place + 1 < len(moments) else None
        if following and _choice(following) == _choice(moment):
            lasted_s = following.start_s - moment.start_s
        yield moment.start_s + lasted_s


def _ends(moments: Sequence[Moment]) -> dict[str, object]:
    """Return the domains of the axes for the moments of one choice."""
    latencies = [
        value / 1e3
        for moment in moments
        for value in (moment.p50_ns, moment.p99_ns, moment.p999_ns)
        if value is not None
    ]
    domain, ticks = log_ticks(latencies)
    *_, end_s = _end_times(moments)
    return {"domain": domain, "ticks": ticks, "clock": [moments[0].start_s, end_s]}


def _clock(column: str, *, labels: bool = False) -> Spec:
    shown: Spec = {"title": "Time, s", "tickCount": 8}
    hidden: Spec = {"title": None, "labels": False, "ticks": False}
    scale = {"domain": vega.parameter("clock"), "nice": False}
    return vega.number(column, axis=shown if labels else hidden, scale=scale)


def _panels() -> Iterator[Spec]:
    base = vega.filtered(vega.unit(), _CHOSEN)
    tooltip = [
        vega.number("start_s", title="from, s", format=",.4~r"),
        *(vega.number(column, title=f"{name}, µs", format=",.4~r") for column, name in PERCENTILES.items()),
        vega.number("iops", title="IOPS", format=",.0f"),
        vega.number("MBps", title="MB/s", format=",.1f"),
        vega.number("hosts_running", title="hosts running"),
    ]

    def panel(height: int, *drawn: Spec, labels: bool = False) -> Spec:
        partly = vega.drawn(
            vega.filtered(base, "datum.hosts_running < datum.hosts"),
            vega.mark("rect", color=STAIR_FILL, opacity=0.6),
            x=_clock("start_s", labels=labels),
            x2=vega.end("end_s"),
        )
        hover = vega.drawn(
            base,
            vega.mark("rect", opacity=0, aria=False),
            x=_clock("start_s", labels=labels),
            x2=vega.end("end_s"),
            tooltip=tooltip,
        )
        return vega.layered(partly, *drawn, hover, width=WIDTH, height=height)

    def steps(column: str, title: str, color: str, *, labels: bool = False, **axis: object) -> Spec:
        line = {"color": color, "strokeWidth": 1.5, "interpolate": "step-after"}
        return vega.drawn(
            base,
            vega.mark("area", color=color, fillOpacity=0.22, line=line, interpolate="step-after"),
            x=_clock("start_s", labels=labels),
            y=vega.number(column, axis=side(title, tickCount=3, **axis), scale={"zero": True}, stack=None),
        )

    names = list(PERCENTILES.values())
    latencies = vega.drawn(
        vega.transformed(
            base,
            {"fold": list(PERCENTILES), "as": ["column", "latency_us"]},
            {
                "calculate": "datum.column === 'p50_us' ? 'p50' : datum.column === 'p99_us' ? 'p99' : 'p99.9'",
                "as": "figure",
            },
        ),
        vega.mark("line", strokeWidth=1.6),
        x=_clock("start_s"),
        y=vega.number(
            "latency_us",
            scale={**LOG_SCALE, "domain": vega.parameter("domain")},
            axis=side("Latency, µs", values=vega.parameter("ticks"), **vega.IN_US),
        ),
        color=vega.name(
            "figure",
            scale={"domain": names, "range": [DRIVES[0], DRIVES[1], SOFT]},
            legend={"title": None, "symbolType": "stroke"},
        ),
        strokeDash=vega.name("figure", scale={"domain": names, "range": [[1, 0], [1, 0], [2, 2]]}),
    )
    yield panel(220, latencies)
    yield panel(90, steps("iops", "IOPS", DRIVES[0], **vega.SHORT))
    yield panel(70, steps("hosts_running", "Hosts running", STAIR, labels=True), labels=True)
