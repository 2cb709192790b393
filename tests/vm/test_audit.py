"""``iogauge audit`` of an emulated NVMe drive: what root reads, what it leaves, and what a user reads."""

from __future__ import annotations

import json
from pathlib import Path

from tests.vm.guest import Guest
from tests.vm.test_drive_info import AS_NOBODY
from tests.vm.test_nvme import drive


def facts(guest: Guest, path: str, *, before: str = "") -> dict[str, dict[str, str]]:
    """Return the facts of an audit by their ids. ``before`` is put before the command."""
    out = guest.sh(f"{before} iogauge audit --json {path}")
    return {fact["id"]: fact for fact in json.loads(out)["facts"]}


def test_the_drive_and_its_queues_are_read(guest: Guest) -> None:
    path = drive(guest, "A1")
    audited = facts(guest, path)
    verdicts = {name: fact["verdict"] for name, fact in audited.items()}
    assert audited["nvme.model"]["value"] == "QEMU NVMe Ctrl"
    assert {
        verdicts[name] for name in ("nvme.state", "nvme.coalescing", "nvme.critical", "block.holders")
    } == {"pass"}
    assert verdicts["virtual.hypervisor"] in ("pass", "differs"), "QEMU's emulated CPU may hide itself"
    assert verdicts["interrupts.affinity"] == "pass", audited["interrupts.affinity"]
    assert audited["interrupts.count"]["verdict"] == "recorded"
    assert verdicts["sata.link_power"] == "not applicable"
    unread = [name for name, fact in audited.items() if "permission" in fact["meaning"]]
    assert unread == [], "root may read everything"


def test_a_change_is_seen(guest: Guest) -> None:
    path = drive(guest, "A1")
    queue = f"/sys/block/{Path(path).name}/queue"
    before = facts(guest, path)
    wanted = before["block.nomerges"]["change"]
    assert before["block.nomerges"]["verdict"] == "differs"
    guest.sh(wanted)
    try:
        assert facts(guest, path)["block.nomerges"]["verdict"] == "pass"
    finally:
        guest.sh(f"echo {before['block.nomerges']['value']} > {queue}/nomerges")


def test_a_user_without_root_reads_less_and_nothing_passes_for_it(guest: Guest) -> None:
    path = drive(guest, "A1")
    for_root = facts(guest, path)
    for_user = facts(guest, path, before=AS_NOBODY)
    unknown = {name for name, fact in for_user.items() if fact["verdict"] == "unknown"}
    assert {"nvme.coalescing", "nvme.critical", "pcie.payload"} <= unknown
    passing = {
        name for name, fact in for_user.items() if fact["verdict"] == "pass" and fact["group"] != "load"
    }
    assert passing <= {name for name, fact in for_root.items() if fact["verdict"] == "pass"}
