"""Arguments that several commands of ``iogauge fleet`` have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

SavedFleet = Annotated[
    Path,
    typer.Argument(
        metavar="DIRECTORY", help="A fleet that 'iogauge fleet review' saved.", show_default=False
    ),
]
