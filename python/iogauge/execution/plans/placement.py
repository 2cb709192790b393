"""Assigns CPUs to the workers of a stage, and decides which workers may spin.

Jobs that name their CPUs get them; the other jobs share the rest. A worker may spin only if no thread that can run on
its CPUs has to wait for it. This module pins nothing itself.

Kernel threads of a ring are children of the worker's thread, so they run only on its CPUs:

- a thread that polls (``sqthread_poll``) needs a CPU of its own, as a worker does;
- threads for requests that io_uring cannot start without blocking (io-wq) are as many as the requests in flight. A
  worker that has them is not pinned, since they would all share its one CPU.

Threads that check what a worker reads (``verify_async``) get its CPUs if its job names any, else those to which no
worker is pinned if they are enough, else all.

Source: fio's fio_cpus_split for ``cpus_allowed_policy=split``; the kernel's create_io_thread, which copies the user's
choice of CPUs, and __set_cpus_allowed_ptr, which keeps later ones within it (since Linux 6.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from iogauge.errors import IogaugeError
from iogauge.execution.plans.verifying import verify_threads
from iogauge.schema import Job, JobFile
from iogauge.workload.clones import clones
from iogauge.workload.options.chapters.memory import cpus_of
from iogauge.workload.problem import BadValue

Cpus = frozenset[int]


@dataclass(frozen=True, kw_only=True)
class WorkerRequest:
    """A worker that needs CPUs."""

    job: Job
    number: int
    """Its number among the run's workers, from 0, in the order of jobs and clones."""
    handed_over: bool = False
    """Whether kernel threads execute some of its requests."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """The CPUs of one worker."""

    cpus: tuple[int, ...]
    """Empty: any CPU."""
    spin: bool
    poller: int | None = None
    """The CPU of the kernel thread that polls for its ring; None: any of the worker's."""
    verifiers: tuple[int, ...] = ()
    """The CPUs of the threads that check what it reads; empty: it has none."""


def worker_requests(job_file: JobFile, handed_over: Sequence[bool] = ()) -> list[list[WorkerRequest]]:
    """Return the workers of every stage.

    ``handed_over``: for every worker, whether kernel threads execute some of its requests; empty: for none.
    """
    stages: list[list[WorkerRequest]] = []
    for number, clone in enumerate(clones(job_file)):
        if clone.stage == len(stages):
            stages.append([])
        by_kernel = bool(handed_over) and handed_over[number]
        stages[-1].append(WorkerRequest(job=job_file.jobs[clone.job], number=number, handed_over=by_kernel))
    return stages


