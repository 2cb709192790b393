"""The page of a fleet: one HTML file with a picture of all drives, built as the report's page (``report/page``)."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from iogauge.report.charts.specification import Chart
from iogauge.report.fleet import tables
from iogauge.report.fleet.charts import drives_chart
from iogauge.report.fleet.sentences import answer, circumstances, findings, late, missing_host
from iogauge.report.fleet.time_charts import moments_chart, starts_chart
from iogauge.report.fleet.view import FleetView
from iogauge.report.page import render
from iogauge.results.conclusions import TextTable
from iogauge.results.review import OnProgress, no_progress
from iogauge.text import numbers
from iogauge.text.cells import micro

WORDS = (
    "drive",
    "host",
    "model",
    "firmware",
    "slot",
    "why",
    "fact",
    "value",
    "which",
    "step",
    "missing",
    "text",
    "CPU",
)
"""The columns of words, which wrap."""


def page(view: FleetView, *, on_progress: OnProgress = no_progress) -> str:
    """Return the page as HTML. ``on_progress`` gets the number of charts drawn so far, and their total."""
    from iogauge import __version__

    hero = _captioned(drives_chart(view), view) if view.judged else None
    moments = _captioned(moments_chart(view), view) if view.moments else None
    starts = _captioned(starts_chart(view), view) if view.starts else None
    charts = [chart for chart in (hero, moments, starts) if chart]
    inlined = [Markup(script) for script in render.scripts()]
    return render.environment().get_template("fleet.html.j2").render(
        view=view,
        version=__version__,
        subject=subject(view),
        answer=answer(view),
        key_figures=_key_figures(view),
        missing=[missing_host(host) for host in view.missing],
        quoted=numbers.argument(view.path),
        findings=findings(view),
        circumstances=circumstances(view),
        outliers=tables.outliers(view),
        false_rate=numbers.percent(view.false_rate, 1),
        hero=hero,
        moments=moments,
        starts=starts,
        merged=tables.groups(view.groups_by("fleet"), of_fleet=True),
        by_label=[
            replace(tables.groups(view.groups_by(by)), title=f"by {by}")
            for by in dict.fromkeys(group.by for group in view.groups)
            if by != "fleet"
        ],
        start_table=tables.starts(view.starts),
        differences=tables.differences(view.differences, hosts=len(view.hosts)),
        hosts=tables.hosts(view),
        events=_events(view),
        words=WORDS,
        few_rows=render.FEW_ROWS,
        few_choices=render.FEW_CHOICES,
        drawn=render.pictures(charts, on_progress),
        data=render.chart_data(charts),
        style=render.style(),
        scripts=inlined,
        hashes=[render.script_hash(script) for script in inlined],
    )  # fmt: skip


def subject(view: FleetView) -> str:
    """Return in a line what ran: hosts, drives, suites, pace, mode and date."""
    suites = view.options.get("suites") or ()
    parts = [
        numbers.counted(len(view.drives), "drive") if view.drives else "",
        ", ".join(map(str, suites)) if len(suites) <= 3 else numbers.counted(len(suites), "suite"),
        f"{view.options['pace']} pace" if view.options.get("pace") else "",
        view.mode,
        view.created[:10],
    ]
    return " · ".join(filter(None, parts))


def _captioned(chart: Chart, view: FleetView) -> Chart:
    return replace(chart, caption=f"{view.title}, {subject(view)}")


def _key_figures(view: FleetView) -> list[tuple[str, str, str]]:
    """Return name, value and remark of the four figures beside the answer."""
    done = len(view.hosts) - len(view.missing)
    figures = [("Hosts complete", f"{done:,}", f"of {len(view.hosts):,}")]
    if view.judged:
        figures.append(("Slow drives", f"{len(view.slow_of('drive')):,}", f"of {len(view.judged):,}"))
    known = [group for group in view.groups_by("fleet") if group.p99_ns is not None]
    if known:
        worst = max(known, key=lambda group: group.p99_ns or 0.0)
        figures.append(("Highest p99", numbers.duration(worst.p99_ns or 0.0, 3), worst.step))
    if view.starts:
        p99_ns, bound_ns = late(view.starts)
        figures.append(
            ("Starts, p99", numbers.duration(p99_ns, 2), f"clocks ±{numbers.duration(bound_ns, 2)}")
        )
    return [(name, micro(value), micro(remark)) for name, value, remark in figures]


def _events(view: FleetView) -> TextTable:
    rows = tuple((event.at, event.host or "-", event.kind, event.text) for event in view.events)
    return TextTable("what happened", ("at", "host", "kind", "text"), rows)
