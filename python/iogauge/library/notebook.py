"""Parts that results share in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from iogauge.text import html, numbers

if TYPE_CHECKING:
    from iogauge.schema import Notice

QUANTILES = (0.5, 0.99, 0.999)
"""The quantiles of a short table."""


def folded_warnings(warnings: Iterable[Notice]) -> str:
    """Return warnings with their hints as folded HTML; empty if there are none."""
    texts = [f"{caution.message}{f' ({caution.hint})' if caution.hint else ''}" for caution in warnings]
    return html.folded(numbers.counted(len(texts), "warning"), html.items(texts))
