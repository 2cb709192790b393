"""What stamped writes left on a target: what the drive had to keep, and what it kept."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError, UsageError
from iogauge.library import quantities
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.text.numbers import counted, listed, size
from iogauge.text.option import call, option

if TYPE_CHECKING:
    from iogauge.execution.after_crash import BlockVerdict, Judged

_NAMED = 1000
"""Blocks that are named one by one."""
_MEANINGS = {
    "corrupt": "the checksum is wrong, or the content is nobody's",
    "misdirected": "the content of another address",
    "torn": "part new and part old within one atomic unit",
    "late": "a write that had failed came after a newer one",
    "stale": "older than a durable version before the last",
    "lost": "the last durable write is missing",
    "unlogged": "a write that the log does not have",
    "older": "not the newest version, which was not durable",
    "newest": "the newest version",
}


@public
def verify(
    target: str,
    *,
    after_crash: StrPath | None = None,
    after_run: StrPath | None = None,
    atomic_unit: int | str | None = None,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Verification:
    """Say whether a target holds what stamped writes wrote to it. It only reads.

    Args:
        target: the drive or file that the run wrote.
        after_crash: the run's log, after the power was cut: what was flushed or had FUA must be there, of what was not
            any version may be.
        after_run: the run's log, if the drive kept its power: every completed write must be there.
        atomic_unit: what the drive writes whole or not at all, a power of two from 512 on; by default the logical block
            of a drive, and 512 for a file.
        on_progress: is called with the share that is done.

    Raises:
        UsageError: not exactly one log is named.
        IogaugeError: the log or the target cannot be read, or they do not belong together.

    Examples:
        >>> import iogauge
        >>> drive = iogauge.verify("drive.img", after_crash="stamps.log")  # doctest: +SKIP
        >>> drive.violations, drive.counts["lost"]  # doctest: +SKIP
        (3, 3)
    """
    from iogauge.execution.after_crash import judge_target
    from iogauge.target import is_model, open_target

    if (after_crash is None) == (after_run is None):
        raise UsageError(
            "name one log of the run",
            hint=f"{option('after_crash', 'LOG')} after a power cut, or {option('after_run', 'LOG')}",
        )
    atomic_bytes = None if atomic_unit is None else quantities.size_bytes(atomic_unit, name="atomic_unit")
    if atomic_bytes is not None and (atomic_bytes < 512 or atomic_bytes & (atomic_bytes - 1)):
        raise UsageError(
            f"{option('atomic_unit')} {atomic_unit}: must be a power of two from 512 on", hint="write 4k"
        )
    log = Path(after_crash or after_run or "")
    if is_model(target):
        raise IogaugeError(f"{target}: a drive model keeps no data", hint=f"serve it: {call('serve_model')}")
    if not os.path.lexists(target):
        raise IogaugeError(f"{target}: there is no such file or device", hint="check the path")
    with open_target(target, write=False, readonly=True) as opened:
        judged = judge_target(
            opened,
            log,
            after_crash=after_crash is not None,
            atomic_bytes=atomic_bytes,
            most=_NAMED,
            on_progress=on_progress,
        )
        note = _cache_in_between(opened.facts.device) if opened.facts.kind == "block" else ""
    return Verification(target, log, judged, note)


def _cache_in_between(device: str | None) -> str:
    """Return what to say of a loop device that reads its file through the page cache; empty: nothing."""
    try:
        is_direct = Path(f"/sys/block/{device}/loop/dio").read_text().strip() != "0"
    except OSError:
        return ""
    if is_direct:
        return ""
    return (
        f"{device} reads its file through the page cache, which may hold what the drive lost: attach it with "
        "losetup --direct-io=on before the run"
    )


class Verification:
    """What a target holds of a run's writes. ``str()`` is what ``iogauge verify`` prints."""

    def __init__(self, target: str, log: Path, judged: Judged, note: str = "") -> None:
        self.target = target
        self.log = log
        self.judged = judged
        self.note = note
        """Why the target may not show what its drive holds; empty: it does."""

    @property
    def violations(self) -> int:
        """Blocks that break the drive's promises."""
        return self.judged.violations

    @property
    def counts(self) -> dict[str, int]:
        """Blocks by class, the worst first; the last three classes break no promise."""
        return dict(self.judged.counts)

    @property
    def sentence(self) -> str:
        """The answer."""
        judged = self.judged
        if not self.violations:
            what = "everything that was flushed" if judged.after_crash else "everything that was written"
            return f"nothing violates: {what} is there, in {counted(judged.written, 'block')}"
        kinds = [f"{count:,} {kind}" for kind, count in self.counts.items() if count and kind in _BROKEN]
        verb = "violates" if self.violations == 1 else "violate"
        return f"{counted(self.violations, 'block')} {verb}: {listed(kinds)}, of {judged.written:,} written"

    def __str__(self) -> str:
        return self.text(verbose=False)

    def text(self, *, verbose: bool) -> str:
        """Return the answer, then counts; if ``verbose``, a line for each block that is named."""
        return "".join(f"{line}\n" for line in self._lines(verbose=verbose))

    def _lines(self, *, verbose: bool) -> Iterator[str]:
        judged = self.judged
        yield self.sentence
        if self.note:
            yield f"but {self.note}"
        yield ""
        counts = {kind: count for kind, count in self.counts.items() if count}
        width = max(map(len, counts), default=0)
        digits = max((len(f"{count:,}") for count in counts.values()), default=0)
        for kind, count in counts.items():
            yield f"  {kind:<{width}}  {count:>{digits},}  {_MEANINGS[kind]}"
        if counts:
            yield ""
        yield f"log {self.log}: run {judged.run:016x}, {counted(judged.records, 'record')}" + (
            ", its end is cut off" if judged.log_is_cut else ""
        )
        yield f"blocks of {size(judged.block_bytes)}; atomic unit {size(judged.atomic_bytes)}"
        if judged.blocks and not verbose:
            yield "-v names each block"
        for block in judged.blocks if verbose else ():
            yield _line(block)
        left = self.violations + judged.counts["unlogged"] - len(judged.blocks)
        if verbose and left > 0:
            yield f"and {left:,} more"

    def to_dict(self) -> dict[str, object]:
        """Return everything, with units in the names."""
        judged = self.judged.model_dump(mode="json")
        return {
            "target": self.target,
            "log": str(self.log),
            "sentence": self.sentence,
            "violations": self.violations,
            "note": self.note,
            **judged,
        }


_BROKEN = tuple(itertools.takewhile(lambda kind: kind != "unlogged", _MEANINGS))


def _line(block: BlockVerdict) -> str:
    """Return what is to be said of a block."""
    what = "nothing of this run"
    if block.belongs_bytes is not None:
        what = f"write {block.sequence} of offset {block.belongs_bytes}"
    elif block.sequence is not None:
        what = f"write {block.sequence}, version {block.generation} of {block.writes}"
    elif block.kind == "corrupt":
        what = "no readable stamp"
    place = "" if block.sector_bytes == block.offset_bytes else f", at {block.sector_bytes}"
    return f"  {block.offset_bytes}: {block.kind}, holds {what}{place}"
