"""Charts: Vega-Lite specifications, the tables that they draw, and drawing them as SVG or PNG."""
