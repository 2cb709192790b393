"""Published figures that models do not meet, and why: stated, not hidden.

A row is here exactly if ``iogauge model compare`` marks it, which a test holds.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[int, str] = {}
"""By row of ``published_points.csv``."""
