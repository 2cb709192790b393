"""The request log: every request in few row groups, and a file that fails costs neither run nor results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from iogauge.run import request_log
from iogauge.run.request_log import LOG_RECORD, RequestLog


class Handle:
    """Hands out requests in pieces, as the core does."""

    def __init__(self, pieces: list[int]) -> None:
        self.pieces = pieces
        self.given = 0

    def requests(self, limit: int) -> bytes:
        if not self.pieces:
            return b""
        count = self.pieces.pop(0)
        records = np.zeros(count, dtype=LOG_RECORD)
        records["start_ns"] = np.arange(self.given, self.given + count)
        self.given += count
        return records.tobytes()


def logged(path: Path, pieces: list[int]) -> tuple[RequestLog, int]:
    """Return the log of a run that handed out these pieces, and how many requests there were."""
    handle, log, count = Handle(pieces), RequestLog(path), sum(pieces)
    with log.draining(handle):  # type: ignore[arg-type]
        pass
    return log, count


@pytest.mark.parametrize("pieces", [[], [1], [5, 5, 5], [10], [9, 1, 1], [4, 25, 1]])
def test_every_request_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[int]
) -> None:
    monkeypatch.setattr(request_log, "_GROUP", 10)
    log, count = logged(tmp_path / "log.parquet", list(pieces))
    assert log.failure is None
    assert parquet.read_table(tmp_path / "log.parquet")["start_ns"].to_pylist() == list(range(count))


def test_a_slow_run_has_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's index of its row groups is held in memory until the end."""
    monkeypatch.setattr(request_log, "_GROUP", 1000)
    logged(tmp_path / "log.parquet", [1] * 2500)
    assert parquet.ParquetFile(tmp_path / "log.parquet").metadata.num_row_groups == 3


def test_a_file_that_cannot_be_written_is_said_afterwards(tmp_path: Path) -> None:
    log, _ = logged(tmp_path / "missing" / "log.parquet", [3])
    assert log.failure is not None
    assert log.failure.startswith(
        f"{tmp_path / 'missing' / 'log.parquet'}: the request log could not be written: "
    )
