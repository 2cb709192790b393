"""A host: checked, begun, renewed, stopped, resumed; its files, and its clock that is wrong."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import iogauge
from iogauge.errors import IogaugeError
from iogauge.fleet.control.preflight import judged
from iogauge.fleet.host import Host, HostClock, HostEvent, HostRequest
from iogauge.fleet.host.space import spaces_of
from iogauge.schema import HostOutcome
from iogauge.store import Review
from tests.fast.fleet import fleet_host

ERROR_NS = 50_000_000


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host("a", directory=tmp_path / "state", clock=HostClock(error_ns=ERROR_NS))
    yield host
    host.close()


def until(host: Host, kind: str, *, after: int = 0) -> HostEvent:
    """Wait for an event of a kind, as a controller does."""
    while True:
        for event in host.events(after):
            if event.kind == kind:
                return event
            assert event.kind != "end", event
            after = event.number
        time.sleep(0.01)


def ended(host: Host, *, after: int = 0) -> HostEvent:
    event = until(host, "end", after=after)
    host.close()
    return event


def test_the_clock_of_a_host_can_be_wrong() -> None:
    before = time.monotonic_ns()
    received, answered = Host("a", clock=HostClock(error_ns=ERROR_NS)).exchange()
    assert before + ERROR_NS <= received <= answered <= time.monotonic_ns() + ERROR_NS
    clock = HostClock(error_ns=ERROR_NS)
    assert clock.to_system_ns(clock.from_system_ns(7)) == 7


def test_preflight_says_what_a_host_is_and_writes_nothing(tmp_path: Path, host: Host) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), tmp_path / "disk")
    facts = host.preflight(wanted)
    assert facts.refused == ()
    assert facts.only_reads
    assert len(facts.drives) == len(facts.targets) == 1
    assert facts.free_bytes > 0
    # Both are in one directory: the review, and a file of 1 MiB, which may take 80 % of what is free.
    (space,) = facts.spaces
    assert space.free_bytes == facts.free_bytes
    least = 1_000_000 + 3 * (100_000 + 16_000) + math.ceil((1 << 20) / 0.8)
    assert least <= space.needed_bytes < 2 * least
    assert 0 < facts.longest_step_s < 60
    assert (facts.complete_steps, facts.missing_steps) == (0, None)
    assert facts.machine.hostname == os.uname().nodename
    assert not (tmp_path / "disk").exists()
    assert not (tmp_path / "state").exists()
    assert host.files() == []


def test_a_place_that_cannot_be_looked_at_is_a_refusal(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), tmp_path / "disk")
    long = Host("a", directory=tmp_path / ("n" * 300))
    assert "n" * 300 in long.preflight(wanted).refused[0].text

    def stale(path: Path) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(os, "statvfs", stale)
    facts = host.preflight(wanted)
    (refusal,) = facts.refused
    assert str(tmp_path) in refusal.text
    assert "Stale file handle" in refusal.text
    assert refusal.hint
    assert (facts.spaces, facts.free_bytes) == ((), 0)
    # Nothing else is said of its space.
    assert [str(error) for _, error in judged(["a"], {"a": facts}, shared=False).refused] == [refusal.text]


def test_a_review_takes_no_more_space_than_is_estimated(tmp_path: Path) -> None:
    options = {"suites": "mixed", "runtime": "200ms", "seed": 1}
    planned = iogauge.plan("model:p4800x", **options)
    (before,) = spaces_of(tmp_path, planned, planned.manifest.targets, ())
    saved = iogauge.review("model:p4800x", output=tmp_path / "saved", **options)
    taken = sum(path.stat().st_size for path in (tmp_path / "saved").rglob("*") if path.is_file())
    assert 0.1 * before.needed_bytes < taken <= before.needed_bytes
    (after,) = spaces_of(tmp_path, planned, planned.manifest.targets, saved._saved.completed())
    assert after.needed_bytes == 1_000_000


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("precious", {}, "precious"),
        ("none/disk", {}, "cannot be made"),
        (".", {}, "directory"),
        ("disk", {"suites": ["no-such-suite"]}, "no-such-suite"),
        ("disk", {"pace": "fast"}, "fast"),
        ("disk", {"colour": 1}, "colour"),
        ("disk", {"seed": 1}, "seed"),
    ],
)
def test_preflight_says_what_would_be_refused(
    tmp_path: Path, host: Host, target: str, options: dict[str, object], message: str
) -> None:
    (tmp_path / "precious").write_bytes(b"x" * (2 << 20))
    suite = fleet_host.suite(tmp_path, rw="randwrite")
    wanted = fleet_host.request(suite, tmp_path / target)
    facts = host.preflight(wanted.model_copy(update={"options": {**wanted.options, **options}}))
    (refusal,) = facts.refused
    assert message in refusal.text
    assert refusal.hint
    assert (tmp_path / "precious").read_bytes() == b"x" * (2 << 20)


def test_hints_name_options_of_whoever_reads_them(tmp_path: Path, host: Host) -> None:
    (tmp_path / "precious").write_bytes(b"x" * (2 << 20))
    suite = fleet_host.suite(tmp_path, rw="randwrite")
    for for_command, word in ((False, "destroy=["), (True, "--destroy ")):
        wanted = fleet_host.request(suite, tmp_path / "precious", for_command=for_command)
        assert word in host.preflight(wanted).refused[0].hint


def test_a_request_for_another_host_is_refused(tmp_path: Path, host: Host) -> None:
    wanted = fleet_host.request(tmp_path / "suite.toml", "model:p4800x", host="b")
    with pytest.raises(IogaugeError, match="this is host a, and the request is for b"):
        host.preflight(wanted)
    with pytest.raises(IogaugeError, match="this is host a"):
        host.begin(wanted, fleet_host.lease(wanted))


def test_a_host_that_runs_nothing(host: Host) -> None:
    assert host.events(0) == []
    host.stop()
    host.start("s", 1)
    with pytest.raises(IogaugeError, match="not in use"):
        host.renew("x")
    with pytest.raises(IogaugeError, match="which fleet is meant"):
        host.files()


@pytest.mark.slow
def test_a_review_from_its_begin_to_its_files(tmp_path: Path, host: Host) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, steps=1), "model:p4800x", waits=True)
    lease = fleet_host.lease(wanted)
    host.begin(wanted, lease)
    with pytest.raises(IogaugeError, match="a review is running"):
        host.begin(wanted, fleet_host.lease(wanted, generation=2))
    step = until(host, "waiting").step
    host.renew(lease.id)
    with pytest.raises(IogaugeError, match="not in use"):
        host.renew("another")
    at_ns = host.exchange()[1] + 50_000_000
    host.start(step, at_ns)
    assert ended(host).outcome is HostOutcome.DONE
    events = host.events(0)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert host.events(3) == events[3:]
    achieved_ns = until(host, "started").achieved_ns
    assert achieved_ns is not None
    assert at_ns <= achieved_ns <= host.exchange()[0]
    paths = [file.path for file in host.files()]
    assert "manifest.json" in paths
    assert f"steps/{step}/record.json" in paths
    copy = tmp_path / "copy"
    for path in paths:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(host.read(path, 0, 1 << 23))
    assert Review.open(copy).record(step).result.stopped_by is None
    facts = host.preflight(wanted)
    assert (facts.complete_steps, facts.missing_steps) == (1, 0)
    with pytest.raises(IogaugeError, match="has a review of this fleet"):
        host.begin(wanted, fleet_host.lease(wanted, generation=2))
    with pytest.raises(IogaugeError, match="has been used"):
        host.resume(wanted, lease)


@pytest.mark.slow
def test_a_lease_that_ended_is_not_renewed(tmp_path: Path, host: Host) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path), "model:p4800x", waits=True)
    lease = fleet_host.lease(wanted, seconds=0.01)
    host.begin(wanted, lease)
    end = ended(host)
    assert end.outcome is HostOutcome.INTERRUPTED
    with pytest.raises(IogaugeError, match="has ended"):
        host.renew(lease.id)


@pytest.mark.slow
def test_a_review_is_resumed_wherever_it_was_killed(tmp_path: Path) -> None:
    suite = fleet_host.suite(tmp_path, rw="randwrite", steps=4)
    wanted = fleet_host.request(suite, tmp_path / "disk")
    draw = random.Random(1)
    seen = 0
    for generation in range(1, 8):
        # A new host each time, as after the host's process was killed.
        host = Host("a", directory=tmp_path / "state")
        host.resume(wanted, fleet_host.lease(wanted, generation=generation))
        pid = process_of(host)
        for _ in range(draw.randrange(1, 12)):
            if any(event.kind == "end" for event in host.events(0)):
                break
            count = len(host.events(0))
            while len(host.events(0)) == count:
                time.sleep(0.002)
        os.kill(pid, signal.SIGKILL) if generation < 7 else None
        end = ended(host)
        completed = host.preflight(wanted).complete_steps
        assert completed >= seen
        seen = completed
        assert end.outcome in (HostOutcome.INTERRUPTED, HostOutcome.DONE)
    assert end.outcome is HostOutcome.DONE
    assert seen == 4


@pytest.mark.slow
def test_a_newer_lease_ends_the_review_of_the_older_one(tmp_path: Path, host: Host) -> None:
    wanted = fleet_host.request(fleet_host.suite(tmp_path, rw="randwrite"), tmp_path / "disk", waits=True)
    host.begin(wanted, fleet_host.lease(wanted))
    first = until(host, "waiting")
    process = process_of(host)
    goes = wanted.model_copy(update={"waits": False})
    other = fleet_host.request(fleet_host.suite(tmp_path), "model:p4800x")
    with pytest.raises(IogaugeError, match="another review is running"):
        host.resume(other, fleet_host.lease(other))
    host.resume(goes, fleet_host.lease(goes, generation=2))
    assert process_of(host) != process
    assert host.events(0)[:1] == host.events(first.number)[:1]  # nothing of the review before
    assert ended(host, after=first.number).outcome is HostOutcome.DONE
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.slow
def test_a_review_that_hangs_is_killed_by_its_host(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iogauge.fleet.host.host.GRACE_S", 0.1)
    monkeypatch.setattr("iogauge.fleet.host.host._KILL_S", 0.1)
    wanted: HostRequest = fleet_host.request(fleet_host.suite(tmp_path), tmp_path / "disk", waits=True)
    host.begin(wanted, fleet_host.lease(wanted))
    until(host, "waiting")
    os.kill(process_of(host), signal.SIGSTOP)
    with contextlib.suppress(IogaugeError):  # a busy machine took longer
        host.close()
    assert "SIGKILL" in until(host, "end").text


def process_of(host: Host) -> int:
    pid = host.process
    assert pid is not None
    return pid
