"""The Python files that may be run to judge a saved review.

A review names the files of its users' own suites, and may come from a stranger. So reading a review runs only the files
that the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.library.options import StrPath, as_list
from iogauge.results.review import Conclude
from iogauge.text.option import option


def absolute(files: Collection[StrPath] | StrPath) -> frozenset[str]:
    """Return absolute paths, as a review names files. Raises IogaugeError for a missing file.

    >>> absolute([Path(__file__)]) == {__file__}, absolute(())
    (True, frozenset())
    """
    paths = list(map(Path, as_list(files)))
    for path in paths:
        if not path.is_file():
            raise IogaugeError(f"{option('judge_by')} {path}: there is no such file", hint="check the path")
    return frozenset(str(path.absolute()) for path in paths)


def conclude_with(trusted: Collection[str], warn: Callable[[str], None]) -> Conclude:
    """Return a function that asks the suite of a result for its conclusions; ``warn`` says why it cannot.

    ``trusted``: absolute paths of the Python files that may be run.
    """
    from iogauge.suites import suite_to_judge

    return lambda result: suite_to_judge(result.plan, warn=warn, trusted=trusted).conclude(result)
