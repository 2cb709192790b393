"""The report: one HTML file that needs no network, no server and, for reading, no scripts.

Charts are in it twice: drawn, as SVG, for whoever reads without scripts, and as Vega-Lite specifications, which the
scripts of the page (Vega, inlined) draw anew with the statistic that the reader chooses and save as SVG, PNG and CSV.

A name in a job file or on a drive is text everywhere, never markup: Jinja2 escapes, data travels as JSON, and the
page's own policy lets no script run but its two, known by their hashes, and nothing be fetched.
Does not judge: figures are ``iogauge.stats``'s. Source: methods.md WP-3.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from iogauge.errors import IogaugeError
from iogauge.report import html_facts, html_text
from iogauge.report.charts import DATASET, Chart
from iogauge.report.charts_data import STATISTICS
from iogauge.report.charts_pressure import pressure_chart
from iogauge.report.charts_sweep import sweep_charts
from iogauge.report.charts_theme import config
from iogauge.report.charts_time import time_chart
from iogauge.report.export import VEGA_LITE, svg
from iogauge.report.html_reviews import Drive, load
from iogauge.schema import SuitePlan
from iogauge.stats.quantiles import FEWEST_BLOCKS
from iogauge.store import Review

TEMPLATES = Path(__file__).parent / "templates"

Findings = Callable[[Review, SuitePlan], Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One suite, on all that it tested."""

    drives: tuple[Drive, ...]
    findings: tuple[tuple[str, ...], ...]
    """What the suite has to say of each drive, in the same order."""
    along: tuple[Chart, ...]
    """What the suite's axis does to the drives: one chart, or one for each series of its steps."""
    over_time: tuple[Chart, ...]
    """One for each drive, in the same order."""

    @property
    def plan(self) -> SuitePlan:
        """The suite's plan for the first drive."""
        return self.drives[0].plan

    @property
    def verdicts(self) -> list[html_text.Verdict]:
        """What a reader should take away of each drive."""
        return [
            html_text.verdict(drive, found) for drive, found in zip(self.drives, self.findings, strict=True)
        ]

    @property
    def comparison(self) -> str:
        """How the drives compare; empty for one."""
        return html_text.comparison(self.drives)


@dataclass(frozen=True)
class Report:
    """Reviews and their charts, read from the store once: to be written as a page, as pictures, or both."""

    sections: tuple[Section, ...]

    @classmethod
    def of(cls, directories: Sequence[Path], *, findings: Findings = lambda _review, _plan: ()) -> Report:
        """Read the reviews in ``directories``; ``findings`` says what a plan's suite concludes from a review.

        Raises IogaugeError where one is not a review, is damaged or newer, or where a suite's axes differ.
        """
        drives = load(directories)
        suites = dict.fromkeys(drive.plan.suite for drive in drives)
        return cls(
            tuple(
                _section(tuple(drive for drive in drives if drive.plan.suite == suite), findings)
                for suite in suites
            )
        )

    @property
    def drives(self) -> tuple[Drive, ...]:
        """All that was tested, suite by suite."""
        return tuple(drive for section in self.sections for drive in section.drives)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, those along a section's axis first."""
        return tuple(chart for section in self.sections for chart in (*section.along, *section.over_time))

    def write(self, path: Path) -> None:
        """Write the page to ``path``, replacing what is there. Raises IogaugeError where that cannot be done."""
        try:
            path.write_text(self.page(), encoding="utf-8")
        except OSError as error:
            raise IogaugeError(
                f"{path}: cannot write the report: {error.strerror}", hint="name another place with --output"
            ) from error

    def page(self) -> str:
        """Return the page."""
        scripts = [Markup(_bundle()), Markup((TEMPLATES / "report.js").read_text("utf-8"))]
        return _environment().get_template("report.html.j2").render(
            sections=self.sections,
            titles=", ".join(section.plan.title for section in self.sections),
            tested={drive.label: drive for drive in self.drives},
            step_rows=lambda drive: list(html_text.step_rows(drive)),
            environment=html_facts.environment,
            fewest=FEWEST_BLOCKS,
            statistics=STATISTICS,
            drawn={chart.name: Markup(_drawn(chart)) for chart in self.charts},
            data={
                "config": config(),
                "dataset": DATASET,
                "charts": {chart.name: _payload(chart) for chart in self.charts},
            },
            style=Markup((TEMPLATES / "report.css").read_text("utf-8")),
            scripts=scripts,
            hashes=[_hash(script) for script in scripts],
        )  # fmt: skip


def _section(drives: tuple[Drive, ...], findings: Findings) -> Section:
    plan = drives[0].plan
    return Section(
        drives,
        findings=tuple(tuple(findings(Review.open(drive.path), drive.plan)) for drive in drives),
        along=(pressure_chart(drives),) if plan.pressure else sweep_charts(drives),
        over_time=tuple(
            time_chart(drive, name=f"{plan.suite}-over-time-{place}") for place, drive in enumerate(drives, 1)
        ),
    )


def _drawn(chart: Chart) -> str:
    """Return the chart as SVG: what is seen until the scripts have run, or without them."""
    return svg(chart.spec(next(iter(chart.scales))))


def _payload(chart: Chart) -> dict[str, Any]:
    """Return what the page's script draws a chart from and saves it with."""
    return {
        "columns": chart.table.columns,
        "values": chart.table.rows,
        "scales": chart.scales,
        "specs": {f"{statistic} {scale}": spec for (statistic, scale), spec in chart.variants.items()},
    }


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, in a scope of its own."""
    code: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
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
