"""Making a trace of what another program recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iogauge.library.options import StrPath, as_list
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.library.reading.report import message, parts
from iogauge.library.traces.opened import Trace
from iogauge.store.outputs import Claims, Existing


@public
def import_trace(
    files: StrPath | Sequence[StrPath],
    output: StrPath,
    *,
    format: str | None = None,  # noqa: A002 (the option's name)
    skip_bad: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> Trace:
    """Write the requests that another program recorded as a trace, and open it.

    Args:
        files: what was recorded, compressed or not; several become one trace, in the order of time.
        output: the trace to write. A file that iogauge did not write is not replaced.
        format: ``blktrace``, ``iolog``, ``msr``, ``spc``, ``alibaba``, ``tencent``, ``vscsi``, or the path of a TOML
            file that describes columns. By default the files are recognised.
        skip_bad: leave out lines that cannot be read. They are counted in ``facts.skipped``.
        on_progress: is called with each piece of news (``Progress``): megabytes that are read, and what is left out.

    Raises IogaugeError if a file cannot be read or written, and UsageError for an unknown format.
    """
    from iogauge.text.numbers import counted
    from iogauge.traces import importing
    from iogauge.traces.formats import format_named

    paths = [Path(path) for path in as_list(files)]
    chosen = None if format is None else format_named(format)
    read = parts("importing, MB", on_progress)
    sink = Claims(inputs=paths).file(Path(output), existing=Existing.OWN)
    with sink.atomic() as file:
        facts = importing.import_trace(
            paths,
            file,
            format=chosen,
            skip_bad=skip_bad,
            on_progress=lambda done, of: read(done // 10**6, of // 10**6),
        )
    if facts.skipped:
        message(on_progress)(f"warning: {counted(facts.skipped, 'record')} left out")
    return Trace(Path(output))
