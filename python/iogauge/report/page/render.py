"""The report as one HTML file. It needs no network and no server, and can be read without scripts.

The page has each chart twice: as a picture, for reading without scripts, and as a Vega-Lite specification. The page's
script (Vega, inlined) draws the specification with the statistic that the reader chooses, and saves it as SVG, PNG or
CSV. It draws a chart when the reader scrolls near it, so that a page of many charts opens at once.

A name from a job file or a drive is always text, never markup: Jinja2 escapes it, data is embedded as JSON, and the
page's content security policy allows only its own two scripts, by their hashes, and no fetches.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from iogauge.comparison import text, versus_published_text
from iogauge.report import machine
from iogauge.report.charts.data import STATISTICS
from iogauge.report.charts.drawing import bundle, in_parallel, svg
from iogauge.report.charts.specification import DATASET, SUBTITLE_LINE, TITLE_LINE, Chart
from iogauge.report.charts.theme import config
from iogauge.report.page import facts, first_screen, steps
from iogauge.report.page.key_figures import key_figures
from iogauge.report.sections import Report
from iogauge.results.explained import wording
from iogauge.results.explained.steps import meanings
from iogauge.results.review import OnProgress, no_progress
from iogauge.results.warnings import warnings
from iogauge.stats.quantiles import FEWEST_BLOCKS
from iogauge.text.cells import micro
from iogauge.verdicts.markdown import criteria_table
from iogauge.verdicts.text import sentences
from iogauge.verdicts.warnings import warning_texts

TEMPLATES = Path(__file__).parent / "templates"

FEW_ROWS = 16
"""A table with more rows is folded."""
FEW_CHOICES = 6
"""More choices than this are a list, not buttons side by side."""
BY_SCRIPT = "<p>Drawn by this page's scripts.</p>"
"""Stands for a chart that has no picture."""


@dataclass(frozen=True)
class Frame:
    """What a server puts around a report. Its headers say what the page may load."""

    head: Markup
    """Elements for the head, after the report's styles."""
    top: Markup
    """Elements above the report, such as the navigation."""
    scripts: Markup
    """Elements that load ``scripts()`` in their order, and others of the server."""


def page(report: Report, *, frame: Frame | None = None, on_progress: OnProgress = no_progress) -> str:
    """Return the page of a report as HTML.

    ``frame``: a server's; then the page's scripts draw all charts, and no picture waits for them. ``on_progress`` gets
    the number of charts drawn so far, and their total.
    """
    charts = report.charts
    drawn = {chart.name: Markup(BY_SCRIPT) for chart in charts} if frame else pictures(charts, on_progress)
    inlined = [] if frame else [Markup(script) for script in scripts()]
    return environment().get_template("report.html.j2").render(
        sections=report.sections,
        titles=", ".join(section.plan.title for section in report.sections),
        tested=report.tested,
        subject=first_screen.subject(report),
        verdict=sentences(report.verdicts),
        verdicts=report.verdicts,
        criteria_table=criteria_table,
        warning_texts=warning_texts,
        findings=first_screen.ranked(report),
        most_findings=first_screen.MOST_FINDINGS,
        key_figures=key_figures(report),
        hero=report.hero,
        hero_name=report.hero.name if report.hero else "",
        caption=report.caption,
        drives=report.drives,
        reviews=report.reviews,
        pairs=report.pairs,
        setup=report.setup,
        published=report.published,
        machines=report.machines,
        machine_unknown=machine.UNKNOWN,
        ratio_head=text.HEAD,
        published_head=versus_published_text.HEAD,
        published_note=versus_published_text.NOTE,
        position_head=steps.position_head,
        step_rows=lambda drive: list(steps.step_rows(drive)),
        run_rows=lambda drive: list(steps.run_rows(drive)),
        varied_rows=lambda drive: list(steps.varied_rows(drive)),
        variation_notes=(steps.VARIATION, steps.BETWEEN),
        parts_columns=wording.COLUMNS,
        part_meanings=meanings,
        warnings=warnings,
        environment=facts.environment,
        provenance=facts.provenance,
        command=lambda step: f"iogauge run {shlex.quote(f'{step.id}.fio')} --seed {step.seed}",
        review_command=lambda drive: shlex.join(drive.manifest.command),
        fewest=FEWEST_BLOCKS,
        few_rows=FEW_ROWS,
        few_choices=FEW_CHOICES,
        statistics=STATISTICS,
        drawn=drawn,
        data=chart_data(charts),
        style=style(),
        scripts=inlined,
        hashes=[script_hash(script) for script in inlined],
        frame=frame,
    )  # fmt: skip


