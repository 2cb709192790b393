"""The report: one HTML file that needs no network, no server and, for reading, no scripts.

Charts are in it twice: drawn, for whoever reads without scripts, and as Vega-Lite specifications, which the scripts of
the page (Vega, inlined) draw anew with the statistic that the reader chooses and save as SVG, PNG and CSV. They are
drawn when they come near to view, so that a page of many charts is there at once.

A name in a job file or on a drive is text everywhere, never markup: Jinja2 escapes, data travels as JSON, and the
page's own policy lets no script run but its two, known by their hashes, and nothing be fetched.
Does not judge: figures are ``iogauge.stats``'s. Source: for the chart that is drawn first, Intel's application note on
read latency under write pressure (2017).
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from iogauge.comparison import text, versus_published_text
from iogauge.report.charts.data import STATISTICS
from iogauge.report.charts.drawing import bundle, svg
from iogauge.report.charts.specification import DATASET, Chart
from iogauge.report.charts.theme import config
from iogauge.report.page import facts, steps
from iogauge.report.sections import Report
from iogauge.results.review import OnProgress, no_progress
from iogauge.results.warnings import warnings
from iogauge.stats.quantiles import FEWEST_BLOCKS

TEMPLATES = Path(__file__).parent / "templates"

FEW_ROWS = 16
"""A table of more steps is folded."""
FEW_CHOICES = 6
"""More are offered in a list, not side by side."""


def page(report: Report, *, on_progress: OnProgress = no_progress) -> str:
    """Return the page of a report; ``on_progress`` is told how many charts are made."""
    charts = report.charts
    drawn = {}
    for number, chart in enumerate(charts, 1):
        drawn[chart.name] = Markup(_drawn(chart))
        on_progress(number, len(charts))
    scripts = [Markup(_bundle()), Markup((TEMPLATES / "report.js").read_text("utf-8"))]
    return _environment().get_template("report.html.j2").render(
        sections=report.sections,
        titles=", ".join(section.plan.title for section in report.sections),
        tested=report.tested,
        reviews=report.reviews,
        pairs=report.pairs,
        around=report.around,
        over=report.over,
        ratio_head=text.HEAD,
        over_head=versus_published_text.HEAD,
        over_note=versus_published_text.NOTE,
        asked_in=steps.asked_in,
        step_rows=lambda drive: list(steps.step_rows(drive)),
        run_rows=lambda drive: list(steps.run_rows(drive)),
        varied_rows=lambda drive: list(steps.varied_rows(drive)),
        variation_notes=(steps.VARIATION, steps.BETWEEN),
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
        data={
            "config": config(),
            "dataset": DATASET,
            "charts": {chart.name: _payload(chart) for chart in charts},
        },
        style=Markup((TEMPLATES / "report.css").read_text("utf-8")),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
    )  # fmt: skip


def _drawn(chart: Chart) -> str:
    """Return the chart as a picture: what is seen until the scripts have run, or without them.

    One of too many marks is left to the scripts.
    """
    if chart.dense:
        return "<p>Drawn by this page's scripts.</p>"
    spec = chart.spec(next(iter(chart.choices)))
    # Every mark's own description would be most of the picture; the page draws it with them.
    spec = {**spec, "config": {**spec["config"], "aria": False}}
    return _slim(svg(spec))


def _slim(drawn: str) -> str:
    """Return a picture without what is not seen of it, and with tenths of a pixel."""
    seen = re.sub(r'<path [^>]*(?:class="(?:back|fore)ground"|opacity="0")[^>]*/>', "", drawn)
    return re.sub(r' (?:d|transform)="[^"]*"', lambda found: re.sub(r"(\.\d)\d+", r"\1", found[0]), seen)


def _payload(chart: Chart) -> dict[str, Any]:
    """Return what the page's script draws a chart from and saves it with."""
    words, values = chart.table.packed()
    return {
        "columns": chart.table.columns,
        "words": words,
        "values": values,
        "specs": chart.specs,
        "choices": {
            key: {"scale": choice.scale, "patches": choice.patches} for key, choice in chart.choices.items()
        },
    }


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, in a scope of its own."""
    code = bundle("window.vegaEmbed = vegaEmbed;")
    if "</script" in code.lower() or "<!--" in code:
        raise RuntimeError("the Vega bundle would end its own script element")
    return f"(() => {{{code}\n}})();"


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment
