"""Events are sent without waiting for whoever reads them; a lease ends a process that hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from iogauge.fleet.host.channel import Channel
from iogauge.fleet.host.messages import HostEvent


def progress(number: int) -> HostEvent:
    return HostEvent(kind="progress", at_ns=0, text=f"{number}")


def test_nobody_who_does_not_read_is_waited_for() -> None:
    reading, writing = os.pipe()
    channel = Channel(os.open(os.devnull, os.O_RDONLY), writing)
    channel.send(HostEvent(kind="notice", at_ns=0, text="x" * 10**6))  # more than the pipe takes
    for number in range(10_000):
        channel.send(progress(number))
    channel.send(HostEvent(kind="end", at_ns=0))
    channel.flush(0)
    received = []
    with open(reading, "rb") as file:  # noqa: PTH123 (a descriptor)
        for line in file:
            received.append(HostEvent.model_validate_json(line))
            if received[-1].kind == "end":
                break
    kinds = [event.kind for event in received]
    assert (kinds[0], kinds[-1]) == ("notice", "end")
    assert len(received) < 100
    assert received[-2].text == "9999"


def test_a_reader_that_is_gone_is_forgotten() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    channel = Channel(os.open(os.devnull, os.O_RDONLY), writing)
    channel.send(progress(1))
    channel.flush(60)
    channel.send(progress(2))
    channel.flush(60)


def test_lines_come_whole_until_the_end() -> None:
    reading, writing = os.pipe()
    channel = Channel(reading, os.open(os.devnull, os.O_WRONLY))
    assert channel.line(0) is None
    os.write(writing, b"one\ntw")
    assert channel.line() == b"one"
    assert channel.line(0) is None
    os.write(writing, b"o\nthree\ntorn")
    assert [channel.line(), channel.line()] == [b"two", b"three"]
    assert not channel.is_closed
    os.close(writing)
    assert channel.line() is None
    assert channel.is_closed


WATCHED = """
import queue, signal, sys, threading, time, ctypes
from iogauge.fleet.host import watchdog
from iogauge.fleet.host.clock import boot_ns
watchdog.GRACE_S = float(sys.argv[1])
on_end = lambda: False
commands = queue.SimpleQueue()

def obey(timeout_s):
    try:
        commands.get(timeout=timeout_s)()
    except queue.Empty:
        return False
    return True

dog = watchdog.Watchdog(boot_ns() + int(sys.argv[2]), lambda: on_end(), obey=lambda timeout_s: obey(timeout_s))
"""


def watched(code: str, *, grace_s: float, lease_ns: int = 1) -> int:
    """Run code under a lease, and return the status with which its process ends."""
    command = [sys.executable, "-c", WATCHED + code, str(grace_s), str(lease_ns)]
    return subprocess.run(command, check=False).returncode


@pytest.mark.parametrize(
    "hangs",
    [
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\ndog.begin()\nwhile True: signal.pause()",
        # It keeps the GIL, so that no thread of Python runs.
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\ndog.begin()\nctypes.PyDLL(None).sleep(1000)",
    ],
)
def test_the_kernel_ends_a_process_that_does_not_end_after_its_lease(hangs: str) -> None:
    assert watched(hangs, grace_s=0.2) == -signal.SIGALRM


def test_the_end_of_a_lease_interrupts_what_waits() -> None:
    code = """
try:
    dog.begin()
    time.sleep(1000)
except KeyboardInterrupt:
    sys.exit(7 if dog.reason else 8)
"""
    assert watched(code, grace_s=1000) == 7


def test_a_review_that_goes_on_is_not_killed() -> None:
    code = """
on_end = lambda: True
dog.begin()
while signal.getitimer(signal.ITIMER_REAL)[0]: time.sleep(0.001)
sys.exit(7)
"""
    assert watched(code, grace_s=1000) == 7


def test_a_lease_that_has_ended_is_not_renewed() -> None:
    code = """
try:
    dog.begin()
    time.sleep(1000)
except KeyboardInterrupt:
    dog.renew(boot_ns() + 10**12)
while True: signal.pause()
"""
    assert watched(code, grace_s=0.5) == -signal.SIGALRM


def test_a_renewal_moves_the_end() -> None:
    code = """
try:
    dog.begin()
    dog.renew(boot_ns() + 10**12)
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    commands.put(lambda: dog.renew(boot_ns()))
    time.sleep(1000)
except KeyboardInterrupt:
    sys.exit(7)
"""
    assert watched(code, grace_s=100, lease_ns=100 * 10**9) == 7


def test_a_renewal_that_came_before_the_process_began_counts() -> None:
    code = """
commands.put(lambda: dog.renew(boot_ns() + 10**12))
dog.begin()
assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
sys.exit(7)
"""
    assert watched(code, grace_s=100) == 7


def test_what_waits_to_be_read_is_done_before_a_lease_ends() -> None:
    # The thread that watches does not run until the lease has ended, as on a busy computer.
    code = """
wakes, renewed = threading.Event(), threading.Event()
dog.begin()
commands.put(wakes.wait)
commands.put(dog.end_lease)
commands.put(lambda: dog.renew(boot_ns() + 10**12))
commands.put(renewed.set)
wakes.set()
try:
    renewed.wait()
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    sys.exit(8 if dog.reason else 7)
except KeyboardInterrupt:
    sys.exit(9)
"""
    assert watched(code, grace_s=1000, lease_ns=10**12) == 7


def test_a_review_that_goes_on_has_no_lease_any_more() -> None:
    code = """
over = threading.Event()
on_end = lambda: True
dog.begin()
while signal.getitimer(signal.ITIMER_REAL)[0]: time.sleep(0.001)
commands.put(lambda: dog.renew(boot_ns() + 10**12))
commands.put(over.set)
over.wait()
sys.exit(7 if signal.getitimer(signal.ITIMER_REAL)[0] == 0 else 8)
"""
    assert watched(code, grace_s=1000) == 7
