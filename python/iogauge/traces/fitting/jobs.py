"""The job file that is fitted to a trace: one job in a closed loop, or jobs with the rates of an open one.

Jobs of an open loop begin by ``startdelay`` and end by ``runtime``, counted from the start of the run in fio and here.
Requests that arrive together are a job that issues a batch at once, waits for it, and then pauses (thinktime).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.schema import Pacing
from iogauge.text.numbers import listed
from iogauge.traces.fitting.arrivals import Phase, phases
from iogauge.traces.fitting.loop import Loop, in_flight, loop_of
from iogauge.traces.fitting.pattern import READ, SYNC, TRIM, WRITE, Options, Region, pattern, sequential
from iogauge.traces.rows import DIRECTIONS, UNKNOWN, Rows

_DEPTH = 256
"""The depth of an open loop whose trace does not say what was in flight, as a replay's."""
_MOST_DEPTH = 1024
_BUFFERS_BYTES = 1 << 28
"""The most memory of all buffers of an open loop."""
_MOST_PARTS = 32
"""Bursts between pauses that have jobs of their own. More bursts are put together, so that they last longer."""
_FAST_IOPS = 100_000
"""Above this rate a drive may fall behind in a burst. Such bursts are not put together; the job then has fewer."""
_STREAMS = (0.5, 0.3, 0.2)
"""Shares of the batches of a size, which have a job each: together they are less even than one."""
_MANY = 20
"""Fewer batches have one job."""
_GOLDEN = 0.618
_AT_ONCE_NS = 100
"""The gaps in a batch."""
_RARE, _LARGE = 0.01, 2
"""Requests are large if they have more than so many times the size that all but this share have at most."""
_REGULAR = 0.5
"""Below this variation of its gaps, a direction has a constant rate."""
_SLOW_IOPS = 10
"""Below this rate, requests have pauses between them: fio's rates are whole numbers."""
_LONGEST_PAUSE_US = (1 << 31) - 1
"""The longest pause of fio."""
_NO_LIMIT = 1 << 60
"""The bytes of a job that ends by its number of requests."""
_LAWS = {"poisson": "random arrivals", "linear": "even arrivals"}
_US, _MS, _NS = 1_000, 1_000_000, 1_000_000_000


@dataclass(frozen=True)
class FittedJobs:
    """A job file whose requests resemble a trace's."""

    text: str
    """fio's options alone."""
    pacing: Pacing
    """With which pacing a replay of the trace does what the jobs do."""
    shape: str
    """How requests arrive, in words."""


@dataclass(frozen=True)
class _Source:
    """The requests of a trace that move data, and what is known of all of them."""

    rows: Rows
    follows: NDArray[np.bool_]
    regions: dict[int, Region]
    writes_per_sync: int

    def pattern(self, part: NDArray[np.int64]) -> Options:
        """Return the pattern of some requests."""
        mine = self.rows[part]
        known = [self.regions[int(number)] for number in np.unique(mine["direction"])]
        first = min(one.first for one in known)
        region = Region(first, max(one.first + one.size for one in known) - first)
        options = pattern(mine, self.follows[part], region)
        if self.writes_per_sync and (mine["direction"] == WRITE).any():
            options["fsync"] = self.writes_per_sync
        return options


def fit_jobs(rows: Rows) -> FittedJobs | None:
    """Return the job file that is fitted to requests, in the order of their arrival; None: none of them moves data."""
    moves = rows[(rows["direction"] != SYNC) & (rows["size_bytes"] > 0)]
    if not len(moves):
        return None
    moves["time_ns"] = np.maximum.accumulate(moves["time_ns"])
    syncs, writes = int((rows["direction"] == SYNC).sum()), int((moves["direction"] == WRITE).sum())
    source = _Source(
        rows=moves,
        follows=sequential(moves),
        regions={
            int(number): Region.of(moves[moves["direction"] == number])
            for number in np.unique(moves["direction"])
        },
        writes_per_sync=max(round(writes / syncs), 1) if syncs and writes else 0,
    )
    loop = loop_of(moves)
    if loop is not None:
        return _closed(source, loop)
    timeline = phases(moves["time_ns"])
    jobs = dict(_open(source, timeline))
    flying = in_flight(moves)
    depth = _DEPTH if flying is None else min(int(flying.max()), _MOST_DEPTH)
    return FittedJobs(_text(jobs, depth), Pacing.TIMED, _shape(timeline, jobs))


