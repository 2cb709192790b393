"""``--judge-by``: the Python files that may be run to judge a saved review.

A review can name the Python file of a suite, and a review may come from a stranger. So reading a review runs no file
that the command line does not name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JudgeBy = Annotated[
    list[Path] | None,
    typer.Option(
        "--judge-by", metavar="FILE.py", help="Run your own suite in this file for its findings; repeatable."
    ),
]
