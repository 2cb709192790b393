"""Reviews on disk: a manifest and Parquet, atomic, versioned, and open to SQL.

``Review`` creates, opens and locks a saved review, and writes and reads its steps; ``Reading`` is one that a command
reads and does not change; ``query`` asks it questions with DuckDB. What is stored are the nouns of ``iogauge.schema``;
this room adds none of its own.
"""

from __future__ import annotations

from iogauge.store.query import query
from iogauge.store.reading import Reading
from iogauge.store.review import Review, StepWriter

__all__ = ["Reading", "Review", "StepWriter", "query"]
