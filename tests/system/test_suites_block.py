"""Every suite on RAM-backed block devices, and the layers that one suite sets up on its target. Needs root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.store import Review
from iogauge.suites import SUITES
from iogauge.target import layers, open_target
from iogauge.target.layers import layers_of, layers_over, standing
from tests.suite_runs import assert_whole, cut_down, reviewed, reviewed_whole, targets_of

CONTROL = Path("/sys/class/zram-control")

FEW = ("many-drives", "mixed", "pts-write-saturation", "quick", "stack-overhead", "write-pressure")
"""Suites that CI runs on devices too: one of several targets, one that preconditions, one that sets up layers, one that
searches, and the shortest of the others. The others are left to a release; all run on models, and those of the default
review on files."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not CONTROL.exists(), reason="needs zram"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]


def zrams() -> set[str]:
    """Devices in memory of a layer's size; those of other tests, which run meanwhile, are smaller."""
    sizes = {path.parent.name: path for path in Path("/sys/block").glob("zram*/disksize")}
    return {name for name, path in sizes.items() if _read(path) == str(layers.RAM_BYTES)}


def loops(target: str) -> set[str]:
    """Loop devices over a target."""
    return {
        path.parent.parent.name
        for path in Path("/sys/block").glob("loop*/loop/backing_file")
        if _read(path) == target
    }