def assign(stage: Sequence[WorkerRequest], allowed_cpus: Sequence[int]) -> list[Assignment]:
    """Assign ``allowed_cpus``, which this process may use, to the workers of one stage.

    Jobs that name no CPU get the last ones first, since the first ones serve more interrupts. Raises IogaugeError if a
    job names a CPU that this process may not use.
    """
    named_cpus = [_named_cpus(worker, allowed_cpus) for worker in stage]
    named_verifiers = [_allowed(worker.job, "verify_async_cpus", allowed_cpus) for worker in stage]
    taken: Cpus = frozenset().union(
        *named_cpus, *named_verifiers, *(_named_poller(worker.job) for worker in stage)
    )
    spare = [cpu for cpu in allowed_cpus if cpu not in taken]
    unassigned = [worker for worker, named in zip(stage, named_cpus, strict=True) if not named]
    has_spare_cpu = len(spare) >= len(unassigned) + sum(
        _needs_poller_cpu(worker.job) for worker in unassigned
    )

    anywhere = frozenset(allowed_cpus)
    free = iter(reversed(spare))
    pinned = [
        has_spare_cpu and not named and not worker.handed_over
        for worker, named in zip(stage, named_cpus, strict=True)
    ]
    worker_cpus = [
        frozenset({next(free)}) if is_pinned else named or anywhere
        for named, is_pinned in zip(named_cpus, pinned, strict=True)
    ]
    pollers = [
        next(free) if is_pinned and _needs_poller_cpu(worker.job) else worker.job.sqthread_poll_cpu
        for worker, is_pinned in zip(stage, pinned, strict=True)
    ]

    unused = frozenset(free)
    checkers = [verify_threads(worker.job) for worker in stage]
    default = unused if len(unused) >= sum(checkers) else anywhere
    verifiers = [
        own or named or default if count else frozenset()
        for count, own, named in zip(checkers, named_verifiers, named_cpus, strict=True)
    ]

    # Count threads by their set of CPUs: there are far fewer sets than workers.
    threads = Counter(worker_cpus)
    for worker, cpus, poller, verifying in zip(stage, worker_cpus, pollers, verifiers, strict=True):
        if _polls(worker.job):
            threads[cpus if poller is None else frozenset({poller})] += 1
        if worker.handed_over:
            threads[cpus] += worker.job.iodepth
        if verifying:
            threads[verifying] += verify_threads(worker.job)
    overlapping = {cpus: [other for other in threads if cpus & other] for cpus in threads}
    uncrowded = {cpus: len(cpus) >= sum(threads[other] for other in overlapping[cpus]) for cpus in threads}
    undisturbed = {cpus: all(uncrowded[other] for other in overlapping[cpus]) for cpus in threads}

    return [
        Assignment(
            cpus=tuple(sorted(cpus)) if named or is_pinned else (),
            spin=bool(named or has_spare_cpu) and undisturbed[cpus],
            poller=poller,
            verifiers=tuple(sorted(verifying)),
        )
        for cpus, named, is_pinned, poller, verifying in zip(
            worker_cpus, named_cpus, pinned, pollers, verifiers, strict=True
        )
    ]


def _named_cpus(worker: WorkerRequest, allowed_cpus: Sequence[int]) -> Cpus:
    """Return the CPUs that a worker's job names; empty: it names none."""
    job = worker.job
    if job.numa_cpu_nodes:
        return _node_cpus(job, allowed_cpus)
    named = _allowed(job, "cpus_allowed", allowed_cpus)
    if named and job.cpus_allowed_policy == "split":
        return frozenset({job.cpus_allowed[worker.number % len(job.cpus_allowed)]})
    return named


def _allowed(job: Job, option: Literal["cpus_allowed", "verify_async_cpus"], cpus: Sequence[int]) -> Cpus:
    """Return the CPUs that an option of a job names. Raises IogaugeError if this process may not use one of them."""
    named = frozenset(getattr(job, option))
    if missing := sorted(named - set(cpus)):
        raise IogaugeError(
            f"{job.name}: {option} names CPU {missing[0]}, which this process may not use",
            hint=f"it may use: {', '.join(map(str, cpus))}",
        )
    return named


def _node_cpus(job: Job, allowed_cpus: Sequence[int]) -> Cpus:
    """Return the CPUs of the job's NUMA nodes that this process may use."""
    try:
        cpus = frozenset(cpu for node in job.numa_cpu_nodes for cpu in cpus_of(node))
    except BadValue as problem:
        raise IogaugeError(f"{job.name}: numa_cpu_nodes: {problem}", hint=problem.hint) from None
    if not cpus & frozenset(allowed_cpus):
        raise IogaugeError(
            f"{job.name}: this process may use no CPU of numa_cpu_nodes",
            hint=f"it may use: {', '.join(map(str, allowed_cpus))}",
        )
    return cpus & frozenset(allowed_cpus)


def _polls(job: Job) -> bool:
    return job.ioengine.has_ring and job.sqthread_poll


def _named_poller(job: Job) -> Cpus:
    return frozenset({job.sqthread_poll_cpu} if _polls(job) and job.sqthread_poll_cpu is not None else ())


def _needs_poller_cpu(job: Job) -> bool:
    """Return whether the thread that polls for the job's ring needs a CPU that the job does not name."""
    return _polls(job) and job.sqthread_poll_cpu is None
