"""What a trace has, against counting it by hand."""

from __future__ import annotations

import statistics
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.schema import Direction
from iogauge.traces import file
from iogauge.traces.file import Trace
from iogauge.traces.summary import Summary, summarise
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import Request


def summary_of(path: Path, requests: list[Request]) -> Summary:
    with Trace(samples.write(path, requests)) as trace:
        return summarise(trace)


REQUEST = st.builds(
    Request,
    time_us=st.integers(0, 5000),
    direction=st.sampled_from(["read", "write", "trim"]),
    offset=st.integers(0, 40).map(lambda block: 4096 * block),
    size=st.sampled_from([4096, 8192]),
    latency_us=st.sampled_from([-1, 100, 3000]),
    device=st.integers(0, 1),
)


@given(requests=st.lists(REQUEST, min_size=2, max_size=60), group=st.integers(2, 30))
def test_all_is_as_counted_by_hand(
    requests: list[Request], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    requests = sorted(requests, key=lambda one: one.time_us)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(file, "GROUP_ROWS", group)
        summary = summary_of(tmp_path_factory.mktemp("t") / "t", requests)
    assert summary.requests == len(requests)
    assert summary.bytes == sum(one.size for one in requests)
    ends: dict[tuple[int, str], int] = {}
    sequential: Counter[str] = Counter()
    blocks, uses, hits, recent = set(), 0, 0, set()
    for one in requests:
        sequential[one.direction] += ends.get((one.device, one.direction)) == one.offset
        ends[one.device, one.direction] = one.offset + one.size
        if one.direction != "trim":
            for block in range(one.offset // 4096, (one.offset + one.size) // 4096):
                uses += 1
                hits += (one.device, block) in recent
                recent.add((one.device, block))
                blocks.add((one.device, block))
    for direction, part in summary.directions.items():
        mine = [one for one in requests if one.direction == direction.value]
        assert part.requests == len(mine)
        assert part.sizes == Counter(one.size for one in mine)
        assert part.sequential == sequential[direction.value]
        assert part.latency.count == sum(one.latency_us >= 0 for one in mine)
    assert summary.exact
    assert summary.uses == uses
    assert summary.footprint_bytes == 4096 * len(blocks)
    assert summary.reused == pytest.approx(hits / uses if uses else 0)
    gaps = [later.time_us - former.time_us for former, later in pairwise(requests)]
    if statistics.mean(gaps):
        assert summary.gap_variation == pytest.approx(
            statistics.pstdev(gaps) / statistics.mean(gaps), abs=1e-6
        )
    assert sum(sum(slot.requests.values()) for slot in summary.course) == len(requests)
    assert sum(sum(slot.bytes.values()) for slot in summary.course) == summary.bytes
    assert summary.course[-1].footprint_bytes == summary.footprint_bytes


def test_a_pause_is_slots_of_nothing(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "t", [Request(0), Request(1_000_000, "write")])
    assert [sum(slot.requests.values()) for slot in summary.course] == [1, *[0] * 199, 1]
    assert [slot.end_s - slot.start_s for slot in summary.course] == pytest.approx([0.005] * 201)
    assert set(summary.directions) == {Direction.READ, Direction.WRITE}


def test_a_cache_serves_what_was_used_lately(tmp_path: Path) -> None:
    cycle = [Request(number, offset=4096 * (number % 10)) for number in range(100)]
    summary = summary_of(tmp_path / "t", cycle)
    assert summary.served(9 * 4096) == 0
    assert summary.served(11 * 4096) == pytest.approx(0.9)


def test_memory_does_not_grow_with_sizes_of_blocks(tmp_path: Path) -> None:
    summary = summary_of(
        tmp_path / "t", [Request(number, offset=number << 30, size=1 << 29) for number in range(8)]
    )
    assert not summary.exact
    assert summary.footprint_bytes == pytest.approx(8 << 29, rel=0.02)
