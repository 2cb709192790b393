"""Distributions of traced requests, counted window by window; and which system calls submit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iogauge.execution.tracing import Distributions, submitting_calls
from iogauge.machine.trace.matching import Requests
from iogauge.schema import Direction, Job, Part
from iogauge.stats.histogram import Histogram
from tests import report_records

Sample = tuple[str, int, int, int]
"""A direction's letter; submission, queue (both -1: unknown), and the time in the block layer on top of the queue."""


def requests(samples: list[Sample]) -> Requests:
    def column(place: int) -> np.ndarray:
        return np.array([sample[place] for sample in samples], dtype=np.int64)

    return Requests(
        direction=np.array([ord(sample[0]) for sample in samples], dtype=np.int64),
        submission_ns=column(1),
        queue_ns=column(2),
        block_ns=np.maximum(column(2), 0) + column(3),
        complete=np.ones(len(samples), dtype=bool),
        unmatched=0,
        foreign=0,
    )


samples = st.lists(
    st.tuples(st.sampled_from("RW"), st.integers(-1, 10**6), st.integers(-1, 10**6), st.integers(0, 10**9)),
    max_size=30,
)


@given(st.lists(samples, max_size=4))
def test_windows_add_up(windows: list[list[Sample]]) -> None:
    distributions = Distributions()
    for window in windows:
        distributions.add(requests(window))
    parts = {(entry.direction, entry.part): entry for entry in distributions.latencies()}
    reads = [sample for window in windows for sample in window if sample[0] == "R"]
    for part, values in (
        (Part.SUBMISSION, [submission for _, submission, _, _ in reads if submission >= 0]),
        (Part.QUEUE, [queue for _, _, queue, _ in reads if queue >= 0]),
        (Part.DEVICE, [device for _, _, queue, device in reads if queue >= 0]),
        (Part.BLOCK, [max(queue, 0) + device for _, _, queue, device in reads]),
    ):
        entry = parts.get((Direction.READ, part))
        assert (entry is None) == (not values)
        if entry is not None:
            assert (entry.exact.count, entry.exact.sum_ns) == (len(values), sum(values))
            assert (entry.exact.min_ns, entry.exact.max_ns) == (min(values), max(values))
            assert Histogram.decode(entry.histogram).count == len(values)


def test_only_calls_that_the_jobs_make_are_traced() -> None:
    def calls(**job: object) -> set[str]:
        return submitting_calls(report_records.record([Job(name="r", **job)], [{}]).plan)

    assert calls(rw="randread", ioengine="psync") == {"pread64"}
    assert calls(rw="randrw", ioengine="pvsync2") == {"preadv2", "pwritev2"}
    assert calls(rw="randwrite", ioengine="libaio") == {"io_submit"}
    assert calls(rw="randread", ioengine="io_uring") == {"io_uring_enter"}
    assert calls(rw="randread", ioengine="null") == set()