def _closed(source: _Source, loop: Loop) -> FittedJobs:
    rows = source.rows
    (name, mine), *others = _kinds(rows, np.arange(len(rows)))
    clones = loop.depth if loop.think_ns else 1
    job = source.pattern(mine) | {
        "iodepth": loop.depth // clones,
        "number_ios": max(len(mine) // clones, 1),
        "io_size": _NO_LIMIT,
    }
    shape = f"a closed loop of {loop.depth}"
    if loop.think_ns:
        think_us = max(round(loop.think_ns / _US), 1)
        job |= {"numjobs": clones, "thinktime": think_us}
        shape += f", each {think_us:,} us after the one before"
    elif loop.burst:
        pause_us = max(round(loop.pause_ns / _US), 1)
        job |= {"thinktime": pause_us, "thinktime_blocks": loop.burst, "thinktime_blocks_type": "issue"}
        shape += f" that pauses for {pause_us:,} us after {loop.burst:,} requests"
    jobs = {name: job}
    for name, mine in others:
        span_ns = max(int(rows["time_ns"][-1] - rows["time_ns"][0]), _MS)
        for prefix, part, slow in _by_rate(rows, mine, span_ns):
            if slow:
                job, delay_ns = _slow(source, part, span_ns, 1)
            else:
                job, delay_ns = _paced(source, part, span_ns), 0.0
            jobs[prefix + name] = job | _timing(delay_ns, span_ns - delay_ns)
    pacing = Pacing.THINK if loop.think_ns or loop.burst else Pacing.CLOSED
    return FittedJobs(_text(jobs), pacing, shape)


def _open(source: _Source, timeline: list[Phase]) -> Iterator[tuple[str, Options]]:
    """Yield the jobs of the phases, one after the other. Pauses divide a phase into parts."""
    end_ns = waiting_ns = 0.0
    names = itertools.count(1)
    for phase in timeline:
        parts = min(phase.parts, max(_MOST_PARTS // len(timeline), 1))
        kept = parts / phase.parts if len(phase.requests) > _FAST_IOPS * phase.length_ns / _NS else 1.0
        part_ns = phase.length_ns * kept / parts
        jobs = list(_phase_jobs(source, phase, parts))
        waiting_ns += phase.pause_ns * kept
        # The run begins with a request, so the pause before the first part comes later.
        pauses = parts - (end_ns == 0)
        pause_ns = waiting_ns / pauses if pauses else 0.0
        waiting_ns -= pause_ns * pauses
        for part in range(parts):
            if end_ns or part:
                end_ns += pause_ns
            number = next(names)
            suffix = f"-{number}" if len(timeline) > 1 or parts > 1 else ""
            for name, job, delay_ns in jobs:
                yield f"{name}{suffix}", job | _timing(end_ns + delay_ns, part_ns - delay_ns)
            end_ns += part_ns


def _phase_jobs(source: _Source, phase: Phase, parts: int) -> Iterator[tuple[str, Options, float]]:
    """Yield the jobs of a phase that has so many equal parts: their names, options, and when each begins, in ns."""
    single = phase.requests[phase.batch == 1]
    for name, part in _apart(source.rows, single):
        for prefix, mine, slow in _by_rate(source.rows, part, phase.length_ns):
            if slow:
                yield prefix + name, *_slow(source, mine, phase.length_ns, parts)
            else:
                yield prefix + name, _paced(source, mine, phase.length_ns), 0.0
    for size, together in _batches(phase):
        for name, mine in _kinds(source.rows, together):
            own = max(round(size * len(mine) / len(together)), 1)
            word = "trim-batches" if name == "trims" else "batches"
            for stream, job, delay_ns in _streams(source, mine, own, phase.length_ns, parts):
                yield f"{word}-of-{own}{stream}", job, delay_ns


def _streams(
    source: _Source, mine: NDArray[np.int64], size: int, length_ns: float, parts: int
) -> Iterator[tuple[str, Options, float]]:
    """Yield the jobs that make batches of a size: the ends of their names, options, and when each begins, in ns."""
    batches = len(mine) / size
    shares = _STREAMS if batches >= _MANY * parts else (1.0,)
    latency = source.rows["latency_ns"][mine]
    wait_ns = 0.0 if (latency == UNKNOWN).any() else float(latency.mean())
    # The rate is far above what the pauses leave. It delays nothing, and lets responses count from a batch's start.
    job = _paced(source, mine, len(mine) * _AT_ONCE_NS)
    job |= {
        "rate_process": "linear",
        "iodepth": min(size, _DEPTH),
        "thinktime_blocks": size,
        "thinktime_blocks_type": "issue",
    }
    for number, share in enumerate(shares, 1):
        period_ns = length_ns / (batches * share)
        pause: Options = {"thinktime": max(round((period_ns - wait_ns) / _US), 1)}
        # Streams do not begin together.
        delay_ns = min(period_ns, length_ns / parts / 2) * (number * _GOLDEN % 1)
        yield f"-{number}" if len(shares) > 1 else "", job | pause, delay_ns


def _timing(begin_ns: float, length_ns: float) -> Options:
    """Return when a job begins and ends, in ns from the start of the run."""
    timing: Options = {"time_based": 1, "runtime": f"{max(round(length_ns / _MS), 1)}ms"}
    if round(begin_ns / _MS):
        timing["startdelay"] = f"{round(begin_ns / _MS)}ms"
    return timing


def _kinds(rows: Rows, part: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield what one job can issue together, with its name: reads and writes, and trims."""
    trims = rows["direction"][part] == TRIM
    for name, mine in (("load", part[~trims]), ("trims", part[trims])):
        if len(mine):
            yield name, mine


def _apart(rows: Rows, part: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the same for jobs with rates: large requests that are too rare for a whole percentage have their own."""
    for name, mine in _kinds(rows, part):
        sizes = rows["size_bytes"][mine]
        large = sizes > _LARGE * np.quantile(sizes, 1 - _RARE)
        yield name, mine[~large]
        if large.any():
            yield f"large-{name}", mine[large]


def _by_rate(
    rows: Rows, part: NDArray[np.int64], length_ns: float
) -> Iterator[tuple[str, NDArray[np.int64], bool]]:
    """Yield the requests that one job can issue at a rate, those that need pauses, and whether they are those.

    A prefix to the name of the job comes first.
    """
    numbers = rows["direction"][part]
    slow = np.bincount(numbers, minlength=len(DIRECTIONS)) * _NS < _SLOW_IOPS * max(length_ns, _MS)
    mine = slow[numbers]
    if not mine.all():
        yield "", part[~mine], False
    if mine.any():
        yield "" if mine.all() else "slow-", part[mine], True


def _slow(source: _Source, part: NDArray[np.int64], length_ns: float, parts: int) -> tuple[Options, float]:
    """Return the job of requests that are too slow for a rate, with even pauses, and when it begins, in ns.

    It begins after half a pause, so that a pause that is a little short or long adds no request and loses none.
    """
    latency = source.rows["latency_ns"][part]
    wait_ns = 0.0 if (latency == UNKNOWN).any() else float(latency.mean())
    period_ns = length_ns / len(part)
    pause_us = min(max(round((period_ns - wait_ns) / _US), 1), _LONGEST_PAUSE_US)
    job = source.pattern(part) | {"iodepth": 1, "thinktime": pause_us}
    return job, min(period_ns, length_ns / parts) / 2


def _paced(source: _Source, part: NDArray[np.int64], length_ns: float) -> Options:
    """Return the job of some requests at their rates in a time, with gaps that vary as theirs.

    The time is at least a millisecond, as a job's runtime is.
    """
    job, rows = source.pattern(part), source.rows[part]
    # A rate for each direction decides their mix.
    job.pop("rwmixread", None)
    rates, regular = [], True
    for number in (READ, WRITE, TRIM):
        times = rows["time_ns"][rows["direction"] == number]
        rates.append(str(max(round(len(times) * _NS / max(length_ns, _MS)), 1)) if len(times) else "")
        gaps = np.diff(times)
        regular &= len(gaps) < 2 or gaps.std() < _REGULAR * gaps.mean()
    job |= {"rate_iops": ",".join(rates).rstrip(","), "rate_process": "linear" if regular else "poisson"}
    return job


def _batches(phase: Phase) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the mean size of batches of similar sizes (within a power of four), and the requests in them."""
    classes = np.ceil(np.log2(phase.batch) / 2).astype(np.int64)
    for one in np.unique(classes[classes > 0]):
        mine = phase.requests[classes == one]
        sizes = phase.batch[classes == one]
        yield round(len(mine) / float((1 / sizes).sum())), np.sort(mine)


def _shape(timeline: list[Phase], jobs: dict[str, Options]) -> str:
    laws = {job.get("rate_process", "linear") for job in jobs.values() if "thinktime_blocks" not in job}
    law = _LAWS[str(*laws)] if len(laws) == 1 else "arrivals"
    words = [f"{law} at {len(timeline)} rates" if len(timeline) > 1 else law]
    words += ["pauses"] if any(phase.pause_ns for phase in timeline) else []
    words += ["batches at once"] if any("thinktime_blocks" in job for job in jobs.values()) else []
    return listed(words)


def _text(jobs: dict[str, Options], depth: int = 0) -> str:
    """Return the job file. What all jobs share is global; ``depth`` is that of jobs without one of their own."""
    common: Options = {"ioengine": "io_uring", "direct": 1, "group_reporting": 1}
    if depth:
        largest = [_largest(job) for job in jobs.values()]
        common["iodepth"] = max(min(depth, _BUFFERS_BYTES // sum(largest)), 1)
    shared = {
        key: value
        for key, value in next(iter(jobs.values())).items()
        if len(jobs) > 1 and all(job.get(key) == value for job in jobs.values())
    }
    sections = {"global": common | shared} | {
        name: {key: value for key, value in job.items() if key not in shared} for name, job in jobs.items()
    }
    return "\n".join(
        "".join([f"[{name}]\n", *(f"{key}={value}\n" for key, value in options.items())])
        for name, options in sections.items()
    )


def _largest(job: Options) -> int:
    sizes = str(job.get("bs") or job["bssplit"]).replace(",", ":").split(":")
    return max(int(size.partition("/")[0]) for size in sizes)
