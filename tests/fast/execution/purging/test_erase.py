"""A format or a sanitize: refused unless the drive offers it and nothing else is lost, and followed to its end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.execution import check_purge, purge
from iogauge.execution.purging.erase import checked, erasure_of
from iogauge.machine.nvme.admin import AdminError, Refused
from iogauge.machine.nvme.erase import SanitizeAction
from iogauge.schema import TargetFacts
from iogauge.target import Target, TargetRefused
from iogauge.target.users.sysfs import Host
from tests.fast.machine.nvme.test_erase import sanitize_log
from tests.nvme_images import Images, controller, namespace

FORMAT, MANAGEMENT = 1 << 1, 1 << 3
CRYPTO, BLOCK, OVERWRITE = 1, 2, 4
DONE, RUNNING, FAILED = 1, 2, 3


def numbers(*names: int) -> bytes:
    return b"".join(name.to_bytes(4, "little") for name in names).ljust(4096, b"\0")


@dataclass
class Drive(Images):
    """A drive that notes what erases it, and refuses formats with the statuses of ``refusals``."""

    refusals: list[int] = field(default_factory=list)
    done: list[object] = field(default_factory=list)
    states: list[bytes] = field(default_factory=list)
    """Sanitize logs, one for each time that the log is read; the last stays."""

    def format_namespace(self, word: int) -> None:
        self.done.append(word)
        if self.refusals:
            raise Refused("Format nvm", self.refusals.pop(0))

    def sanitize(self, action: SanitizeAction) -> None:
        self.done.append(action)

    def log_page(self, page: int, size_bytes: int) -> bytes:
        if page != 0x81 or not self.states:
            return super().log_page(page, size_bytes)
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


def drive(
    *states: bytes, others: tuple[int, ...] = (), refusals: tuple[int, ...] = (), **fields: int
) -> Drive:
    """Return a drive with namespace 1 and ``others``, whose controller has ``fields``."""
    images = {1: controller(**{"nn": 1 + len(others), **fields}), 0: namespace(nlbaf=1, flbas=1)}
    return Drive(
        structures=images | {2: numbers(1, *others), 0x10: numbers(1, *others)},
        states=list(states) or [sanitize_log(0)],
        refusals=list(refusals),
    )


def refusal(call: Callable[[], object]) -> str:
    """Return the message and the hint of a refusal."""
    with pytest.raises(TargetRefused) as caught:
        call()
    return f"{caught.value} | {caught.value.hint}"


def test_a_format_erases_the_data_and_keeps_the_block_format() -> None:
    ssd, said = drive(oacs=FORMAT), []
    assert checked("/dev/nvme0n1", "format", ssd).run(said.append) == "formatted (user data erase)"
    assert ssd.done == [0x201]
    assert said == ["/dev/nvme0n1: formatting, which may take minutes; Ctrl-C does not stop it"]


def test_a_drive_that_only_erases_its_key_is_formatted_so() -> None:
    ssd = drive(oacs=FORMAT, fna=1 << 2, refusals=(0x4002,))
    assert checked("p", "format", ssd).run(print) == "formatted (crypto erase)"
    assert ssd.done == [0x201, 0x401]


@pytest.mark.parametrize(("status", "fna"), [(0x002, 0), (0x15, 1 << 2)])
def test_another_refusal_of_a_format_is_the_end(status: int, fna: int) -> None:
    ssd = drive(oacs=FORMAT, fna=fna, refusals=(status,))
    with pytest.raises(AdminError, match="refused Format nvm"):
        checked("p", "format", ssd).run(print)
    assert ssd.done == [0x201]


def test_what_the_drive_does_not_offer_is_refused() -> None:
    assert "does not offer a format | choose purge_by='discard'" in refusal(
        lambda: checked("p", "format", drive(sanicap=BLOCK))
    )
    assert "does not offer a sanitize | choose purge_by='format' or purge_by='discard'" in refusal(
        lambda: checked("p", "sanitize", drive(oacs=FORMAT))
    )
    assert "by overwriting alone, which wears it" in refusal(
        lambda: checked("p", "sanitize", drive(sanicap=OVERWRITE))
    )


@pytest.mark.parametrize("fna", [1, 2])
def test_a_format_that_takes_other_namespaces_is_refused(fna: int) -> None:
    said = refusal(lambda: checked("p", "format", drive(oacs=FORMAT, fna=fna, others=(2, 7))))
    assert "the drive would also erase its namespaces 2 and 7" in said
    assert "nvme delete-ns" in said


def test_a_format_that_takes_its_namespace_alone_is_not() -> None:
    assert checked("p", "format", drive(oacs=FORMAT, others=(2,))).run(print)
    assert checked("p", "format", drive(oacs=FORMAT, fna=3)).run(print)


def test_a_sanitize_takes_every_namespace() -> None:
    said = refusal(lambda: checked("p", "sanitize", drive(sanicap=BLOCK, others=(2,))))
    assert "would also erase its namespace 2" in said


def test_namespaces_of_other_controllers_count() -> None:
    ssd = drive(sanicap=BLOCK, oacs=MANAGEMENT, nn=8)
    ssd.structures[0x10] = numbers(1, 4)
    assert "would also erase its namespace 4" in refusal(lambda: checked("p", "sanitize", ssd))


def test_what_cannot_be_read_is_a_refusal() -> None:
    unlisted = drive(oacs=FORMAT, others=(2,))
    del unlisted.structures[2]
    silent = drive(oacs=FORMAT)
    del silent.structures[1]
    nameless = drive(oacs=FORMAT)
    nameless.namespace_id = 0
    for ssd in (unlisted, silent, nameless):
        assert "whether that is safe cannot be read" in refusal(lambda ssd=ssd: checked("p", "format", ssd))
        assert ssd.done == []


def test_a_sanitize_is_followed_to_its_end() -> None:
    ssd = drive(
        sanitize_log(0, block_s=90),
        sanitize_log(0, block_s=90),
        sanitize_log(RUNNING, 0x1000),
        sanitize_log(RUNNING, 0x8000),
        sanitize_log(RUNNING, 0x8001),
        sanitize_log(DONE),
        sanicap=BLOCK | CRYPTO,
    )
    said: list[str] = []
    waits: list[float] = []
    assert checked("p", "sanitize", ssd).run(said.append, wait=waits.append) == "sanitized (block erase)"
    assert ssd.done == [SanitizeAction.BLOCK]
    assert len(waits) == 3
    assert said == ["p: sanitizing, which the drive expects to take 1 min 30 s", "p: sanitizing, 50 % done"]


def test_a_drive_without_block_erase_erases_its_key() -> None:
    ssd = drive(sanitize_log(0), sanitize_log(0), sanitize_log(DONE), sanicap=CRYPTO | OVERWRITE)
    assert checked("p", "sanitize", ssd).run(print) == "sanitized (crypto erase)"
    assert ssd.done == [SanitizeAction.CRYPTO]


@pytest.mark.parametrize("status", [FAILED, 0, 7])
def test_a_sanitize_that_does_not_complete_is_an_error(status: int) -> None:
    ssd = drive(sanitize_log(0), sanitize_log(0), sanitize_log(status), sanicap=BLOCK)
    with pytest.raises(IogaugeError, match="did not complete the sanitize"):
        checked("p", "sanitize", ssd).run(print)


def test_a_sanitize_that_runs_already_is_refused() -> None:
    assert "is running already" in refusal(
        lambda: checked("p", "sanitize", drive(sanitize_log(RUNNING), sanicap=BLOCK))
    )


def test_an_interrupted_sanitize_continues_in_the_drive_and_says_so() -> None:
    ssd = drive(sanitize_log(0), sanitize_log(0), sanitize_log(RUNNING, 0), sanicap=BLOCK)
    said: list[str] = []

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checked("/dev/nvme0n1", "sanitize", ssd).run(said.append, wait=interrupt)
    assert "continues in the drive" in said[-1]
    assert "nvme sanitize-log /dev/nvme0n1" in said[-1]


def test_a_drive_that_stops_answering_leaves_it_unknown() -> None:
    ssd = drive(sanitize_log(0), sanitize_log(0), sanitize_log(RUNNING), sanicap=BLOCK)

    def vanish(_: float) -> None:
        ssd.states.clear()

    with pytest.raises(IogaugeError, match="is unknown") as caught:
        checked("p", "sanitize", ssd).run(print, wait=vanish)
    assert "continues in the drive" in str(caught.value.hint)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return sysfs with an NVMe namespace that has a partition, two that share a serial number, and a SCSI disk."""
    names = {"nvme0n1": "S0", "nvme1n1": "S1", "nvme1n2": "S1", "sda": "S2"}
    for name, serial in names.items():
        disk = tmp_path / "sys" / "class" / "block" / name
        (disk / "device").mkdir(parents=True)
        (disk / "device" / "serial").write_text(f"{serial}\n")
        (disk / "wwid").write_text(f"eui.{name}\n")
    part = tmp_path / "sys" / "class" / "block" / "nvme0n1" / "nvme0n1p1"
    part.mkdir()
    (part / "partition").write_text("1\n")
    (part.parent.parent / "nvme0n1p1").symlink_to(part)
    return Host(sys=tmp_path / "sys")


