"""Which CPUs every worker of a stage gets, and which of them may spin.

Jobs that name their CPUs are seated first, the others on what those leave. A worker spins only where no thread that
could run on its CPUs would have to wait for it. Knows jobs and CPU numbers; pins nothing itself.

Threads of the kernel that work for a ring are children of the worker's thread, and may run only where that one may:

- one that polls (``sqthread_poll``) takes a CPU as well, and is seated like a worker;
- those that do requests which io_uring cannot start without blocking (io-wq) are as many as the requests in flight. A
  worker that has them is not pinned, because one CPU would have to do for all of them.

Source: fio's fio_cpus_split for ``cpus_allowed_policy=split``; the kernel's create_io_thread, which copies the user's
choice of CPUs, and __set_cpus_allowed_ptr, which keeps later ones within it (since Linux 6.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from iogauge.errors import IogaugeError
from iogauge.schema import EngineKind, Job, JobFile

Cpus = frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One worker that wants a place."""

    job: Job
    number: int
    """Which of the whole run's workers, from 0, in the order of jobs and clones."""
    handed_over: bool = False
    """Threads of the kernel do requests of it."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one worker runs."""

    cpus: tuple[int, ...]
    """Empty: anywhere."""
    spin: bool
    poller: int | None = None
    """The CPU of the thread that polls for its ring; None: any of the worker's."""


def claims_of(job_file: JobFile, handed_over: Sequence[bool] = ()) -> list[list[Claim]]:
    """Return the workers of every stage: a job that waits for the earlier ones begins a new one.

    ``handed_over``: of each worker, whether threads of the kernel do requests of it; empty: of none.
    """
    stages: list[list[Claim]] = []
    number = 0
    for job in job_file.jobs:
        if not stages or job.stonewall:
            stages.append([])
        for _ in range(job.numjobs):
            stages[-1].append(
                Claim(job=job, number=number, handed_over=bool(handed_over) and handed_over[number])
            )
            number += 1
    return stages


def places(stage: Sequence[Claim], cpus: Sequence[int]) -> list[Place]:
    """Seat the workers of one stage on ``cpus``, those that the process may use.

    Unless told otherwise the last CPUs are taken first: the first ones serve more of the machine's interrupts. Raises
    IogaugeError where a job names a CPU that the process may not use.
    """
    asked = [_asked(claim, cpus) for claim in stage]
    named: Cpus = frozenset().union(*asked, *(_named_poller(claim.job) for claim in stage))
    spare = [cpu for cpu in cpus if cpu not in named]
    unseated = [claim for claim, own in zip(stage, asked, strict=True) if not own]
    enough = len(spare) >= len(unseated) + sum(_seats_poller(claim.job) for claim in unseated)

    anywhere = frozenset(cpus)
    seats = iter(reversed(spare))
    pinned = [enough and not own and not claim.handed_over for claim, own in zip(stage, asked, strict=True)]
    workers = [
        frozenset({next(seats)}) if pin else own or anywhere for own, pin in zip(asked, pinned, strict=True)
    ]
    pollers = [
        next(seats) if pin and _seats_poller(claim.job) else claim.job.sqthread_poll_cpu
        for claim, pin in zip(stage, pinned, strict=True)
    ]

    # How many threads could run on the same CPUs: there are far fewer sets of CPUs than workers.
    threads = Counter(workers)
    for claim, one, poller in zip(stage, workers, pollers, strict=True):
        if _polls(claim.job):
            threads[one if poller is None else frozenset({poller})] += 1
        if claim.handed_over:
            threads[one] += claim.job.iodepth
    beside = {one: [other for other in threads if one & other] for one in threads}
    roomy = {one: len(one) >= sum(threads[other] for other in beside[one]) for one in threads}
    undisturbed = {one: all(roomy[other] for other in beside[one]) for one in threads}

    return [
        Place(
            cpus=tuple(sorted(one)) if own or pin else (),
            spin=bool(own or enough) and undisturbed[one],
            poller=poller,
        )
        for one, own, pin, poller in zip(workers, asked, pinned, pollers, strict=True)
    ]


def _asked(claim: Claim, cpus: Sequence[int]) -> Cpus:
    """The CPUs that a worker's job names; empty where it names none."""
    job = claim.job
    if missing := sorted(set(job.cpus_allowed) - set(cpus)):
        raise IogaugeError(
            f"{job.name}: CPU {missing[0]} of cpus_allowed is not one that this process may use",
            hint=f"these are: {', '.join(map(str, cpus))}",
        )
    if job.cpus_allowed and job.cpus_allowed_policy == "split":
        return frozenset({job.cpus_allowed[claim.number % len(job.cpus_allowed)]})
    return frozenset(job.cpus_allowed)


def _polls(job: Job) -> bool:
    return job.ioengine is EngineKind.IO_URING and job.sqthread_poll


def _named_poller(job: Job) -> Cpus:
    return frozenset({job.sqthread_poll_cpu} if _polls(job) and job.sqthread_poll_cpu is not None else ())


def _seats_poller(job: Job) -> bool:
    """Whether the thread that polls for the job's ring needs a CPU that the job does not name."""
    return _polls(job) and job.sqthread_poll_cpu is None
