"""Events put together to requests: every request is matched, cut off, or counted as left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.trace.events import Events, Kind
from iogauge.machine.trace.matching import Requests, match

READ = ord("R")


@dataclass
class Line:
    """One event."""

    at: int
    kind: Kind
    sector: int = 0
    sectors: int = 8
    thread: int = 1


def arrays(lines: list[Line]) -> Events:
    def column(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    lines = sorted(lines, key=lambda line: line.at)
    return Events(
        time_ns=column([line.at for line in lines]),
        kind=column([line.kind for line in lines]),
        sector=column([line.sector for line in lines]),
        sectors=column([line.sectors for line in lines]),
        direction=column([0 if line.kind is Kind.ENTER else READ for line in lines]),
        thread=column([line.thread for line in lines]),
    )


def matched(
    lines: list[Line], *, last_ns: int = 10**9, end_ns: int = 10**9, own: set[int] | None = None
) -> Requests:
    return match(arrays(lines), begin_ns=0, last_ns=last_ns, end_ns=end_ns, threads=own)


def request(at: int, *, queue: int = 5, device: int = 50, sector: int = 0, thread: int = 1) -> list[Line]:
    return [
        Line(at, Kind.QUEUE, sector, thread=thread),
        Line(at + queue, Kind.ISSUE, sector, thread=thread),
        Line(at + queue + device, Kind.COMPLETE, sector, thread=0),
    ]


def test_a_request_has_a_queue_and_a_device() -> None:
    requests = matched(request(100))
    assert (requests.queue_ns.tolist(), requests.block_ns.tolist()) == ([5], [55])
    assert requests.complete.all()
    assert requests.submission_ns.tolist() == [-1]


def test_a_driver_without_requests_has_no_queue() -> None:
    requests = matched([Line(10, Kind.QUEUE), Line(40, Kind.COMPLETE)])
    assert (requests.queue_ns.tolist(), requests.block_ns.tolist()) == ([-1], [30])


def test_a_submission_counts_from_the_last_call_of_its_own_thread() -> None:
    calls = [Line(1, Kind.ENTER), Line(90, Kind.ENTER), Line(95, Kind.ENTER, thread=2)]
    requests = matched([*calls, *request(100), *request(101, sector=8), *request(105, sector=16, thread=3)])
    assert sorted(requests.submission_ns.tolist()) == [-1, 10, 11]


def test_requests_of_others_are_counted_only() -> None:
    requests = matched([*request(100, thread=7), *request(200, sector=8)], own={1})
    assert (len(requests.block_ns), requests.foreign) == (1, 1)


def test_what_had_not_come_back_counts_with_its_age() -> None:
    requests = matched([Line(100, Kind.QUEUE), Line(110, Kind.ISSUE), Line(300, Kind.QUEUE, 8)], end_ns=1_000)
    assert requests.complete.tolist() == [False, False]
    assert requests.block_ns.tolist() == [900, 700]
    assert requests.queue_ns.tolist() == [10, -1]


def test_split_and_merged_requests_are_left_out_and_counted() -> None:
    split = [Line(10, Kind.QUEUE, 0, sectors=16), Line(11, Kind.ISSUE, 0), Line(20, Kind.COMPLETE, 0)]
    merged = [Line(10, Kind.QUEUE, 64), Line(11, Kind.MERGE, 64)]
    at_once = [*request(100, sector=128, queue=50), *request(120, sector=128, queue=50)]
    requests = matched([*split, *merged, *at_once])
    assert len(requests.block_ns) == 0
    assert requests.unmatched == 4


@given(st.data())
def test_every_request_is_matched_or_counted(data: st.DataObject) -> None:
    """Requests for few sectors, so that many overlap; the window ends somewhere, and events of early ones lack."""
    made = data.draw(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(-100, 900), st.integers(0, 60), st.integers(0, 200)),
            max_size=30,
        )
    )
    lines = [
        line
        for sector, at, queue, device in made
        for line in request(at, queue=queue, device=device, sector=8 * sector)
        if 0 <= line.at <= 1_000
    ]
    requests = matched(lines, last_ns=800, end_ns=1_000)
    entered = sum(0 <= at < 800 for _, at, _, _ in made)
    assert len(requests.block_ns) + requests.unmatched == entered
    assert (requests.block_ns >= 0).all()
    assert (requests.block_ns >= requests.queue_ns).all()


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(0, 10**4)), max_size=40))
def test_requests_for_sectors_of_their_own_are_exact(made: list[tuple[int, int, int]]) -> None:
    lines = [
        line
        for number, (at, queue, device) in enumerate(made)
        for line in request(at, queue=queue, device=device, sector=8 * number)
    ]
    requests = matched(lines)
    assert requests.queue_ns.tolist() == [queue for _, queue, _ in made]
    assert requests.block_ns.tolist() == [queue + device for _, queue, device in made]
    assert requests.unmatched == 0
