"""What hosts say before anything runs, and in what they differ."""

from __future__ import annotations

import pytest

from iogauge.fleet.control.preflight import judged, look
from iogauge.fleet.host.messages import HostFacts, HostRequest
from iogauge.report.fleet.view import Difference
from iogauge.schema import Audit, AuditFact, TargetFacts
from tests.fast.fleet.control.fake_hosts import MACHINE, FakeHost, FakeLink


def facts(**changes: object) -> HostFacts:
    return FakeHost("x").preflight(request("x")).model_copy(update=changes)


def request(host: str) -> HostRequest:
    return HostRequest(fleet_id="f1", host=host, targets=("model:p4800x",), seed=1)


def test_the_commonest_value_comes_first() -> None:
    other = MACHINE.model_copy(update={"kernel": "6.1"})
    checked = judged(["x", "y", "z"], {"x": facts(machine=other), "y": facts(), "z": facts()}, shared=False)
    assert checked.differences == (Difference(fact="kernel", values=(("6.12", ("y", "z")), ("6.1", ("x",)))),)
    assert checked.ready == ("x", "y", "z")


def test_settings_differ_but_not_those_that_change_by_themselves() -> None:
    def audited(value: str) -> HostFacts:
        fields = {"group": "CPU", "path": "/sys", "meaning": "", "verdict": "pass", "wanted": ""}
        fields |= {"why": "", "source": "", "change": ""}
        settings = (
            AuditFact(id="a", title="governor", value=value, **fields),
            AuditFact(id="b", title="temperature", value=f"4{value}", volatile=True, **fields),
        )
        return facts(audits=(Audit(target=None, device=None, at="", kernel="", facts=settings),))

    checked = judged(["x", "y"], {"x": audited("1"), "y": audited("2")}, shared=False)
    assert [difference.fact for difference in checked.differences] == ["governor"]


def test_another_version_refuses() -> None:
    checked = judged(["x", "y"], {"x": facts(version="9.9"), "y": facts()}, shared=False)
    assert [(host, str(error)[:20]) for host, error in checked.refused] == [("x", "it has iogauge 9.9, ")]
    assert checked.ready == ("y",)


@pytest.mark.parametrize(
    ("drive", "shared", "ready"),
    [
        ("serial S1", False, ("x",)),
        ("serial S1", True, ("x", "y")),
        ("file boot 1:2", True, ("x",)),
        ("network /mnt/disk", False, ("x",)),
        ("network /mnt/disk", True, ("x", "y")),
    ],
)
def test_a_drive_is_one_hosts_unless_it_is_shared(drive: str, shared: bool, ready: tuple[str, ...]) -> None:
    checked = judged(["x", "y"], {"x": facts(drives=(drive,)), "y": facts(drives=(drive,))}, shared=shared)
    assert checked.ready == ready


def test_a_host_with_a_full_disk_refuses() -> None:
    checked = judged(["x", "y"], {"x": facts(free_bytes=1_000_000), "y": facts()}, shared=False)
    assert checked.ready == ("y",)
    assert "1 MB are free" in str(checked.refused[0][1])


def test_what_is_written_is_named_but_no_drive_model() -> None:
    disk = TargetFacts(path="/dev/sdb", kind="block", size_bytes=1)
    checked = judged(
        ["x", "y"], {"x": facts(targets=(disk,)), "y": facts(targets=(disk,), only_reads=True)}, shared=False
    )
    assert checked.writes == (("x", "/dev/sdb"),)


def test_a_host_that_does_not_answer_refuses() -> None:
    hosts = {"x": FakeHost("x"), "y": FakeHost("y"), "z": FakeHost("z")}
    faults = {"y": "hang", "z": "lost"}
    links = {name: FakeLink(host, lambda name, *_: faults.get(name, "")) for name, host in hosts.items()}
    checked = look(links, {name: request(name) for name in hosts}, shared=False, timeout_s=0.1)
    assert checked.ready == ("x",)
    assert [host for host, _ in checked.refused] == ["y", "z"]
