"""What hosts say before anything runs, and in what they differ."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.control.preflight import judged, look, with_clocks, with_warnings
from iogauge.fleet.control.unreached import UnreachedLink
from iogauge.fleet.host.messages import HostFacts, HostRequest, Space
from iogauge.report.fleet.view import Difference
from iogauge.schema import Audit, AuditFact, ClockBatch, FleetMode, ModelFacts, TargetFacts
from tests.fast.fleet.control.fake_hosts import MACHINE, FakeHost, FakeLink, manifest_of

MODELLED = ModelFacts(
    drive="d", drive_version=1, machine="m", machine_version=1, machine_title="a machine", sha256=""
)


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
    assert "1.0 MB are free" in str(checked.refused[0][1])


def test_reviews_of_hosts_on_one_filesystem_must_fit_together() -> None:
    def with_space(filesystem: str, needed_bytes: int) -> HostFacts:
        space = Space(filesystem=filesystem, path="/state", free_bytes=100_000_000, needed_bytes=needed_bytes)
        return facts(spaces=(space,))

    answers = {
        "x": with_space("one", 60_000_000),
        "y": with_space("one", 60_000_000),
        "z": with_space("other", 60_000_000),
        "w": with_space("one", 40_000_000),
    }
    checked = judged([*answers], answers, shared=False)
    assert checked.ready == ("x", "z", "w")
    ((host, error),) = checked.refused
    assert (host, str(error)) == (
        "y",
        "100 MB are free at /state, where it may take 60 MB, and other hosts there 60 MB",
    )
    assert error.hint


def test_a_host_that_refuses_takes_no_space_from_others() -> None:
    def space(filesystem: str, needed_bytes: int) -> Space:
        return Space(filesystem=filesystem, path="/state", free_bytes=100_000_000, needed_bytes=needed_bytes)

    answers = {
        "other-version": facts(version="9.9", spaces=(space("one", 60_000_000),)),
        "too-large": facts(spaces=(space("one", 60_000_000), space("two", 200_000_000))),
        "fits": facts(spaces=(space("one", 60_000_000), space("two", 60_000_000))),
        "same-drive": facts(drives=("serial S1",), spaces=(space("three", 60_000_000),)),
    }
    answers = {
        "first": facts(drives=("serial S1",)),
        **answers,
        "late": facts(spaces=(space("three", 60_000_000),)),
    }
    checked = judged([*answers], answers, shared=False)
    assert checked.ready == ("first", "fits", "late")
    assert [host for host, _ in checked.refused] == ["other-version", "too-large", "same-drive"]


def test_a_host_whose_clock_cannot_be_compared_refuses_in_its_place() -> None:
    answers = {name: facts() for name in "xyz"}
    checked = judged(["x", "y", "z"], answers, [("z", IogaugeError("it is away", hint="wait"))], shared=False)
    clock = ClockBatch(host="y", phase="before", at_ns=1, offset_ns=5, bound_ns=3, exchanges=20)
    known = with_clocks(checked, {"y": clock}, [("x", IogaugeError("its clock moved", hint="leave it"))])
    assert [host for host, _ in known.refused] == ["x", "z"]
    assert known.ready == ("y",)
    assert known.clocks["y"].bound_ns == 3


@pytest.mark.parametrize(
    ("stagger_s", "model", "mode", "warned"),
    [
        (30, None, FleetMode.STAGGERED, True),
        (29, None, FleetMode.STAGGERED, False),
        (30, MODELLED, FleetMode.STAGGERED, False),
        (0, None, FleetMode.TOGETHER, False),
    ],
)
def test_staggered_hosts_that_never_run_together_are_warned_of(
    stagger_s: int, model: ModelFacts | None, mode: FleetMode, warned: bool
) -> None:
    disk = TargetFacts(path="/dev/sdb", kind="block", size_bytes=1, modelled=model)
    answers = {name: facts(targets=(disk,), longest_step_s=60) for name in "xyz"}
    manifest = manifest_of([*answers], mode=mode, stagger_ns=stagger_s * 10**9)
    checked = with_warnings(judged([*answers], answers, shared=False), manifest, ["one more"])
    assert checked.warnings[0] == "one more"
    assert [("never all run at the same time" in text) for text in checked.warnings[1:]] == [True] * warned
    if warned:
        assert "stagger below 30 s" in checked.warnings[1].replace("'", "")


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


def test_a_host_whose_process_ends_before_it_answers_refuses() -> None:
    """Dask keeps the question, for a worker of that address."""
    link = FakeLink(FakeHost("x"), lambda *_: "hang")
    link.has_ended = True
    checked = look({"x": link}, {"x": request("x")}, shared=False, timeout_s=100_000)
    assert [(host, str(error)) for host, error in checked.refused] == [("x", "its process ended")]


def test_a_host_that_was_not_reached_refuses_with_the_reason() -> None:
    links = {"x": FakeLink(FakeHost("x")), "y": UnreachedLink("y", IogaugeError("no way", hint="make one"))}
    checked = look(links, {name: request(name) for name in links}, shared=False, timeout_s=60)
    assert checked.ready == ("x",)
    assert [(host, str(error), error.hint) for host, error in checked.refused] == [
        ("y", "no way", "make one")
    ]
