"""Fitting a job file to a trace, and showing how well it does what the trace does."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.library.options import StrPath
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.library.reading.report import parts
from iogauge.library.running.replay import replay
from iogauge.library.running.result import RunResult
from iogauge.library.running.run import run
from iogauge.results.tabular import Tabular
from iogauge.schema import Amount, Job, JobFile, Kind, Pacing
from iogauge.stats.histogram import needed
from iogauge.store.outputs import Claims, Existing
from iogauge.text import numbers
from iogauge.traces.file import Facts, Trace, TraceFile
from iogauge.traces.fitting.compared import Property, properties
from iogauge.traces.fitting.jobs import FittedJobs, fit_jobs
from iogauge.traces.rows import DIRECTIONS, ROW, UNKNOWN, Rows
from iogauge.traces.summary import Summary, summarise

if TYPE_CHECKING:
    import pyarrow as pa

GOALS = {0.5: 0.05, 0.99: 0.10, 0.999: 0.15}
"""Quantiles of the latency, and how far a fitted job may be from a replay of the trace."""
_STEP = 1 << 20
"""Regions that are moved begin at multiples of it."""


@public
def fit_trace(
    trace: StrPath,
    output: StrPath,
    *,
    model: StrPath = "p4800x",
    seed: int = 1,
    on_progress: OnProgress = lambda _: None,
) -> TraceFit:
    """Write a job file, of fio's options alone, that does what a trace does, and compare the two.

    Rates, pauses, batches, sizes, the mix of directions, sequential runs and hot places are those of the trace, or the
    depth of the closed loop that made it. The comparison runs the job and a replay of the trace on a drive model. Takes
    some 100 bytes of memory a request.

    Args:
        trace: a trace of ``import_trace`` or ``record_trace``.
        output: the job file to write. It names no target. A file that iogauge did not write is not replaced.
        model: the drive model, by its name or TOML file. Regions that reach beyond its end are moved for the
            comparison, and cut if they are larger than it. The job file keeps the trace's addresses.
        seed: the seed of both runs.
        on_progress: is called with how many parts of the work are done (``Progress``).

    Raises IogaugeError if the trace cannot be read or has no reads, writes or trims, or the model is unknown.

    Examples:
        >>> import iogauge
        >>> fit = iogauge.fit_trace("hm.trace", "hm.fio")  # doctest: +SKIP
        >>> fit.pacing, fit.latency[0.99].difference, fit.meets_goals  # doctest: +SKIP
        ('timed', 0.012, True)
    """
    source = Path(trace)
    sink = Claims(inputs=[source]).file(Path(output), existing=Existing.OWN)
    done = parts("fitting", on_progress)
    rows = _rows(source)
    jobs = fit_jobs(rows)
    if jobs is None:
        raise IogaugeError(
            f"{source}: has no reads, writes or trims, so no job can be fitted to it",
            hint="name another trace",
        )
    del rows
    done(1, 4)
    with Trace(source) as opened:
        summary = summarise(opened)
    done(2, 4)
    target = f"model:{model}"
    replayed = replay(source, target, pacing=jobs.pacing.value, addresses="fit", seed=seed)
    done(3, 4)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.parquet")
        parsed = workload.parse(jobs.text, source="fitted job")
        capacity = min(target.size_bytes for target in replayed.record.targets)
        ran = run(_within(parsed, capacity), target=target, seed=seed, request_log=log)
        fitted = _summary(log)
    sink.write(jobs.text.encode())
    done(4, 4)
    needs_bytes = _end(parsed) if _end(parsed) > capacity else 0
    compared = _Compared(summary, fitted, replayed, ran, needs_bytes)
    return TraceFit(source, Path(output), str(model), jobs, compared)


@dataclass(frozen=True)
class _Compared:
    trace: Summary
    fitted: Summary
    replayed: RunResult
    ran: RunResult
    needs_bytes: int
    """How large a target the job file needs, if larger than the model; 0: no larger."""


class TraceFit(Tabular):
    """A job file fitted to a trace. ``str()`` is what ``iogauge trace fit`` prints; the table has a row a property."""

    def __init__(self, trace: Path, path: Path, model: str, jobs: FittedJobs, compared: _Compared) -> None:
        self.trace = trace
        self.path = path
        """The job file."""
        self.model = model
        self.text = jobs.text
        """What the job file has."""
        self.shape = jobs.shape
        """How requests arrive, in words."""
        self.pacing: Pacing = jobs.pacing
        """With which pacing a replay of the trace does what the jobs do."""
        self.result = compared.ran
        """The run of the job on the model."""
        self.replayed = compared.replayed
        """The replay of the trace on the model."""
        self._compared = compared

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """Properties of the trace and of what the job issued on the model."""
        return tuple(properties(self._compared.trace, self._compared.fitted))

    @cached_property
    def latency(self) -> dict[float, Property]:
        """By quantile, the latency on the model (ns, from when requests were due) of the replay and of the job."""
        from iogauge.report.run.rows import total

        replayed, ran = (total(one.record, Kind.RESPONSE) for one in (self.replayed, self.result))
        return {
            q: Property(f"p{100 * q:g}", "ns", float(replayed.quantile(q)), float(ran.quantile(q)))
            for q in GOALS
        }

    @property
    def meets_goals(self) -> bool:
        """Whether p50, p99 and p99.9 are within 5, 10 and 15 % of the replay's."""
        return not self.missed

    @property
    def missed(self) -> tuple[Property, ...]:
        """The quantiles that are further from the replay's."""
        return tuple(
            self.latency[q] for q, goal in GOALS.items() if abs(self.latency[q].difference or 0.0) > goal
        )

    def to_arrow(self) -> pa.Table:
        """Return a row for each property and latency: its name, unit, both values and their difference."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._rows())

    def to_dict(self) -> dict[str, object]:
        """Return everything, for programs."""
        return {
            "trace": str(self.trace),
            "job_file": str(self.path),
            "model": self.model,
            "shape": self.shape,
            "pacing": self.pacing.value,
            "meets_goals": self.meets_goals,
            "properties": self._rows(),
        }

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "property": one.name,
                "unit": one.unit,
                "trace": one.trace,
                "fitted": one.fitted,
                "difference": one.difference,
            }
            for one in (*self.properties, *self.latency.values())
        ]

    def __str__(self) -> str:
        from iogauge.report.trace.fit_text import screen

        lines = screen(
            f"{self.path.name}: {self.shape}",
            self.properties,
            {q: (latency, GOALS[q]) for q, latency in self.latency.items()},
            on=f"{self.model}, beside a replay of {self.trace.name}",
            notes=self._notes(),
        )
        return "".join(f"{line}\n" for line in lines)

    def _notes(self) -> list[str]:
        notes = []
        if self._compared.needs_bytes:
            size = numbers.size(self._compared.needs_bytes)
            notes.append(f"the job needs a target of {size}; for {self.model} its regions were moved")
        trace = self._compared.trace
        if trace.is_too_coarse and self.pacing is Pacing.TIMED and trace.gaps.count:
            notes.append(
                f"the trace's clock has a step of {numbers.span(trace.facts.resolution_ns)}, in which most requests "
                "come together: rates, bursts and latencies follow from that step, not from the program"
            )
        if self.pacing is not Pacing.TIMED:
            notes.append(f"requests waited for each other, so the replay's pacing is {self.pacing.value}")
        if self._compared.trace.requests < needed(max(GOALS)):
            notes.append("fewer than ten requests lie beyond p99.9")
        return notes

    def __repr__(self) -> str:
        return f"<TraceFit {self.path} of {self.trace}: {self.shape}>"


def _rows(path: Path) -> Rows:
    """Return all requests of a trace."""
    with Trace(path) as opened:
        return np.concatenate([np.zeros(0, dtype=ROW), *opened.batches()])


def _end(jobs: JobFile) -> int:
    """Return where the last region of jobs ends."""
    return max(job.offset.size_bytes + (job.size or job.offset).size_bytes for job in jobs.jobs)


def _within(jobs: JobFile, capacity: int) -> JobFile:
    """Return the jobs, with their regions moved into so many bytes if they reach beyond them.

    A region keeps its size unless it is larger than that.
    """
    scale = capacity / _end(jobs)
    if scale >= 1:
        return jobs

    def moved(job: Job) -> Job:
        size = (job.size or job.offset).size_bytes
        if size > capacity:
            size = capacity // _STEP * _STEP
        first = min(int(job.offset.size_bytes * scale), capacity - size) // _STEP * _STEP
        return job.model_copy(update={"offset": Amount(size_bytes=first), "size": Amount(size_bytes=size)})

    return jobs.model_copy(update={"jobs": tuple(map(moved, jobs.jobs))})


def _summary(log: Path) -> Summary:
    """Return what the requests of a request log have. Writes them as a trace beside it."""
    import pyarrow.parquet as pq

    columns = pq.read_table(log, columns=["intended_ns", "direction", "offset_bytes", "length_bytes"])
    rows = np.zeros(columns.num_rows, dtype=ROW)
    numbers = {direction.value: number for number, direction in enumerate(DIRECTIONS)}
    rows["time_ns"] = columns["intended_ns"].to_numpy()
    rows["offset_bytes"], rows["size_bytes"] = (
        columns["offset_bytes"].to_numpy(),
        columns["length_bytes"].to_numpy(),
    )
    rows["direction"] = [numbers[str(name)] for name in columns["direction"].to_pylist()]
    rows["latency_ns"] = UNKNOWN
    made = log.with_name("fitted.trace")
    with Claims().file(made, existing=Existing.OWN).atomic() as sink, TraceFile(sink) as file:
        file.write(rows[np.argsort(rows["time_ns"], kind="stable")], ["fitted"])
        file.close(Facts(source="fitted"))
    with Trace(made) as opened:
        return summarise(opened)
