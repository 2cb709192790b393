"""The parsers of the Rust core: bytes of a file in, rows out. It runs nothing and opens nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iogauge._core import TracePairing, TraceParser, TraceReuse
from iogauge.errors import IogaugeError
from iogauge.text.option import option
from iogauge.traces.rows import ROW, Rows

__all__ = ["FileParser", "Pairing", "Reuse"]


class FileParser:
    """Parses one file, piece by piece."""

    def __init__(self, name: str, format_json: str, *, skip_bad: bool) -> None:
        """``name`` is for errors; ``format_json`` is of crates/trace's ``Format``."""
        self._name, self._skip_bad = name, skip_bad
        self._parser = TraceParser(format_json, skip_bad)

    @property
    def devices(self) -> list[str]:
        """The names of the devices so far, by their number in the rows."""
        return self._parser.devices()

    @property
    def skipped(self) -> int:
        """How many lines or records were left out."""
        return self._parser.skipped()

    def rows(self, pieces: Iterator[bytes]) -> Iterator[Rows]:
        """Yield the rows of each piece of the file. Raises IogaugeError where it cannot be read."""
        for piece in pieces:
            if piece:
                yield self._feed(piece)
        yield self._feed(b"")

    def _feed(self, piece: bytes) -> Rows:
        try:
            return np.frombuffer(self._parser.feed(piece), dtype=ROW)
        except ValueError as error:
            place, problem = error.args
            lines = place.startswith("line")
            rename = f"name the right {option('format')}"
            hint = f"leave such lines out with {option('skip_bad')}, or {rename}" if lines else rename
            raise IogaugeError(f"{self._name}: {place}: {problem}", hint=hint) from None


class Pairing:
    """Makes requests of the events of requests."""

    def __init__(self) -> None:
        self._pairing = TracePairing()

    @property
    def unmatched(self) -> int:
        """How many completions were of requests that the trace does not have."""
        return self._pairing.unmatched()

    def rows(self, events: Iterator[Rows]) -> Iterator[Rows]:
        """Yield requests, by their arrival, of events in the order of their times."""
        for batch in events:
            if len(batch):
                yield np.frombuffer(self._pairing.feed(batch.tobytes()), dtype=ROW)
        yield np.frombuffer(self._pairing.feed(b""), dtype=ROW)


class Reuse:
    """Counts how requests come back to the same blocks (crates/trace's ``Reuse``)."""

    def __init__(self, *, block_bytes: int, most_blocks: int) -> None:
        self._reuse = TraceReuse(block_bytes, most_blocks)
        self.blocks = 0.0
        """How many different blocks were used so far."""

    def add(self, rows: Rows) -> None:
        """Count the reads and writes of these rows."""
        self.blocks = self._reuse.feed(rows.tobytes())

    @property
    def uses(self) -> float:
        """How many uses of blocks there were."""
        return self._reuse.uses()

    @property
    def exact(self) -> bool:
        """Whether every block was counted; otherwise all numbers are estimates of a sample."""
        return self._reuse.exact()

    @property
    def hits(self) -> list[tuple[float, float]]:
        """Pairs: the blocks that a cache holds, and the uses that it serves but the next smaller one does not."""
        return self._reuse.hits()
