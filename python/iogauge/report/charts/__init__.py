"""Charts: a Vega-Lite specification and the table behind it, and drawing them as SVG or PNG."""
