"""One minute on a target: the eight rows of CrystalDiskMark and KDiskMark, by the suite ``quick``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.library import conditions
from iogauge.library import options as review_options
from iogauge.library.options import StrPath
from iogauge.library.progress import OnProgress, Reporter
from iogauge.library.public import public
from iogauge.library.reading.saved import Review
from iogauge.library.review import Say, begin, concluded, measure
from iogauge.store import Review as Stored
from iogauge.text.option import option

if TYPE_CHECKING:
    from iogauge.library.conditions import ReviewCondition

SUITE = "quick"


@public
def quick(
    target: StrPath,
    *,
    read_only: bool = False,
    size: int | str | None = None,
    runtime: float | str | None = None,
    seed: int | None = None,
    output: StrPath | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    fail_if: Sequence[str] | str = (),
    on_progress: OnProgress = lambda _: None,
) -> Review:
    """Measure a target for a minute, reads first, and return the saved review.

    ``review.suite("quick")`` has a position for each row, such as ``"SEQ1M Q8T1 read"``. If the target may not be
    written, the rows that write are left out, and a note in its plan says why and what allows them.

    Args:
        target: a block device, a file or a drive model (``"model:p4800x"``). A file that does not exist is created and
            filled with random data.
        read_only: leave out the rows that write, whatever the target.
        size: how much of the target to use: bytes, or text such as ``"4g"``; by default 1 GiB of a file, all of a
            drive.
        runtime: the measured time of each row: seconds, or text such as ``"10s"``. Default: 5 s.
        seed: the seed of all random choices, at least 0. Default: a random one.
        output: the directory to save in; by default a new one here.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        fail_if: conditions such as ``"quick[RND4K Q1T1 read].mean > 100us"``.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.

    Raises:
        UsageError: an option is invalid.
        IogaugeError: the target is refused even for reading, or a row cannot be saved.
        StepsError: some rows failed; the others are complete.
        ConditionError: a condition of ``fail_if`` holds, or cannot be judged.
        Interrupted: Ctrl-C; complete rows are saved, and ``iogauge.review(resume=...)`` continues.

    Examples:
        >>> import iogauge, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = iogauge.quick("model:p4800x", runtime="100ms", seed=1, output=f"{folder}/saved")
        ...     row = saved.suite("quick")["RND4K Q1T1 read"]
        ...     len(saved.suite("quick")), 5_000 < row.figures.mean.value < 20_000
        (8, True)
    """
    reporter = Reporter(on_progress)
    destroy = review_options.as_list(destroy)
    checked = conditions.parsed(review_options.as_list(fail_if))
    saved = begin_quick(
        str(target),
        checked,
        read_only=read_only,
        size=size,
        runtime=runtime,
        seed=seed,
        output=None if output is None else Path(output),
        destroy=destroy,
        command=("iogauge", SUITE, str(target), *["--read-only"] * read_only),
        say=reporter.message,
    )
    return concluded(saved, checked, measure(saved, lambda _: reporter, destroy=destroy))


def begin_quick(
    target: str,
    fail_if: Sequence[ReviewCondition],
    *,
    read_only: bool,
    size: int | str | None,
    runtime: float | str | None,
    seed: int | None,
    output: Path | None,
    destroy: Sequence[str],
    command: Sequence[str],
    say: Say,
) -> Stored:
    """Open the target, for reading alone if it may not be written, and create the review's directory."""
    return begin(
        target,
        fail_if,
        output=output,
        destroy=destroy,
        command=command,
        on_plan=lambda _: None,
        say=say,
        reads_only=f"{option('read_only', True)} says so" if read_only else "",
        or_read=not read_only,
        suites=[SUITE],
        size=size,
        runtime=runtime,
        seed=seed,
    )
