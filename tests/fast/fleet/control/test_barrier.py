"""Which hosts may start which step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iogauge.fleet.control.barrier import Barrier, Lead, Release

STEPS = ["a", "b", "c", "d"]


def test_nobody_starts_before_all_wait() -> None:
    barrier = Barrier(["x", "y"])
    barrier.waits("x", "a")
    assert barrier.release() == ()
    barrier.waits("y", "a")
    assert barrier.release() == (Release("x", "a", 0), Release("y", "a", 0))
    assert barrier.release() == ()


def test_a_host_that_ended_is_not_waited_for() -> None:
    barrier = Barrier(["x", "y"])
    barrier.waits("x", "a")
    barrier.ended("y")
    assert [release.host for release in barrier.release()] == ["x"]
    barrier.waits("y", "a")
    assert barrier.live == {"x"}


def test_who_is_behind_goes_first() -> None:
    barrier = Barrier(["x", "y"])
    barrier.planned("x", STEPS)
    barrier.planned("y", STEPS)
    barrier.waits("x", "c")
    barrier.waits("y", "b")
    assert barrier.release() == (Release("y", "b", 0),)
    barrier.waits("y", "c")
    assert [release.host for release in barrier.release()] == ["x", "y"]


def test_staggered_hosts_start_after_each_other() -> None:
    barrier = Barrier(["x", "y", "z"], stagger_ns=5)
    for host in ("z", "y"):
        barrier.waits(host, "a")
    barrier.ended("x")
    assert barrier.release() == (Release("y", "a", 0), Release("z", "a", 5))


@given(st.data())
def test_all_steps_run_once_in_order_and_together(data: st.DataObject) -> None:
    """Whoever is lost when: every live host runs all of its steps, and hosts at one step start it together."""
    names = ["p", "q", "r"]
    plans = {name: STEPS[data.draw(st.integers(0, 3)) :] for name in names}
    barrier = Barrier(names)
    for name in names:
        barrier.planned(name, STEPS)
    ahead = {name: list(plan) for name, plan in plans.items()}
    ran: dict[str, list[str]] = {name: [] for name in names}
    live = set(names)
    arriving = set(names)
    while live:
        if arriving:
            name = data.draw(st.sampled_from(sorted(arriving)))
            arriving.discard(name)
            if not ahead[name] or data.draw(st.integers(0, 9)) == 0:
                live.discard(name)
                barrier.ended(name)
            else:
                barrier.waits(name, ahead[name][0])
        releases = barrier.release()
        assert not releases or not arriving & live
        starting = {release.host for release in releases}
        assert len({release.step for release in releases}) <= 1
        for release in releases:
            assert release.step == ahead[release.host].pop(0)
            ran[release.host].append(release.step)
        if releases:
            behind = [name for name in live - starting if ahead[name]]
            assert all(STEPS.index(ahead[name][0]) > STEPS.index(releases[0].step) for name in behind)
        else:
            assert arriving or not live
        arriving |= starting
    for name in names:
        assert ran[name] == plans[name][: len(ran[name])]


def test_the_lead_grows_when_a_host_begins_late() -> None:
    lead = Lead(first_ns=1_000_000_000)
    lead.started(-5)
    lead.started(Lead.LATE_NS)
    assert lead.ns == 1_000_000_000
    lead.started(400_000_000)
    assert lead.ns == 2_000_000_000
    lead.started(60_000_000_000)
    assert lead.ns == Lead.MOST_NS
