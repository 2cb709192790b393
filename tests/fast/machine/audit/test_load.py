"""What else runs: udevd's workers, timers of systemd, and how long the drive is known to be powered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.machine.audit import CHECKS
from iogauge.machine.audit.subject import Subject
from iogauge.machine.nvme.features import Features
from iogauge.machine.nvme.logs import parse_smart
from iogauge.machine.nvme.read import Nvme
from iogauge.schema.audit import AuditFact
from tests import nvme_images
from tests.audit_trees import build, write

BY_ID = {check.id: check for check in CHECKS}
ETC = "etc/systemd/system"
LIB = "usr/lib/systemd/system"


def fact(check: str, subject: Subject) -> AuditFact:
    """Look anew: a subject remembers which processes ran."""
    return BY_ID[f"load.{check}"].fact(replace(subject))


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """A machine whose systemd has switched on fstrim.timer, and whose udevd is idle."""
    return build("intel-two-sockets", tmp_path).subject


def test_udevd_is_busy_while_it_has_workers(subject: Subject, tmp_path: Path) -> None:
    assert fact("udevd", subject).meaning == "idle"
    write(tmp_path / "proc/903/comm", "(udev-worker)")
    assert (fact("udevd", subject).verdict, fact("udevd", subject).value) == ("differs", "1 worker")
    write(tmp_path / "proc/903/comm", "systemd-udevd")
    assert fact("udevd", subject).value == "1 worker", "older workers have the manager's name"
    for number in (902, 903):
        write(tmp_path / f"proc/{number}/comm", "bash")
    assert (fact("udevd", subject).verdict, fact("udevd", subject).meaning) == ("pass", "it does not run")
    write(tmp_path / "proc/2/comm", "bash")
    assert fact("udevd", subject).verdict == "unknown"


def test_timers_that_are_switched_on(subject: Subject, tmp_path: Path) -> None:
    assert (fact("timers", subject).verdict, fact("timers", subject).value) == ("differs", "fstrim.timer")
    write(
        tmp_path / LIB / "timers.target.wants/plocate-updatedb.timer", "../plocate-updatedb.timer", link=True
    )
    write(tmp_path / "run/systemd/system/timers.target.wants/mdcheck_start.timer", "[Timer]")
    assert fact("timers", subject).value == "fstrim.timer, mdcheck_start.timer, plocate-updatedb.timer"
    write(tmp_path / ETC / "plocate-updatedb.timer", "/dev/null", link=True)
    (tmp_path / ETC / "timers.target.wants/fstrim.timer").unlink()
    assert fact("timers", subject).value == "mdcheck_start.timer", "a masked timer does not start"
    write(tmp_path / ETC / "timers.target.wants/fstrim.timer", "/dev/null", link=True)
    assert fact("timers", subject).value == "mdcheck_start.timer"


def test_a_unit_of_etc_hides_a_mask_elsewhere(subject: Subject, tmp_path: Path) -> None:
    (tmp_path / LIB / "fstrim.timer").unlink()
    write(tmp_path / LIB / "fstrim.timer", "/dev/null", link=True)
    assert fact("timers", subject).value == "none"
    write(tmp_path / ETC / "fstrim.timer", "[Timer]")
    assert fact("timers", subject).value == "fstrim.timer"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("proc/2/comm", "bash", "may be another machine's files"),
        ("proc/1/comm", "init", "systemd does not run the machine"),
        (f"{ETC}/timers.target.wants", "a file", "pass"),
    ],
)
def test_timers_that_cannot_be_known(
    path: str, value: str, said: str, subject: Subject, tmp_path: Path
) -> None:
    place = tmp_path / path
    if place.is_dir():
        for entry in place.iterdir():
            entry.unlink()
        place.rmdir()
        assert fact("timers", subject).verdict == said, "systemd has none switched on"
        return
    write(place, value)
    assert fact("timers", subject).verdict == "unknown"
    assert said in fact("timers", subject).meaning


def powered(subject: Subject, *, hours: int, cycles: int) -> AuditFact:
    smart = parse_smart(nvme_images.smart(power_on_hours=hours, power_cycles=cycles), None)
    said = Nvme(controller=None, namespace=None, features=Features(), smart=smart, errors=None, firmware=None)
    return fact("uptime", replace(subject, answers=said))


def test_powered_time_is_known_since_the_start(subject: Subject, tmp_path: Path) -> None:
    write(tmp_path / "proc/uptime", "7200.00 100.00")
    assert (fact("uptime", subject).verdict, fact("uptime", subject).meaning) == (
        "differs",
        "2.0 h since the machine's start",
    )
    assert powered(subject, hours=9000, cycles=40).meaning == "2.0 h since the machine's start"
    since_the_only = powered(subject, hours=5, cycles=1)
    assert (since_the_only.verdict, since_the_only.meaning) == (
        "pass",
        "5 h since the drive's only power-on",
    )


def test_a_drive_that_was_attached_later_is_not_powered_as_long_as_the_machine(
    subject: Subject, tmp_path: Path
) -> None:
    write(tmp_path / "proc/uptime", "864000.00 100.00")
    attached = powered(subject, hours=1, cycles=3)
    assert (attached.verdict, attached.value) == ("differs", "7200")
    assert attached.meaning == "240.0 h since the machine's start, but the drive counts 1 h in all"
    assert powered(subject, hours=9000, cycles=3).verdict == "pass"
