"""Where workers run, and which may spin: nobody may spin while another waits for that CPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.execution.plans.placement import Assignment, WorkerRequest, assign, worker_requests
from iogauge.schema import EngineKind, Job
from tests import report_records


def job(name: str = "j", **fields: object) -> Job:
    return Job.model_validate({"name": name, "ioengine": EngineKind.NULL, **fields})


def placed(*jobs: Job, cpus: tuple[int, ...] = (0, 1)) -> list[tuple[tuple[int, ...], bool]]:
    """Return CPUs and leave to spin of every worker of the first stage."""
    (stage, *_) = worker_requests(report_records.job_file(*jobs))
    return [(place.cpus, place.spin) for place in assign(stage, cpus)]


def pollers(*jobs: Job, cpus: tuple[int, ...] = (0, 1)) -> list[int | None]:
    (stage, *_) = worker_requests(report_records.job_file(*jobs))
    return [place.poller for place in assign(stage, cpus)]


def handed_over(
    *jobs: Job, of: tuple[bool, ...], cpus: tuple[int, ...]
) -> list[tuple[tuple[int, ...], bool]]:
    """As ``placed``, where threads of the kernel do requests of some workers."""
    (stage, *_) = worker_requests(report_records.job_file(*jobs), of)
    return [(place.cpus, place.spin) for place in assign(stage, cpus)]


def split(**fields: object) -> Job:
    return job(cpus_allowed=(0, 1), cpus_allowed_policy="split", **fields)


def polling(**fields: object) -> Job:
    return job(**{"ioengine": EngineKind.IO_URING, "sqthread_poll": True, **fields})


def test_workers_take_a_cpu_each_from_the_end_and_spin() -> None:
    assert placed(job(numjobs=2), job(), cpus=(0, 1, 2, 5)) == [((5,), True), ((2,), True), ((1,), True)]


def test_more_workers_than_cpus_neither_spin_nor_are_pinned() -> None:
    assert placed(job(numjobs=3)) == [((), False)] * 3


def test_split_counts_the_workers_of_the_whole_run() -> None:
    assert placed(split(), split()) == [((0,), True), ((1,), True)]
    assert placed(job(numjobs=3), split(), cpus=(0, 1, 2, 3, 4))[3] == ((1,), True)
    first, second = worker_requests(report_records.job_file(split(), split(stonewall=True)))
    assert (assign(first, (0, 1)), assign(second, (0, 1))) == (
        [Assignment(cpus=(0,), spin=True)],
        [Assignment(cpus=(1,), spin=True)],
    )


def test_those_that_a_split_brings_together_do_not_spin() -> None:
    assert placed(split(numjobs=3)) == [((0,), False), ((1,), True), ((0,), False)]


@pytest.mark.parametrize("order", [1, -1])
def test_a_job_that_names_its_cpu_has_it_alone(order: int) -> None:
    free, requests = job("free"), job("asked", cpus_allowed=(1,))
    assert placed(*[free, requests][::order]) == [((0,), True), ((1,), True)][::order]


def test_where_too_little_is_left_the_others_share_and_nobody_spins() -> None:
    assert placed(job(numjobs=2), job(cpus_allowed=(1,))) == [((), False), ((), False), ((1,), False)]


def test_clones_that_share_as_many_cpus_may_spin() -> None:
    assert placed(job(cpus_allowed=(0, 1), numjobs=2)) == [((0, 1), True)] * 2
    assert placed(job(cpus_allowed=(0, 1), numjobs=3)) == [((0, 1), False)] * 3


def test_a_worker_does_not_spin_where_another_has_no_other_cpu() -> None:
    """The second could move away from CPU 0; a third is why it might not."""
    jobs = job(cpus_allowed=(0,)), job(cpus_allowed=(0, 1))
    assert [spin for _, spin in placed(*jobs)] == [False, False]


def test_the_kernels_polling_thread_wants_a_cpu_as_well() -> None:
    assert placed(polling()) == [((1,), True)]
    assert placed(polling(), cpus=(0,)) == [((), False)]
    assert placed(polling(numjobs=2)) == [((), False)] * 2
    assert placed(polling(numjobs=2), cpus=(0, 1, 2, 3)) == [((3,), True), ((2,), True)]


def test_a_polling_thread_runs_beside_its_worker_and_not_on_its_cpu() -> None:
    assert pollers(polling()) == [0]
    assert pollers(polling(numjobs=2), cpus=(0, 1, 2, 3)) == [1, 0]
    assert pollers(polling(sqthread_poll_cpu=1)) == [1]
    assert pollers(polling(), cpus=(0,)) == [None], "nobody is pinned"
    assert pollers(polling(cpus_allowed=(1,))) == [None], "the job said where both run"
    assert placed(polling(cpus_allowed=(1,))) == [((1,), False)]
    assert placed(polling(cpus_allowed=(0, 1))) == [((0, 1), True)]


def test_a_worker_whose_requests_threads_of_the_kernel_do_is_not_pinned() -> None:
    """They could only run on its CPU. It spins where there is a CPU for each of them."""
    ring = job(ioengine=EngineKind.IO_URING, iodepth=2)
    assert handed_over(ring, of=(False,), cpus=(0, 1, 2)) == [((2,), True)]
    assert handed_over(ring, of=(True,), cpus=(0, 1)) == [((), False)]
    assert handed_over(ring, of=(True,), cpus=(0, 1, 2)) == [((), True)]
    named = ring.model_copy(update={"cpus_allowed": (0, 1)})
    assert handed_over(named, of=(True,), cpus=(0, 1, 2)) == [((0, 1), False)]
    poller = polling(iodepth=2)
    assert handed_over(poller, of=(True,), cpus=(0, 1, 2)) == [((), False)]
    assert handed_over(poller, of=(True,), cpus=(0, 1, 2, 3)) == [((), True)]


def test_a_pinned_worker_does_not_spin_where_threads_of_the_kernel_may_want_its_cpu() -> None:
    ring = job(ioengine=EngineKind.IO_URING, iodepth=2)
    for cpus in ((0, 1, 2), (0, 1, 2, 3)):
        assert handed_over(ring, job(), of=(True, False), cpus=cpus) == [((), False), (cpus[-1:], False)]
    assert handed_over(ring, job(numjobs=2), of=(True, False, False), cpus=(0, 1)) == [((), False)] * 3


def test_a_polling_thread_with_a_cpu_of_its_own_keeps_it() -> None:
    assert placed(polling(sqthread_poll_cpu=1)) == [((0,), True)]
    assert placed(polling(sqthread_poll_cpu=1, cpus_allowed=(1,))) == [((1,), False)]
    assert placed(polling(sqthread_poll_cpu=9), cpus=(0,)) == [((0,), True)]
    assert placed(job(sqthread_poll=True), cpus=(0,)) == [((0,), True)], "only io_uring has such a thread"


def test_a_cpu_that_is_not_ours_is_refused() -> None:
    with pytest.raises(IogaugeError, match="cpus_allowed names CPU 7") as refused:
        placed(job(cpus_allowed=(0, 7)))
    assert refused.value.hint == "it may use: 0, 1"


NAMED = st.sets(st.integers(0, 3), max_size=4).map(lambda cpus: tuple(sorted(cpus)))


@given(st.lists(st.tuples(NAMED, st.sampled_from(["shared", "split"])), min_size=1, max_size=6))
def test_a_spinning_worker_leaves_room_for_all_that_could_run_beside_it(
    requests: list[tuple[tuple[int, ...], str]],
) -> None:
    stage = [
        WorkerRequest(job=job(cpus_allowed=cpus, cpus_allowed_policy=policy), number=number)
        for number, (cpus, policy) in enumerate(requests)
    ]
    assignments = assign(stage, (0, 1, 2, 3))
    for claim, place in zip(stage, assignments, strict=True):
        assert set(place.cpus) <= set(claim.job.cpus_allowed or (0, 1, 2, 3))
        sharing = [other for other in assignments if set(other.cpus or (0, 1, 2, 3)) & set(place.cpus)]
        if place.spin:
            assert len(sharing) <= len(place.cpus)
        if len(place.cpus) == 1 and len(sharing) > 1:
            assert not any(set(place.cpus) <= set(other.cpus) and other.spin for other in sharing)


def verifying(**fields: object) -> Job:
    return job(ioengine=EngineKind.LIBAIO, rw="write", verify="md5", iodepth=8, **fields)


def verifiers(*jobs: Job, cpus: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """Return CPUs of every worker, those of the threads that check its reads, and its leave to spin."""
    (stage, *_) = worker_requests(report_records.job_file(*jobs))
    return [(place.cpus, place.verifiers, place.spin) for place in assign(stage, cpus)]


def test_threads_that_check_reads_avoid_pinned_cpus() -> None:
    one = verifying(verify_async=3)
    assert verifiers(one, cpus=(0, 1, 2, 3)) == [((3,), (0, 1, 2), True)]
    # Where too few CPUs are left they run on all, and nobody spins.
    assert verifiers(verifying(verify_async=4), cpus=(0, 1, 2, 3)) == [((3,), (0, 1, 2, 3), False)]
    assert verifiers(one, cpus=(0,)) == [((0,), (0,), False)]
    named = verifying(verify_async=1, verify_async_cpus=(3,))
    assert verifiers(named, cpus=(0, 1, 2, 3)) == [((2,), (3,), True)]
    assert verifiers(verifying(verify_async=1, cpus_allowed=(1,)), cpus=(0, 1)) == [((1,), (1,), False)]


def test_threads_that_check_reads_may_not_use_every_cpu() -> None:
    with pytest.raises(IogaugeError, match="verify_async_cpus names CPU 5, which this process may not use"):
        verifiers(verifying(verify_async=1, verify_async_cpus=(5,)), cpus=(0, 1))
