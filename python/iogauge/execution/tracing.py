"""Traces where the time of a run's requests goes, and makes the distributions of its parts.

One device is traced: that of all the run's targets. Its events need root, and a kernel with the events of the block
layer. The tracing begins when every job's ramp of the first stage is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from iogauge.errors import IogaugeError
from iogauge.machine.trace import Tracer
from iogauge.machine.trace.matching import Requests
from iogauge.machine.trace.tracefs import mounted
from iogauge.schema import Direction, EngineKind, Exact, LatencyTrace, Part, PartLatency, RunPlan, TargetFacts
from iogauge.stats.histogram import Histogram
from iogauge.stats.traced import slowdown
from iogauge.text.option import option

_LETTERS = {Direction.READ: ord("R"), Direction.WRITE: ord("W"), Direction.TRIM: ord("D")}

_READS = {EngineKind.PSYNC: "pread64", EngineKind.PVSYNC2: "preadv2"}
_WRITES = {EngineKind.PSYNC: "pwrite64", EngineKind.PVSYNC2: "pwritev2"}
_BOTH = {EngineKind.LIBAIO: "io_submit", EngineKind.IO_URING: "io_uring_enter"}


class Distributions:
    """The distributions of the parts of requests, by direction, counted window by window."""

    def __init__(self) -> None:
        self._parts: dict[tuple[Direction, Part], Histogram] = defaultdict(Histogram.empty)

    def add(self, requests: Requests) -> None:
        """Count the requests of a window. A request that was cut off counts with its age, where it was by then."""
        with_queue = requests.queue_ns >= 0
        for direction, letter in _LETTERS.items():
            mine = requests.direction == letter
            known = mine & with_queue
            self._count(direction, Part.BLOCK, requests.block_ns[mine])
            submission_ns = requests.submission_ns[mine]
            self._count(direction, Part.SUBMISSION, submission_ns[submission_ns >= 0])
            self._count(direction, Part.QUEUE, requests.queue_ns[known])
            self._count(direction, Part.DEVICE, (requests.block_ns - requests.queue_ns)[known])

    def latencies(self) -> tuple[PartLatency, ...]:
        """Return the distributions that have samples."""
        return tuple(
            PartLatency(direction=direction, part=part, histogram=parts.encoded(), exact=parts.exact)
            for (direction, part), parts in sorted(self._parts.items())
            if parts.exact is not None
        )

    def _count(self, direction: Direction, part: Part, samples_ns: NDArray[np.int64]) -> None:
        if not len(samples_ns):
            return
        samples_ns = np.maximum(samples_ns, 0)
        exact = Exact(
            count=len(samples_ns),
            sum_ns=int(samples_ns.sum()),
            min_ns=int(samples_ns.min()),
            max_ns=int(samples_ns.max()),
        )
        known = self._parts[direction, part]
        new = Histogram.of(samples_ns)
        new = Histogram(new.lowest, new.values, new.counts, exact)
        self._parts[direction, part] = Histogram.merge([known, new])


class Tracing:
    """Traces a run from its start to ``stopped``; a context manager, which leaves nothing in tracefs."""

    def __init__(self, plan: RunPlan, targets: Sequence[TargetFacts]) -> None:
        """Prepare tracing. Raises IogaugeError if the targets' latencies cannot be traced here."""
        _refuse(plan)
        self._distributions = Distributions()
        self._tracer = Tracer(_device(targets), self._distributions.add, calls=submitting_calls(plan))
        stage = plan.stages[0] if plan.stages else None
        self._delay_ns = (
            max((worker.start_delay_ns + worker.ramp_ns for worker in stage.workers), default=0)
            if stage
            else 0
        )

    def __enter__(self) -> Tracing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tracer.stop()

    def start(self) -> None:
        """Begin to trace, when the ramp is over."""
        self._tracer.start(delay_ns=self._delay_ns)

    def result(self) -> LatencyTrace:
        """End the tracing, and return all of it."""
        trace = self._tracer.stop()
        lost, low, high = slowdown(self._tracer.rates) or (None, None, None)
        return trace.model_copy(
            update={
                "latencies": self._distributions.latencies(),
                "slowdown": lost,
                "slowdown_low": low,
                "slowdown_high": high,
            }
        )


def require_tracing() -> None:
    """Raise IogaugeError if nothing can be traced here, before a run measures or makes anything."""
    try:
        mounted()
    except IogaugeError as error:
        raise IogaugeError(str(error), hint=f"{error.hint}, or leave out {option('trace_latency')}") from None


def submitting_calls(plan: RunPlan) -> set[str]:
    """Return the system calls with which the workers submit; none where the kernel's thread looks for requests."""
    calls = set()
    for worker in (worker for stage in plan.stages for worker in stage.workers):
        kind, directions = worker.engine.kind, worker.directions
        for names, direction in ((_READS, Direction.READ), (_WRITES, Direction.WRITE)):
            if kind in names and direction in directions:
                calls.add(names[kind])
        if kind in _BOTH and not worker.engine.sqthread_poll:
            calls.add(_BOTH[kind])
    return calls


def _refuse(plan: RunPlan) -> None:
    if any(
        worker.engine.kind is EngineKind.IO_URING_CMD for stage in plan.stages for worker in stage.workers
    ):
        raise IogaugeError(
            "the commands of io_uring_cmd do not enter the block layer, where requests are traced",
            hint=f"use ioengine=io_uring, or leave out {option('trace_latency')}",
        )
    if any(
        worker.latency_target and not worker.latency_target.keeps_adjusting
        for stage in plan.stages
        for worker in stage.workers
    ):
        raise IogaugeError(
            "the search of latency_target would be traced, too, not only what is measured",
            hint=f"run the job again at the depth that it finds, with {option('trace_latency')}",
        )


def _device(targets: Sequence[TargetFacts]) -> str:
    if any(facts.modelled for facts in targets):
        raise IogaugeError(
            "a drive model has no block layer that could be traced",
            hint=f"leave out {option('trace_latency')}",
        )
    devices = {facts.device for facts in targets}
    if None in devices or not devices:
        paths = ", ".join(facts.path for facts in targets if facts.device is None) or "the jobs"
        raise IogaugeError(
            f"{paths}: there is no block device below whose requests could be traced",
            hint=f"leave out {option('trace_latency')}",
        )
    if len(devices) > 1:
        raise IogaugeError(
            f"latencies of one device at a time can be traced, not of {', '.join(sorted(map(str, devices)))}",
            hint=f"run the jobs of one device at a time, or leave out {option('trace_latency')}",
        )
    return str(devices.pop())
