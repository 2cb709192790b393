"""The names of the files that a saved review is made of; ``store.review`` has the layout."""

from __future__ import annotations

MANIFEST = "manifest.json"
AUDITS = "audits.json"
RECORD = "record.json"
TOTALS = "totals.parquet"
INTERVALS = "intervals.parquet"
FIGURES = "figures.json"
COMPUTED = "computed.json"
NOTES = "notes.md"
LOCK = ".lock"
FLEET = "fleet.json"

DEPTH = 4
"""Levels of directories below the first in which reviews are looked for."""
