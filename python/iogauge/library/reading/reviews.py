"""The reviews that are saved below a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.library.options import StrPath

if TYPE_CHECKING:
    from iogauge.store.find import Found


def list_reviews(*directories: StrPath) -> list[Found]:
    """Return the reviews saved in each directory and below it, at most four directories deep; by default here.

    Each has its ``path``, and its ``review``, or the ``problem`` that prevents reading it.

    Raises IogaugeError if one of the directories cannot be read.

    Examples:
        >>> import tempfile
        >>> list_reviews(tempfile.mkdtemp())
        []
    """
    from iogauge.store.find import find_reviews

    return [saved for directory in directories or [Path()] for saved in find_reviews(Path(directory))]
