"""A chart of a review, to show, save or draw with another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.results.tabular import Tabular

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.report.charts.specification import Chart as Drawn


class Chart(Tabular):
    """A chart of the report. A notebook draws it; its table has the rows that are drawn."""

    def __init__(self, chart: Drawn) -> None:
        self._chart = chart

    @property
    def name(self) -> str:
        """Its name among the charts of the review, usable as a file name."""
        return self._chart.name

    @property
    def title(self) -> str:
        """What it shows, in words."""
        return self._chart.title

    @property
    def choices(self) -> Sequence[str]:
        """What it can show, such as statistics or steps; the first is the default."""
        return tuple(self._chart.choices)

    def spec(self, choice: str | None = None) -> dict[str, Any]:
        """Return the chart as a Vega-Lite specification with its data. Raises UsageError for an unknown choice."""
        if choice is not None and choice not in self.choices:
            raise UsageError(
                f"{self.name} has no choice {choice!r}", hint=f"its choices: {', '.join(self.choices)}"
            )
        return self._chart.spec(choice or self.choices[0])

    def svg(self, choice: str | None = None) -> str:
        """Return the picture as SVG. Raises UsageError for an unknown choice."""
        from iogauge.report.charts.drawing import svg

        return svg(self.spec(choice))

    def to_arrow(self) -> pa.Table:
        """Return the rows that are drawn, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._chart.table.records())

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<Chart {self.name}: {self.title}>"
