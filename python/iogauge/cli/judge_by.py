"""``--judge-by``: which Python files may be run to judge a saved review.

A review names the file of a suite of somebody's own, and a review may be a stranger's. So looking at one runs no file
unless it is named on the command line.
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
