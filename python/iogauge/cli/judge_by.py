"""``--judge-by``: which Python files may be run to judge a saved review.

A review names the file of a suite of somebody's own, and a review may be a stranger's. So looking at one runs no file
unless it is named on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from iogauge.errors import IogaugeError

JudgeBy = Annotated[
    list[Path] | None,
    typer.Option(
        "--judge-by", metavar="FILE.py", help="Run this suite of one's own for its findings; repeatable."
    ),
]


def absolute(files: Sequence[Path] | None) -> frozenset[str]:
    """Return the files as a review names them. Raises IogaugeError for one that is not there.

    >>> absolute([Path(__file__)]) == {__file__}, absolute(None)
    (True, frozenset())
    """
    for file in files or ():
        if not file.is_file():
            raise IogaugeError(f"--judge-by {file}: there is no such file", hint="check the path")
    return frozenset(str(file.absolute()) for file in files or ())