def pictures(charts: Sequence[Chart], on_progress: OnProgress = no_progress) -> dict[str, Markup]:
    """Return the pictures of charts by their names, as HTML. ``on_progress`` is called as by ``page``."""
    drawn = {}
    for number, (chart, picture) in enumerate(zip(charts, in_parallel(_drawn, charts), strict=True), 1):
        drawn[chart.name] = Markup(picture)
        on_progress(number, len(charts))
    return drawn


def style() -> Markup:
    """Return the styles of every page with charts."""
    return Markup("\n".join((TEMPLATES / name).read_text("utf-8") for name in ("inks.css", "report.css")))


def scripts() -> tuple[str, str]:
    """Return the page's scripts: Vega, and the one that draws the charts."""
    return _bundle(), (TEMPLATES / "report.js").read_text("utf-8")


def chart_data(charts: Sequence[Chart]) -> dict[str, Any]:
    """Return what the page's script needs to draw charts, and to save them: JSON's types."""
    return {
        "config": config(),
        "dataset": DATASET,
        "lines": {"title": TITLE_LINE, "subtitle": SUBTITLE_LINE},
        "charts": {chart.name: _payload(chart) for chart in charts},
    }


def _drawn(chart: Chart) -> str:
    """Return the chart as a picture, which readers see until the scripts have run, or if they cannot run.

    A chart of too many marks is drawn by the scripts alone.
    """
    if chart.dense:
        return BY_SCRIPT
    spec = chart.spec(next(iter(chart.choices)))
    # The descriptions of marks would be most of the picture; the chart's data is in a table.
    spec = {**spec, "config": {**spec["config"], "aria": False}}
    return _slim(svg(spec))


def _slim(drawn: str) -> str:
    """Return a picture without invisible paths and roles of marks, and with coordinates in tenths of a pixel."""
    drawn = re.sub(r' (?:role="graphics-|aria-roledescription=")[^"]*"', "", drawn)
    visible = re.sub(r'<path [^>]*(?:class="(?:back|fore)ground"|opacity="0")[^>]*/>', "", drawn)
    return re.sub(r' (?:d|transform)="[^"]*"', lambda match: re.sub(r"(\.\d)\d+", r"\1", match[0]), visible)


def _payload(chart: Chart) -> dict[str, Any]:
    """Return the data from which the page's script draws and saves a chart."""
    texts, values = chart.table.packed()
    return {
        "columns": chart.table.columns,
        "texts": texts,
        "values": values,
        "specs": chart.specs,
        "caption": chart.caption,
        "choices": {
            key: {"scale": choice.scale, "patches": choice.patches} for key, choice in chart.choices.items()
        },
    }


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script in its own scope."""
    code = bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in code.lower() or "<!--" in code:
        raise RuntimeError("the Vega bundle would end its own script element")
    return f"(() => {{{code}\n}})();"


def script_hash(script: str) -> str:
    """Return the hash by which a page's content security policy allows a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def environment() -> jinja2.Environment:
    """Return the environment of the pages' templates."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What is Markup already, such as pictures, scripts and data, stays as it is.
        finalize=lambda value: micro(value) if type(value) is str else value,
    )
