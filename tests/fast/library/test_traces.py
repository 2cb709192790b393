"""``import_trace`` and ``open_trace``: what a script gets of a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

import iogauge
from tests.fast.traces import trace_samples as samples


@pytest.fixture
def trace(tmp_path: Path) -> iogauge.Trace:
    (tmp_path / "hm.csv").write_bytes(samples.msr() + b"nonsense\n")
    said: list[iogauge.Progress] = []
    trace = iogauge.import_trace(
        tmp_path / "hm.csv", str(tmp_path / "hm.trace"), skip_bad=True, on_progress=said.append
    )
    assert [str(news) for news in said] == ["importing, MB: 0 of 0", "warning: 1 record left out"]
    return trace


def test_a_trace_is_a_table_a_screen_and_charts(trace: iogauge.Trace) -> None:
    assert repr(trace).endswith("hm.trace: 4 requests>")
    assert (trace.facts.source, trace.facts.skipped) == ("msr", 1)
    frame = trace.to_polars()
    assert frame.columns == ["time_ns", "device", "direction", "offset_bytes", "size_bytes", "latency_ns"]
    assert frame["device"].to_list() == ["hm-3", "hm-3", "hm-7", "hm-3"]
    assert trace.summary.requests == 4
    counts: list[str] = []
    assert str(iogauge.open_trace(trace.path, on_progress=lambda news: counts.append(str(news)))) == str(
        trace
    )
    assert counts == ["requests: 4 of 4"]
    assert str(trace).startswith("hm.trace: 4 requests in 2 s")
    assert [chart.name for chart in trace.charts] == ["rates", "mix", "sizes", "arrivals", "footprint"]
    assert trace.charts[0].to_polars().columns == ["start_s", "end_s", "direction", "iops", "rate_MBps"]
    assert iogauge.open_trace(trace.path).to_dict() == trace.to_dict()


def test_what_is_refused_names_the_arguments(trace: iogauge.Trace, tmp_path: Path) -> None:
    with pytest.raises(iogauge.UsageError, match="no format is named rms"):
        iogauge.import_trace(tmp_path / "hm.csv", tmp_path / "t", format="rms")
    with pytest.raises(iogauge.UsageError):
        iogauge.open_trace(3)  # type: ignore[arg-type]
    with pytest.raises(iogauge.IogaugeError, match="is no block device"):
        iogauge.record_trace("/dev/null", tmp_path / "t")
    with pytest.raises(iogauge.IogaugeError, match="is an input of this command"):
        iogauge.import_trace(tmp_path / "hm.csv", tmp_path / "hm.csv")


def test_a_clock_too_coarse_for_its_requests_is_named(tmp_path: Path) -> None:
    """Tencent's clock has a step of a second: what happens within it is unknown."""
    lines = [f"{1_538_323_200 + number // 100},{number * 8},8,0,7\n" for number in range(300)]
    (tmp_path / "t.csv").write_text("".join(lines))
    trace = iogauge.import_trace(tmp_path / "t.csv", tmp_path / "t.trace", format="tencent")
    assert trace.summary.is_too_coarse
    assert trace.summary.busiest_iops == 100
    said: list[str] = []
    iogauge.replay(trace.path, "model:p4800x", on_progress=lambda news: said.append(str(news)))
    assert any("297 of 300 requests have the time of the one before them" in line for line in said)
    assert "the trace's clock has a step of 1 s" in str(iogauge.fit_trace(trace.path, tmp_path / "t.fio"))


def test_the_size_of_a_replay_is_that_of_each_target(tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    log.write_text("fio version 3 iolog\n0 a add\n0 b add\n1 a write 0 4096\n2 b write 61440 4096\n")
    names = [tmp_path / "f1", tmp_path / "f2"]
    result = iogauge.replay(log, names, size="64k", direct=False, ioengine="psync")
    assert result["replay"].write.ios == 2
    assert [name.stat().st_size for name in names] == [65536, 65536]
