"""Trace files: what is written is read, by others too; what is none is refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iogauge.errors import IogaugeError
from iogauge.traces.file import GROUP_ROWS, Facts, Trace, TraceFile
from iogauge.traces.rows import COLUMNS, ROW, UNKNOWN
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import REQUESTS, Request


def test_another_program_reads_the_same(tmp_path: Path) -> None:
    path = samples.write(tmp_path / "t", [*REQUESTS, Request(3_000_000, "sync", 0, 0, -1)])
    query = "select device, direction, sum(size_bytes), count(latency_ns), max(time_ns)"
    answer = duckdb.sql(f"{query} from read_parquet('{path}') group by all order by all").fetchall()
    assert answer == [
        ("disk0", "sync", 0, 0, 2_000_000_000),
        ("disk3", "read", 5120, 2, 1_500_000_000),
        ("disk3", "write", 65536, 1, 10_000),
        ("disk7", "read", 512, 1, 10_000),
    ]


def test_many_groups_with_devices_that_appear_late(tmp_path: Path) -> None:
    rows = np.zeros(GROUP_ROWS // 2 + 1, dtype=ROW)
    rows["latency_ns"] = UNKNOWN
    with (tmp_path / "t").open("wb") as sink, TraceFile(sink) as file:
        for number in range(5):
            rows["device"] = number
            rows["time_ns"] = 100 + number
            file.write(rows, [f"d{one}" for one in range(number + 1)])
        file.close(Facts(source="test"))
    with Trace(tmp_path / "t") as trace:
        read = np.concatenate([*trace.batches()])
        assert trace.devices == {f"d{number}": number for number in range(5)}
        assert (trace.facts.requests, trace.span_ns) == (5 * len(rows), 4)
    assert np.array_equal(read["device"], np.repeat(np.arange(5), len(rows)))
    assert np.array_equal(read["time_ns"], np.repeat(np.arange(5), len(rows)))
    assert (read["latency_ns"] == UNKNOWN).all()


def refused(path: Path) -> str:
    with pytest.raises(IogaugeError) as caught:
        Trace(path)
    assert caught.value.hint
    return str(caught.value)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert "cannot read: No such file" in refused(path)
    path.write_bytes(b"")
    assert "is not a trace" in refused(path)
    pq.write_table(pa.table({"a": [1]}), path)
    assert "is not a trace" in refused(path)
    stored = Facts(source="x").model_dump_json().replace('"version":1', '"version":9')
    schema = COLUMNS.with_metadata({b"iogauge_trace": stored.encode()})
    pq.write_table(schema.empty_table(), path)
    assert "of this version" in refused(path)


def test_a_damaged_trace_is_an_error_with_a_hint(tmp_path: Path) -> None:
    path = samples.write(tmp_path / "t", [Request(number) for number in range(2000)])
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with Trace(path) as trace, pytest.raises(IogaugeError, match="the trace is damaged"):
        list(trace.batches())
