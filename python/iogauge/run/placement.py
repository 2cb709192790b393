"""Which CPUs every worker of a stage gets, and which of them may spin.

Jobs that name their CPUs are seated first, the others on what those leave. A worker spins only where no thread that
could run on its CPUs would have to wait for it. A kernel thread that polls for a ring (``sqthread_poll``) takes a CPU
as well, and is seated like a worker. Knows jobs and CPU numbers; pins nothing itself.

Source: fio's fio_cpus_split for ``cpus_allowed_policy=split``; the kernel's io_sq_thread, which may run anywhere
unless ``sqthread_poll_cpu`` says otherwise.
"""

from __future__ import annotations

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


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one worker runs."""

    cpus: tuple[int, ...]
    """Empty: anywhere."""
    spin: bool


def claims_of(job_file: JobFile) -> list[list[Claim]]:
    """Return the workers of every stage: a job that waits for the earlier ones begins a new one."""
    found: list[list[Claim]] = []
    number = 0
    for job in job_file.jobs:
        if not found or job.stonewall:
            found.append([])
        for _ in range(job.numjobs):
            found[-1].append(Claim(job=job, number=number))
            number += 1
    return found


def places(stage: Sequence[Claim], cpus: Sequence[int]) -> list[Place]:
    """Seat the workers of one stage on ``cpus``, those that the process may use.

    Unless told otherwise the last CPUs are taken first: the first ones serve more of the machine's interrupts. Raises
    IogaugeError where a job names a CPU that the process may not use.
    """
    asked = [_asked(claim, cpus) for claim in stage]
    pollers = [_poller(claim.job) for claim in stage if _polls(claim.job)]
    named: Cpus = frozenset().union(*asked, *pollers)
    spare = [cpu for cpu in cpus if cpu not in named]
    unseated = asked.count(frozenset())
    enough = len(spare) >= unseated + pollers.count(frozenset())

    anywhere = frozenset(cpus)
    seats = iter([frozenset({cpu}) for cpu in reversed(spare)] if enough else [anywhere] * unseated)
    workers = [one or next(seats) for one in asked]
    left = frozenset(spare[: len(spare) - unseated]) if enough else anywhere
    occupied = [*workers, *(one or left for one in pollers)]
    roomy = [len(one) >= sum(bool(one & other) for other in occupied) for one in occupied]

    found = []
    for one, wanted in zip(workers, asked, strict=True):
        undisturbed = all(room for other, room in zip(occupied, roomy, strict=True) if one & other)
        seated = bool(wanted) or enough
        found.append(Place(cpus=tuple(sorted(one)) if seated else (), spin=seated and undisturbed))
    return found


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


def _poller(job: Job) -> Cpus:
    return frozenset() if job.sqthread_poll_cpu is None else frozenset({job.sqthread_poll_cpu})
