"""Samples of an emulated NVMe drive during a run, and the warning of a drive that says it is too warm.

Their cost cannot be measured here: QEMU answers an admin command and the I/O beside it on one emulated CPU.
"""

from __future__ import annotations

import json
from typing import Any

from tests.vm.guest import Guest
from tests.vm.test_drive_info import AS_NOBODY
from tests.vm.test_nvme import drive

RUN = "run --name=x --rw=randread --bs=4k --direct=1 --time_based --no-ceiling --output-format=json"


def sampled(guest: Guest, serial: str, options: str, *, before: str = "") -> tuple[list[dict[str, Any]], str]:
    """Return the samples of a run, and what was said."""
    ran = guest.run(f"{before} iogauge {RUN} --filename={drive(guest, serial)} {options}")
    return json.loads(ran.ok())["iogauge"]["drive_samples"], ran.err


def errors(guest: Guest, serial: str) -> int:
    log = json.loads(guest.sh(f"nvme smart-log {drive(guest, serial)} --output-format=json"))
    return int(log["num_err_log_entries"])


def test_a_run_is_sampled_and_no_command_is_refused(guest: Guest) -> None:
    entries = errors(guest, "A1")
    (samples,), said = sampled(guest, "A1", "--runtime=4")
    assert len(samples["at_ns"]) >= 4
    assert samples["at_ns"] == sorted(samples["at_ns"])
    assert samples["at_ns"][0] < 0 < samples["at_ns"][1]
    # QEMU's drive has 50 C, warns from 70 C on and has one power state.
    assert samples["columns"]["temperature_C"] == [50]
    assert samples["columns"]["power_state"] == [0]
    assert (samples["warning_C"], samples["critical_C"]) == (70, 100)
    assert samples["after"]["read_commands"] > samples["before"]["read_commands"]
    assert (samples["unread"], errors(guest, "A1")) == ("", entries)
    assert "throttled" not in said, "50 C is not too warm"
    assert sampled(guest, "A1", "--runtime=1 --no-drive-samples")[0] == []


def test_an_alarm_of_the_drive_is_a_warning(guest: Guest) -> None:
    number = next(n for n, serial in enumerate(("A1", "B2"), 1) if serial == "B2")
    guest.monitor(
        "qom-set", path=f"/machine/peripheral/nvme{number}", property="smart_critical_warning", value=2
    )
    try:
        (samples,), said = sampled(guest, "B2", "--runtime=2")
    finally:
        guest.monitor(
            "qom-set", path=f"/machine/peripheral/nvme{number}", property="smart_critical_warning", value=0
        )
    assert samples["columns"]["temperature_alarm"] == [1]
    assert "the drive was hot (from 70 C on) for" in said
    assert "and may have throttled" in said


def test_without_root_a_run_goes_on_without_samples(guest: Guest) -> None:
    path = drive(guest, "A1")
    guest.sh(f"chmod o+r {path}")
    samples, said = sampled(guest, "A1", "--runtime=1", before=AS_NOBODY)
    # Without root there is the kernel's sensor at most.
    assert all("power_state" not in one["columns"] for one in samples)
    assert "Traceback" not in said