def opened(device: str, kind: str = "block") -> Target:
    facts = TargetFacts(path=f"/dev/{device}", kind=kind, size_bytes=1 << 30, device=device)  # type: ignore[arg-type]
    return Target(os.open(os.devnull, os.O_RDONLY), facts=facts, writable=True)


def test_a_path_is_not_enough(host: Host) -> None:
    for destroy in (["/dev/nvme0n1"], ["S1"], []):
        with opened("nvme0n1") as target:
            said = refusal(lambda destroy=destroy: erasure_of(target, "format", destroy=destroy, host=host))
        assert "must name the drive by its serial number, not by a path" in said
        assert "destroy=['S0']" in said
    # It passes, and the next check fails: the descriptor is no drive's.
    with opened("nvme0n1") as target:
        assert "cannot be read" in refusal(lambda: erasure_of(target, "format", destroy=["S0"], host=host))


def test_a_serial_number_that_two_namespaces_share_names_neither(host: Host) -> None:
    with opened("nvme1n2") as target:
        assert "destroy=['eui.nvme1n2']" in refusal(
            lambda: erasure_of(target, "format", destroy=["S1"], host=host)
        )
        assert "cannot be read" in refusal(
            lambda: erasure_of(target, "format", destroy=["eui.nvme1n2"], host=host)
        )


