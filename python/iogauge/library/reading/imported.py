"""Results of fio or DiskSpd, saved as a review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.library.options import StrPath, as_list
from iogauge.library.public import public
from iogauge.library.reading.saved import Review

if TYPE_CHECKING:
    from iogauge.store import Review as Stored


@public
def import_results(
    files: StrPath | Sequence[StrPath],
    output: StrPath,
    *,
    on_message: Callable[[str], None] = lambda _: None,
) -> Review:
    """Save results of fio or DiskSpd as a review, and return it.

    Args:
        files: files that either program wrote, or the directory that ``Plan.write`` wrote, after its script has run.
        output: the directory to save in.
        on_message: is called with messages, for instance that a step has no result yet.

    Raises:
        UsageError: a directory is named with other files.
        IogaugeError: a file holds no result, or the review cannot be saved.
    """
    from iogauge.reviews.offline import import_results as import_steps
    from iogauge.suites import suite_of

    paths = [Path(file) for file in as_list(files)]
    claim(paths, Path(output))
    if paths and paths[0].is_dir():
        imported = import_steps(paths[0], Path(output), suite_of, say=on_message)
        messages = [*imported.warnings, *map(str, imported.damaged)]
        saved = imported.review
    else:
        saved, said = save(paths, Path(output), command=("iogauge", "import", *map(str, paths)))
        messages = list(said)
    for text in messages:
        on_message(f"warning: {text}")
    return Review(saved, on_message=lambda text: on_message(f"warning: {text}"))


def claim(files: Sequence[Path], output: Path) -> None:
    """Refuse an output that is one of the files, and a directory of results that is named with other files."""
    from iogauge.reviews.offline import exporter
    from iogauge.store.outputs import Claims

    Claims(inputs=files).new_directory(output)
    if len(files) > 1 and any(file.is_dir() for file in files):
        raise UsageError(
            f"a directory of {exporter()} is imported by itself",
            hint="name one directory, or files",
        )


def save(files: Sequence[Path], output: Path, *, command: Sequence[str]) -> tuple[Stored, Sequence[str]]:
    """Save results in files as a review; return it and its warnings."""
    from iogauge.reviews.import_results import save_imported
    from iogauge.store.imported import read_foreign

    steps = [step for file in files for step in read_foreign(file)]
    return save_imported(steps, output, command=command)
