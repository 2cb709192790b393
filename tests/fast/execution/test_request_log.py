"""The request log: every request in few row groups, and no file where one cannot be whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from iogauge.execution.log import request_log
from iogauge.execution.log.spill import LOG_RECORD
from iogauge.store.outputs import Claims, Existing, Output


def output(path: Path) -> Output:
    return Claims().file(path, existing=Existing.OWN)


def write(path: Path, pieces: list[int]) -> None:
    """Write a log of requests that come in these pieces."""
    with request_log.request_log(output(path)) as add:
        begun = 0
        for count in pieces:
            records = np.zeros(count, dtype=LOG_RECORD)
            records["start_ns"] = np.arange(begun, begun + count)
            begun += count
            add(records)


@pytest.mark.parametrize("pieces", [[], [1], [5, 5, 5], [10], [9, 1, 1], [4, 25, 1]])
def test_every_request_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[int]
) -> None:
    monkeypatch.setattr(request_log, "_GROUP", 10)
    write(tmp_path / "log.parquet", pieces)
    starts = parquet.read_table(tmp_path / "log.parquet")["start_ns"].to_pylist()
    assert starts == list(range(sum(pieces)))


def test_a_slow_run_has_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's index of its row groups is held in memory until the end."""
    monkeypatch.setattr(request_log, "_GROUP", 1000)
    write(tmp_path / "log.parquet", [1] * 2500)
    assert parquet.ParquetFile(tmp_path / "log.parquet").metadata.num_row_groups == 3


def test_what_is_not_known_is_null() -> None:
    records = np.zeros(2, dtype=LOG_RECORD)
    records["issued_ns"] = [7, 2**64 - 1]
    records["direction"] = [1, 3]
    batch = request_log.to_batch(records)
    assert batch["issued_ns"].to_pylist() == [7, None]
    assert batch["direction"].to_pylist() == ["write", "sync"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_log_that_is_not_whole_is_none(tmp_path: Path, error: BaseException) -> None:
    def interrupted() -> None:
        with request_log.request_log(output(tmp_path / "log.parquet")) as add:
            add(np.zeros(3, dtype=LOG_RECORD))
            raise error

    with pytest.raises(type(error)) as caught:
        interrupted()
    assert caught.value is error
    assert list(tmp_path.iterdir()) == []
