"""The answer to a question about a model, as data that a page shows: sentences, tables and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iogauge.library.models.explained import explain_model
from iogauge.library.models.explained_text import difference_table, what_changes
from iogauge.report.page.render import chart_data
from iogauge.results.explained.wording import COLUMNS, answer, present, table
from iogauge.text import numbers
from iogauge.web.modelling.chart import side_by_side

if TYPE_CHECKING:
    from iogauge.report.charts.specification import Chart
    from iogauge.web.modelling.question import Question


def answered(question: Question) -> dict[str, Any]:
    """Run the load on the models, and return what the page shows: JSON's types. Raises as ``explain_model`` does."""
    explanation = explain_model(
        question.drive, question.load.job, machine=question.machine, changes=dict(question.changes)
    )
    order = [meaning.name for meaning in explanation.meanings]
    charts = [explanation.chart()]
    if explanation.differences:
        what = ", ".join(f"{place}={value}" for place, value in question.changes)
        charts.insert(0, side_by_side(explanation.differences, order=order, title=f"Changed: {what}"))
    return {
        "sentences": [
            *(
                _of(load.name, what_changes(explanation, load), len(explanation))
                for load in explanation.differences
            ),
            *(_of(load.name, answer(load), len(explanation)) for load in explanation.loads),
        ],
        "differences": [
            {"title": load.name, "rows": difference_table(load), "pairs": load.figures[0].difference.pairs}
            for load in explanation.differences
        ],
        "loads": [
            {
                "title": f"{load.name}: {load.count:,} requests, {numbers.rate(load.iops)} IOPS",
                "rows": table(explanation.meanings, load),
                "unsupported": list(load.unsupported),
            }
            for load in explanation.loads
        ],
        "columns": COLUMNS,
        "parts": [[part.name, part.meaning] for part in present(explanation.meanings, explanation.loads)],
        "charts": [_head(chart) for chart in charts],
        "data": chart_data(charts),
    }


def _of(load: str, sentence: str, loads: int) -> str:
    return sentence if loads == 1 else f"{load}: {sentence}"


def _head(chart: Chart) -> dict[str, Any]:
    """Return what the template shows of a chart; its data is with that of all others."""
    return {
        "name": chart.name,
        "title": chart.title,
        "chosen": chart.chosen,
        "specs": list(chart.specs),
        "choices": {key: {"label": choice.label} for key, choice in chart.choices.items()},
    }