def test_a_part_of_a_namespace_is_refused(host: Host) -> None:
    with opened("nvme0n1p1") as target:
        said = refusal(lambda: erasure_of(target, "format", destroy=["S0"], host=host))
    assert "would erase all of nvme0n1" in said


@pytest.mark.parametrize(("device", "kind"), [("sda", "block"), ("nvme0n1", "file"), ("gone", "block")])
def test_only_a_namespace_can_be_erased_so(device: str, kind: str, host: Host) -> None:
    with opened(device, kind) as target:
        said = refusal(lambda: erasure_of(target, "sanitize", destroy=["S0", "S2"], host=host))
    assert "only an NVMe namespace can" in said


def test_a_file_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir,\n" * 1000)
    for erase in (purge, check_purge):
        assert "only an NVMe namespace can" in refusal(
            lambda erase=erase: erase(str(path), destroy=[str(path)], by="format")
        )
    assert path.read_text().startswith("Dear Sir")
    check_purge("model:ram", destroy=(), by="format")  # it starts every run anew


@pytest.mark.parametrize("target", ["new", "model:ram"])
def test_a_review_that_cannot_be_purged_so_makes_no_file(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--suite=mixed", "--pace=quick", "--state=fresh", "--purge-by=format", "--size=64k"]
    assert main(["review", target, *arguments]) != 0
    said = capsys.readouterr().err
    assert ("only an NVMe namespace can" if target == "new" else "hint: leave it out\n") in said
    assert not list(tmp_path.iterdir())
