"""No output reaches a block device or a target, whichever option names it. Needs root, for loop devices."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iogauge.cli import main

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("losetup") is None, reason="needs losetup"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]

IMPORTED = Path(__file__).resolve().parents[2] / "fast" / "imports" / "diskspd.xml"
CONTENT = bytes(range(256)) * (1 << 12)
JOB = ("--name=reader", "--rw=read", "--size=64k", "--bs=64k", "--direct=0", "--no-ceiling")
NULL = ("--name=x", "--ioengine=null", "--rw=read", "--size=64k", "--number_ios=1", "--no-ceiling")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def disk(image: Path) -> Iterator[str]:
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    yield done.stdout.strip()
    subprocess.run(["losetup", "-d", done.stdout.strip()], check=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reviews") / "saved"
    assert main(["import", str(IMPORTED), f"--output={path}"]) == 0
    return path


Refused = Callable[..., None]


@pytest.fixture
def refused(image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    monkeypatch.chdir(image.parent)

    def refuse(why: str, *arguments: str) -> None:
        capsys.readouterr()
        assert main(list(arguments)) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err
        assert image.read_bytes() == CONTENT

    return refuse


@pytest.mark.parametrize("option", ["--output={}", "--request-log={}"])
def test_no_result_of_a_run_is_written_to_a_block_device(
    refused: Refused, image: Path, disk: str, option: str
) -> None:
    refused(f"{disk}: is a block device", "run", *NULL, option.format(disk))
    refused(f"{disk}: is a block device", "run", *NULL, "--parse-only", f"--output={disk}")


def test_no_result_of_reviews_is_written_to_a_block_device(
    refused: Refused, image: Path, disk: str, saved: Path
) -> None:
    why, name = f"{disk}: is a block device", str(saved)
    refused(why, "report", name, f"--output={disk}")
    refused(why, "report", name, "--format=md", f"--output={disk}")
    refused(why, "compare", name, "published", f"--output={disk}")
    refused(why, "export", name, f"--parquet={disk}")
    refused(why, "query", "select 1", name, f"--parquet={disk}")
    (image.parent / "csv").mkdir()
    (image.parent / "csv" / "intervals.csv").symlink_to(disk)
    refused("is a block device", "export", name, f"--csv={image.parent}/csv")


def test_no_log_of_a_job_is_written_to_a_block_device(refused: Refused, image: Path, disk: str) -> None:
    (image.parent / "log_bw.1.log").symlink_to(disk)
    refused("is a block device", "run", *NULL, "--write_bw_log=log", "--log_avg_msec=100")


def test_no_output_is_written_over_what_a_loop_device_reads(refused: Refused, image: Path, disk: str) -> None:
    for option in ("--output=disk.img", "--request-log=disk.img"):
        refused("is in use: loop device", "run", *JOB, f"--filename={disk}", option)
        refused("is the target disk.img", "run", *JOB, "--filename=disk.img", option)


def test_a_read_only_job_keeps_the_target_that_its_log_names(refused: Refused, image: Path) -> None:
    (image.parent / "hard").hardlink_to(image)
    (image.parent / "hard_bw.1.log").hardlink_to(image)
    job = (*JOB, "--filename=disk.img")
    refused("is the target", "run", *job, "--request-log=hard")
    refused("is the target", "run", *job, "--write_bw_log=hard", "--log_avg_msec=100")
    refused("is the target", "review", "disk.img", "--output=disk.img")
