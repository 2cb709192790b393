"""What a drive says of itself as a sentence, text, data, a table and HTML; the command prints the same."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iogauge
from iogauge.cli import main
from iogauge.library.drive import info
from iogauge.machine.ata.identity import parse_identity, parse_words
from iogauge.machine.ata.port import Ata
from iogauge.machine.ata.read import read_answers
from iogauge.machine.drive import Drive
from iogauge.machine.nvme.read import read_nvme
from iogauge.machine.unread import Unread
from iogauge.schema import TargetFacts
from tests import nvme_images as images
from tests.fast.machine.ata import ata_images

FACTS = TargetFacts(
    path="/dev/nvme0n1", kind="block", size_bytes=1_000_204_886_016, device="nvme0n1", model="Laptop SSD",
    serial="L1", firmware="F2", link_Bps=3_938_461_538, logical_block_bytes=512,
)  # fmt: skip
IDENTITY = (Path(__file__).parents[1] / "machine" / "qemu-sata.txt").read_text()


def nvme(drive: images.Images, *, sensor_C: float | None = None) -> iogauge.DriveInfo:
    answers, unread = read_nvme(drive)
    return iogauge.DriveInfo("/dev/nvme0n1", Drive(FACTS, sensor_C, nvme=answers, unread=tuple(unread)))


def without_root() -> iogauge.DriveInfo:
    why = "/dev/nvme0n1: opening it failed: Permission denied"
    unread = tuple(Unread(name, why, "run as root") for name in ("power states", "SMART"))
    return iogauge.DriveInfo("/dev/nvme0n1", Drive(FACTS, 38.85, unread=unread))


def sata(drive: ata_images.Images | None = None) -> iogauge.DriveInfo:
    """Return a SATA drive that answers, or one that could not be asked."""
    ata = Ata("6.0 Gbps", "6.0 Gbps", "med_power_with_dipm", parse_identity(parse_words(IDENTITY)))
    facts = FACTS.model_copy(update={"device": "sda", "path": "/dev/sda"})
    if drive is None:
        unread = (Unread("SMART", "/dev/sda: opening it failed: Permission denied", "run as root"),)
        return iogauge.DriveInfo("/dev/sda", Drive(facts, 35.0, ata=ata, unread=unread))
    answers, missing = read_answers(drive)
    return iogauge.DriveInfo(
        "/dev/sda", Drive(facts, 35.0, ata=replace(ata, answers=answers), unread=tuple(missing))
    )


def virtual() -> iogauge.DriveInfo:
    facts = TargetFacts(path="/dev/vda", kind="block", size_bytes=1 << 38, device="vda")
    return iogauge.DriveInfo("file", Drive(facts, None, restriction="it is virtual"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "Laptop SSD, 1.000 TB, firmware F2: healthy, 3 % worn, 41 C, 1,234 h on."),
        (
            {"critical_warning": 8},
            "Problem: the media are read-only. Laptop SSD, 1.000 TB, firmware F2: 3 % worn, 41 C, 1,234 h on.",
        ),
        (
            {"media_errors": 3, "percent_used": 101},
            "Problems: data could not be recovered 3 times; 101 % of its rated endurance is used. "
            "Laptop SSD, 1.000 TB, firmware F2: 101 % worn, 41 C, 1,234 h on.",
        ),
    ],
)
def test_the_answer_has_what_is_wrong_first(fields: dict[str, int], expected: str) -> None:
    drive = nvme(images.laptop(**fields))
    assert drive.answer == expected
    assert drive.healthy is (not fields)
    assert repr(drive) == f"<DriveInfo {expected}>"


def test_without_root_the_answer_says_so_and_the_rest_is_there() -> None:
    drive = without_root()
    assert drive.answer == "Laptop SSD, 1.000 TB, firmware F2: health unknown (run as root), 39 C."
    assert (drive.healthy, drive.problems, drive.nvme) == (None, None, None)
    text = " ".join(str(drive).split())
    assert (
        "Not read power states and SMART: /dev/nvme0n1: opening it failed: Permission denied (run as root) In Linux"
    ) in text
    assert "3,938 MB/s" in text


def test_a_sata_and_a_virtual_drive() -> None:
    assert sata().answer == ("Laptop SSD, 1.000 TB, firmware F2: health unknown (run as root), 35 C.")
    assert sata(ata_images.ssd()).answer == (
        "Laptop SSD, 1.000 TB, firmware F2: healthy, 3 % worn, 41 C, 1,234 h on."
    )
    assert sata(ata_images.ssd(health=ata_images.FAILING)).answer == (
        "Problem: SMART predicts that the drive fails soon. Laptop SSD, 1.000 TB, firmware F2: 3 % worn, 41 C, "
        "1,234 h on."
    )
    text = str(sata())
    assert "link power         med_power_with_dipm" in text
    assert "queue depth        32" in text
    text = str(sata(ata_images.ssd(a5=10)))
    assert "  power mode         active or idle\n" in text
    assert "  5 reallocated sectors    100    100         10                    0\n" in text
    assert "  temperature        41 C (lowest -5 C, highest 66 C, limit 70 C)\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert virtual().answer == "vda, 274.9 GB: it is virtual."


def test_the_text_has_power_states_features_smart_and_errors() -> None:
    text = str(nvme(images.laptop()))
    rows = [line.split() for line in text.splitlines()]
    assert [
        "0",
        "now",
        "yes",
        "2",
        "after",
        "100",
        "ms",
        "6.2",
        "W",
        "0.45",
        "W",
        "5.5",
        "W",
        "-",
        "-",
    ] in rows
    assert ["3", "no", "-", "5", "mW", "-", "-", "5,000", "us", "45,000", "us"] in rows
    for line in (
        "  write cache        off",
        "  interrupts         delayed until 8 completions wait, at most 200 us",
        "  APST               on",
        "  host memory        64 MiB (the drive prefers 64 MiB)",
        "  throttling         lightly from 75 C on, heavily from 80 C on",
        "  alarm to the host  above 80 C or below -5 C",
        "  written            512.0 GB in 44,000,000 commands",
        "  firmware           slot 1: F2 (active), slot 2: F3 (after reset)",
        "  block formats      512 B (good, now), 4 KiB (best)",
    ):
        assert line in text.splitlines()
    assert "unrecovered read error" in text
    assert "APST is off" not in text


def test_apst_that_is_off_is_said() -> None:
    drive = images.laptop()
    drive.features[12, 0] = (0, drive.features[12, 0][1])
    text = str(nvme(drive))
    assert "APST is off: the drive enters no state by itself." in text
    assert "  APST               off" in text.splitlines()


def test_what_a_drive_does_not_have_is_said() -> None:
    text = str(nvme(images.recorded()))
    for line in (
        "  APST               the drive has none",
        "  host memory        the drive uses none",
        "  interrupts         not delayed (no coalescing)",
        "  sanitize           not supported",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize(
    "drive",
    [
        nvme(images.laptop()),
        nvme(images.recorded()),
        without_root(),
        sata(),
        sata(ata_images.ssd()),
        virtual(),
    ],
)
def test_every_form_holds_every_drive(drive: iogauge.DriveInfo) -> None:
    assert max(map(len, str(drive).splitlines())) <= 80
    data = drive.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False))["answer"] == drive.answer
    assert drive.answer in drive._repr_html_()
    table = drive.to_arrow()
    assert table.column_names == ["fact", "text", "value"]
    assert drive.to_polars().shape[0] == table.num_rows > 5
    again = pickle.loads(pickle.dumps(drive))
    assert again == drive


def test_facts_are_named_by_their_place() -> None:
    rows = {row["fact"]: row for row in nvme(images.laptop()).to_arrow().to_pylist()}
    assert rows["nvme.smart.used_percent"]["value"] == 3
    assert rows["nvme.controller.power_states.2.exit_us"]["value"] == 1500
    assert rows["nvme.controller.apst"] == {"fact": "nvme.controller.apst", "text": "True", "value": 1.0}
    assert rows["nvme.controller.model"]["value"] is None
    # What is not reported has no row.
    assert "nvme.controller.power_states.0.entry_us" not in rows


@given(seed=st.binary(min_size=1, max_size=40))
def test_any_answers_of_a_drive_can_be_printed(seed: bytes) -> None:
    noise = (seed * 4096)[:4096]
    drive = images.laptop()
    drive.structures = {1: noise[:263] + b"\x03" + noise[264:], 0: noise}
    drive.features = {key: (int.from_bytes(noise[:4], "little"), noise[:256]) for key in drive.features}
    drive.logs = dict.fromkeys(drive.logs, noise[:512])
    shown = nvme(drive)
    assert str(shown)
    assert shown._repr_html_()
    assert shown.to_arrow().num_rows
    json.dumps(shown.to_dict(), allow_nan=False)


def test_a_model_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(iogauge.UsageError, match="a drive model does not say anything") as caught:
        iogauge.drive_info("model:p4800x")
    assert caught.value.hint == "see its numbers: iogauge.model('p4800x')"
    assert main(["drive-info", "model:p4800x"]) == 2
    assert capsys.readouterr().err.endswith("hint: see its numbers: iogauge model show p4800x\n")


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drive-info", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/nowhere: opening it failed: No such file or directory\nhint: check the path\n"
    )


def test_the_command_prints_what_the_library_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = nvme(images.laptop())
    monkeypatch.setattr(info, "read_drive", lambda path: drive.drive)
    assert main(["drive-info", "/dev/nvme0n1"]) == 0
    assert capsys.readouterr() == (str(drive), "")
    assert main(["drive-info", "/dev/nvme0n1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(drive.to_dict()))
    assert iogauge.drive_info("/dev/nvme0n1") == drive
