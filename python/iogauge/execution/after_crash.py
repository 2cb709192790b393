"""Judges what stamped writes left on a target, by the log that was written beside it.

The core decides; this module reads the log and the target, a part of the target at a time, so that memory is bounded.
Only what the log says was written is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.schema import Model
from iogauge.store.durable import explained
from iogauge.target import Target
from iogauge.workload.verification import SECTOR_BYTES

_WINDOW = 8 << 30
"""Bytes of the target that are judged at a time: some 500 MB of memory if all were written in blocks of 4 KiB,
estimated from the sizes of what is kept."""
_PIECE = 4 << 20
CLASSES = ("corrupt", "misdirected", "torn", "late", "stale", "lost", "unlogged", "older", "newest")
"""What a block can hold; ``crates/stamp/src/judge.rs`` says what each is."""
VIOLATIONS = CLASSES[:6]


class BlockVerdict(Model):
    """A block that breaks the drive's promises, or holds a write that the log does not have."""

    offset_bytes: int
    kind: str
    """One of ``CLASSES``."""
    sector_bytes: int
    """The offset of the sector that decided."""
    sequence: int | None
    """The write that it holds; None: none of this run's."""
    generation: int | None
    """How often its block had been written with it."""
    belongs_bytes: int | None
    """Where a misdirected write belongs."""
    writes: int
    """How often the block was written."""


class Window(Model):
    """What the core says of a part of a target."""

    counts: dict[str, int]
    blocks: tuple[BlockVerdict, ...]


class Judged(Model):
    """What is left of a run's stamped writes."""

    run: int
    after_crash: bool
    """Whether only what was flushed had to survive."""
    block_bytes: int
    atomic_bytes: int
    records: int
    """Records of the log."""
    log_is_cut: bool
    """Whether the end of the log is cut off."""
    counts: dict[str, int]
    """Blocks by class."""
    blocks: tuple[BlockVerdict, ...]
    """The first blocks that violate or cannot be judged."""

    @property
    def violations(self) -> int:
        """Blocks that break the drive's promises."""
        return sum(self.counts[kind] for kind in VIOLATIONS)

    @property
    def written(self) -> int:
        """Blocks that were written."""
        return sum(self.counts.values())


def judge_target(
    target: Target,
    log: Path,
    *,
    after_crash: bool,
    atomic_bytes: int | None,
    most: int,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Judged:
    """Judge a target by a log. ``atomic_bytes``: what the drive writes whole; None: its logical block, 512 for a file.

    ``most``: how many blocks are named. ``on_progress`` is called with the share that is done. Raises IogaugeError if
    the log is none, or the target is smaller than what was written.
    """
    counts = dict.fromkeys(CLASSES, 0)
    blocks: list[BlockVerdict] = []
    size = target.size_bytes
    for start in range(0, max(size, 1), _WINDOW):
        judge = _core.StampJudge(after_crash, 0, start, start + _WINDOW)
        _read_log(log, judge.log)
        with _of_log(log):
            run, block_bytes, records, cut = judge.header()
        if block_bytes > _PIECE or block_bytes & (block_bytes - 1):
            raise IogaugeError(
                f"{log}: has blocks of {block_bytes:,} bytes; a block must be a power of two, at most {_PIECE:,}",
                hint="let the program that writes the log use such a block size",
            )
        written = judge.written()
        for begin, end in written:
            for offset, piece in _pieces(target, begin, end):
                judge.content(offset, piece)
        if written:
            _read_log(log, judge.log_again)
        facts = target.facts
        own = facts.logical_block_bytes if facts.kind == "block" else None
        unit = atomic_bytes or own or SECTOR_BYTES
        window = Window.model_validate_json(judge.verdicts(unit, most - len(blocks)))
        for kind, count in window.counts.items():
            counts[kind] += count
        blocks += window.blocks
        on_progress(min(1.0, (start + _WINDOW) / max(size, 1)))
    return Judged(
        run=run,
        after_crash=after_crash,
        block_bytes=block_bytes,
        atomic_bytes=unit,
        records=records,
        log_is_cut=cut,
        counts=counts,
        blocks=tuple(blocks),
    )


def _read_log(log: Path, take: Callable[[bytes], None]) -> None:
    with explained("read", log), log.open("rb") as file, _of_log(log):
        while piece := file.read(_PIECE):
            take(piece)


def _pieces(target: Target, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    if end > target.size_bytes:
        raise IogaugeError(
            f"{target.facts.path}: has {target.size_bytes} bytes, and the log has writes up to byte {end}",
            hint="name the target that the run wrote",
        )
    for offset in range(begin, end, _PIECE):
        with explained("read", Path(target.facts.path)):
            length = min(_PIECE, end - offset)
            piece = os.pread(target.fd, length, offset)
            while len(piece) < length:
                more = os.pread(target.fd, length - len(piece), offset + len(piece))
                if not more:
                    raise OSError(5, "the target ends early")
                piece += more
        yield offset, piece


@contextmanager
def _of_log(log: Path) -> Iterator[None]:
    try:
        yield
    except _core.CoreError as error:
        raise IogaugeError(
            f"{log}: {error.args[0]}", hint="name the log that was written beside the stamps (docs/faults.md)"
        ) from None