def _read(path: Path) -> str:
    """Read a device's attribute; empty when another test has just removed the device."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def assert_gone(target: str, before: tuple[set[str], set[str]]) -> None:
    """Wait until there are the devices of before: one that another process looks into goes once that closes it."""
    deadline_s = time.monotonic() + 60
    while (zrams(), loops(target)) != before and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert (zrams(), loops(target)) == before


@pytest.fixture(scope="module")
def devices() -> Iterator[list[str]]:
    """Two block devices in memory, filled."""
    numbers = []
    try:
        for _ in range(2):
            numbers.append((CONTROL / "hot_add").read_text().strip())
            Path(f"/sys/block/zram{numbers[-1]}/disksize").write_text("32M")
            with open(f"/dev/zram{numbers[-1]}", "wb", buffering=0) as device:  # noqa: PTH123
                device.write(os.urandom(32 << 20))
                os.fsync(device.fileno())
        yield [f"/dev/zram{number}" for number in numbers]
    finally:
        for number in numbers:
            Path(f"/sys/block/zram{number}/reset").write_text("1")
            (CONTROL / "hot_remove").write_text(number)


@pytest.mark.parametrize(
    "suite", [suite if suite in FEW else pytest.param(suite, marks=pytest.mark.release) for suite in SUITES]
)
def test_on_a_block_device(
    suite: str,
    devices: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_down(monkeypatch)
    monkeypatch.setattr(layers, "RAM_BYTES", 16 << 20)
    destroy = [f"--destroy={path}" for path in targets_of(suite, devices)]
    plan = reviewed_whole(suite, devices, tmp_path, capsys, *destroy)
    if suite == "stack-overhead":
        labels = [step["label"] for step in plan["steps"] if step["series"].endswith("depth 1")]
        assert labels == [
            "the generator alone",
            "a device in memory",
            "the target",
            "a loop device over the target",
        ]
        assert len(plan["findings"]) == 6


def test_a_review_that_goes_on_sees_what_others_wrote_to_the_device(
    devices: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_down(monkeypatch)
    path, saved = devices[0], tmp_path / "r"
    options = [
        "--suite=mixed",
        "--runtime=60ms",
        "--state=fresh",
        "--repeats=2",
        "--seed=1",
        f"--destroy={path}",
    ]
    assert main(["review", path, *options, f"--output={saved}"]) == 0
    assert capsys.readouterr().err.count(": purged: ") == 2

    def resumed() -> str:
        """Lose the last step, and go on."""
        review = Review.open(saved)
        review.discard(review.manifest.steps[-1].id)
        assert main(["review", "--resume", str(saved), f"--destroy={path}"]) == 0
        return capsys.readouterr().err

    assert "purged" not in resumed()
    with open(path, "r+b", buffering=0) as device:  # noqa: PTH123
        device.write(os.urandom(1 << 20))
        os.fsync(device.fileno())
    messages = resumed()
    assert (
        "since the review was last saved, 1.049 MB were written to it: it is preconditioned again" in messages
    )
    assert messages.count(": purged: ") == 1
    assert "purged" not in resumed()


def test_what_cannot_be_set_up_is_left_out_with_a_note(
    devices: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_down(monkeypatch)
    monkeypatch.setattr(layers, "_CONTROL", tmp_path / "nowhere")
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = reviewed_whole("stack-overhead", devices, tmp_path, capsys, f"--destroy={devices[0]}")
    assert {step["label"] for step in plan["steps"]} == {"the generator alone", "the target"}
    left_out = [note for note in plan["notes"] if "left out" in note]
    assert left_out[0].startswith("a device in memory left out: this kernel has no zram")
    assert left_out[1].startswith("a loop device over the target left out: ")


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "target.bin"
    path.write_bytes(os.urandom(4 << 20))
    return str(path)


def test_layers_stand_for_as_long_as_they_are_needed(target: str) -> None:
    ram, loop = layers_over(target)
    before = zrams(), loops(target)
    with standing(ram), open_target(ram.path, write=False) as opened:
        assert opened.size_bytes == layers.RAM_BYTES
        for at in (0, layers.RAM_BYTES // 2, layers.RAM_BYTES - 4096):
            assert len(set(os.pread(opened.fd, 4096, at))) > 200
    with standing(loop), open_target(loop.path, write=False) as opened:
        assert os.pread(opened.fd, 4 << 20, 0) == Path(target).read_bytes()
        with pytest.raises(IogaugeError), open_target(loop.path, write=True, destroy=[loop.path]):
            pass
    assert_gone(target, before)
    assert not Path(ram.path).is_symlink()
    assert not Path(loop.path).parent.exists()


def test_trying_layers_leaves_nothing(target: str) -> None:
    with open_target(target, write=False) as opened:
        facts = opened.facts
    before = zrams(), loops(target)
    assert [layer.missing for layer in layers_of(facts)] == ["", ""]
    assert_gone(target, before)


def test_one_process_has_a_layer_at_a_time(target: str) -> None:
    ram, _ = layers_over(target)
    with standing(ram, fill=False):
        program = (
            "import sys; from iogauge.target.layers import *; ram, _ = layers_over(sys.argv[1]);"
            "standing(ram, fill=False).__enter__()"
        )
        command = [sys.executable, "-c", program, target]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert "another iogauge is using it" in other.stderr


def test_what_a_killed_process_left_is_taken_down(target: str) -> None:
    ram, loop = layers_over(target)
    before = zrams(), loops(target)
    program = (
        "import os, sys; from iogauge.target.layers import *; held = [standing(layer, fill=False) "
        "for layer in layers_over(sys.argv[1])]; [each.__enter__() for each in held]; os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, target], check=False)
    assert len(zrams()) == len(before[0]) + 1
    assert len(loops(target)) == len(before[1]) + 1
    for layer in (ram, loop):
        with standing(layer, fill=False):
            assert Path(layer.path).is_block_device()
    assert_gone(target, before)


def test_a_stranger_s_device_of_the_same_name_is_left_alone(target: str, devices: list[str]) -> None:
    """What a link leads to is only taken down where it is the very device that was made."""
    ram, _ = layers_over(target)
    Path(ram.path).parent.mkdir(parents=True, exist_ok=True)
    Path(ram.path).symlink_to(devices[0])
    Path(ram.path).with_suffix(".diskseq").write_text("0")
    with standing(ram, fill=False):
        assert Path(ram.path).resolve() != Path(devices[0])
    assert Path(devices[0]).exists()
    assert int(Path(f"/sys/block/{Path(devices[0]).name}/size").read_text()) == 32 << 11


def test_a_review_over_layers_is_resumed(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The devices are others then; the steps' paths are the same."""
    cut_down(monkeypatch)
    monkeypatch.setattr(layers, "RAM_BYTES", 16 << 20)
    saved = tmp_path / "r"
    new = str(tmp_path / "new.bin")
    # Steps are long enough for a worker that waits for its turn on a busy machine.
    assert_whole(reviewed("stack-overhead", [new], saved, capsys, "--size=16m", "--runtime=500ms"))
    review = Review.open(saved)
    kinds = [step.id for step in review.manifest.steps if ".ram-" in step.id or ".loop-" in step.id]
    assert len(kinds) == 4
    with review.lock():
        for step in reversed(kinds):
            review.discard(step)
    assert main(["review", "--resume", str(saved), "--json"]) == 0
    assert_whole(json.loads(capsys.readouterr().out)["plans"][0])
