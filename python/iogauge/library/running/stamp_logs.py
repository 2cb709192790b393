"""The stamp logs as outputs of a run: new files, claimed before it and opened for the core.

A log is never replaced: after a power cut it may be all that says what the drive had to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.library.running.log_place import shares_drive
from iogauge.schema import JobFile
from iogauge.store.outputs import Claims, Existing, Output


def claim(jobs: JobFile, claims: Claims, *, say: Callable[[str], None]) -> dict[str, Output]:
    """Claim the stamp logs of all jobs, by path. Warn of each log on a drive that the jobs use.

    Raises IogaugeError if one exists, is no file, or cannot be written.
    """
    outputs = {}
    for name in dict.fromkeys(job.stamp_log for job in jobs.jobs if job.stamps):
        outputs[name] = output = claims.file(Path(name), existing=Existing.KEEP)
        if not output.is_file:
            raise IogaugeError(f"{name}: a stamp_log must be a file", hint="name a new file on another disk")
        if shares_drive(Path(name), jobs):
            say(f"{name}: is on a drive that the jobs use, so a power cut may lose the end of this log")
    return outputs


@contextmanager
def opened(outputs: Mapping[str, Output]) -> Iterator[dict[str, int]]:
    """Yield the descriptors of the logs. A log to which nothing was written is removed again."""
    try:
        with ExitStack() as stack:
            files = {name: stack.enter_context(output.stream()) for name, output in outputs.items()}
            yield {name: file.fileno() for name, file in files.items()}
    finally:
        for output in outputs.values():
            output.remove_empty()
