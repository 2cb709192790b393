"""An index of the reviews saved below a directory, so that 10,000 of them can be listed, searched and compared at once.

The index is a DuckDB file beside the reviews. It is made from them, and made anew where they differ from it: it can be
deleted at any time, and holds nothing that the reviews do not. ``Index`` is all that others need.
"""

from iogauge.index.index import Index
from iogauge.index.refresh import Changes, Progress
from iogauge.index.rows import Choice, Headline, Page, ReviewRow

__all__ = ["Changes", "Choice", "Headline", "Index", "Page", "Progress", "ReviewRow"]
