"""Reads results of other tools: fio's JSON with the logs beside it, DiskSpd's XML and text.

``read_foreign`` recognises a file by its content. It returns only what the file says: it makes up no sample, and an
unknown value is None. The jobs come from the command that the file repeats.

This package runs and stores nothing. ``iogauge.reviews.imported_run`` makes records of steps with histograms and jobs.
"""

from __future__ import annotations

from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store.imported import diskspd_text, diskspd_xml, fio
from iogauge.store.imported.document import read_text
from iogauge.store.imported.steps import (
    ImportedFigures,
    ImportedLatency,
    ImportedRow,
    ImportedStep,
    PublishedQuantile,
)

__all__ = [
    "ImportedFigures",
    "ImportedLatency",
    "ImportedRow",
    "ImportedStep",
    "PublishedQuantile",
    "read_foreign",
]


def read_foreign(path: Path) -> tuple[ImportedStep, ...]:
    """Return the runs in a file of fio or DiskSpd, in its order. Raises ``IogaugeError``."""
    text = read_text(path)
    if diskspd_xml.recognised(text):
        return diskspd_xml.read(text, path)
    if diskspd_text.recognised(text):
        return diskspd_text.read(text, path)
    if fio.recognised(text):
        return (fio.read(text, path),)
    if diskspd_xml.is_profile(text):
        raise IogaugeError(
            f"{path}: is a profile of DiskSpd, not a result",
            hint="run it: diskspd -Xprofile.xml -Rxml > result.xml",
        )
    raise IogaugeError(
        f"{path}: is not a result of fio or DiskSpd in a format that iogauge reads",
        hint="fio: --output-format=json+; DiskSpd: -Rxml, or its text",
    )
