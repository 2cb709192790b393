"""The colours and fonts of charts, for the page, for paper and for saved pictures.

For dark screens the page replaces exactly these colours, by CSS attribute selectors (``page/templates/report.css``), so
each colour has one purpose only. Drives differ by shape and dash as well as by colour.
"""

from __future__ import annotations

from typing import Any

PAPER = "#ffffff"
INK = "#1d2733"
SOFT = "#5b6675"
GRID = "#e3e7ec"
STAIR = "#8d97a4"
STAIR_FILL = "#d5dae1"
ALARM = "#c8321f"
HEAT = "#e0a11b"

DRIVES = ("#2d96f0", "#c30f78", "#96961e", "#d27887", "#696900", "#1e5ae1")
"""Told apart with any colour vision, on light and on dark paper: ``tests/fast/report/charts/test_theme.py``."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [5, 5], [12, 4])

FONT = "Inter, system-ui, 'Segoe UI', Roboto, Arial, 'DejaVu Sans', sans-serif"

WIDTH, HEIGHT = 820, 380


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration that all charts share."""
    return {
        "background": PAPER,
        "font": FONT,
        "padding": 8,
        "view": {"stroke": None},
        "axis": {
            "domainColor": SOFT,
            "tickColor": SOFT,
            "gridColor": GRID,
            "labelColor": SOFT,
            "titleColor": INK,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "tickSize": 4,
        },
        "axisX": {"grid": False},
        "title": {
            "anchor": "start",
            "color": INK,
            "fontSize": 16,
            "fontWeight": 600,
            "subtitleColor": SOFT,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
            "frame": "group",
            "limit": WIDTH,
        },
        "legend": {
            "orient": "top",
            "labelColor": INK,
            "titleColor": SOFT,
            "labelFontSize": 12,
            "labelLimit": 320,
            "symbolSize": 90,
            "symbolStrokeWidth": 2,
            "columns": 3,
        },
    }
