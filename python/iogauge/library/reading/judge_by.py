"""Which Python files may be run to judge a saved review.

A review names the file of a suite of somebody's own, and a review may be a stranger's. So looking at one runs no file
unless it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.library.options import StrPath
from iogauge.results.review import Conclude
from iogauge.text.option import option


def absolute(files: Collection[StrPath]) -> frozenset[str]:
    """Return the files as a review names them. Raises IogaugeError for one that is not there.

    >>> absolute([Path(__file__)]) == {__file__}, absolute(())
    (True, frozenset())
    """
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            raise IogaugeError(f"{option('judge_by')} {path}: there is no such file", hint="check the path")
    return frozenset(str(path.absolute()) for path in paths)


def conclude_with(trusted: Collection[str], warn: Callable[[str], None]) -> Conclude:
    """Return what asks the suite of each result for its conclusions; ``warn`` hears why one cannot be had.

    ``trusted``: Python files, by their absolute paths, that may be run.
    """
    from iogauge.suites import suite_to_judge

    return lambda result: suite_to_judge(result.plan, warn=warn, trusted=trusted).conclude(result)
