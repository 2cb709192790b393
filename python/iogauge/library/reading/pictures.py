"""The charts of saved reviews as files: pictures for papers, data for other programs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from iogauge.library.options import StrPath, as_list, flat
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.library.reading.report import message, output_claims, parts, read_report


@public
def write_charts(
    reviews: StrPath | Sequence[StrPath],
    directory: StrPath,
    *,
    charts: Sequence[str] | str = (),
    suites: Sequence[str] | str = (),
    judge_by: Collection[StrPath] | StrPath = (),
    on_progress: OnProgress = lambda _: None,
) -> list[Path]:
    """Write the charts of saved reviews as SVG and PNG, and their data as CSV; return the files written.

    Each picture has a caption with drives, kernel, date and version.

    Args:
        reviews: saved reviews, or their directories; several share their charts, as in a report.
        directory: where to write; it is created if it is missing.
        charts: the names of the charts to write, such as ``"write-pressure"``, or patterns such as ``"mixed*"``; by
            default all. ``Review.charts`` has the names.
        suites: the names of the suites to draw; by default all.
        judge_by: Python files with your own suites, whose conclusions are drawn.
        on_progress: is called with each piece of news (``Progress``): parts that are done, and incomplete reviews.

    Raises:
        UsageError: an argument is invalid, or no chart has such a name.
        IogaugeError: a review cannot be read, or a file must not be written.
        Interrupted: Ctrl-C, a KeyboardInterrupt.
    """
    from iogauge.report import export

    names = flat([reviews])
    claims = output_claims(names, say=message(on_progress))
    report = read_report(names, suites=as_list(suites), judge_by=as_list(judge_by), on_progress=on_progress)
    chosen = export.chosen_charts(report.charts, as_list(charts))
    outputs = export.claim_charts(chosen, Path(directory), claims)
    return list(export.write_charts(chosen, outputs, on_progress=parts("drawing", on_progress)))
