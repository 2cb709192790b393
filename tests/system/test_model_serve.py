"""Other programs on a served drive model: they find it, read back their data, and see the model's latencies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.served import Served, served

pytestmark = pytest.mark.alone

MIB = 1 << 20
DILATION = 400


def ran(*command: str | Path) -> str:
    """Run a program that must not fail; return what it printed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Served]:
    """A P4800X of 16 MiB, its data in memory."""
    with served("p4800x", "--socket", tmp_path / "socket", f"--dilate={DILATION}", "--size=16m") as serving:
        yield serving
    assert serving.status == 0


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file system of 16 MiB with files on it."""
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    for index in range(40):
        (tree / "folder" / f"{index}.bin").write_bytes(os.urandom(index * 4321))
    path = tmp_path / "image"
    ran("mke2fs", "-q", "-t", "ext4", "-d", tree, path, "16m")
    return path


def test_nbdinfo_finds_one_export_and_what_it_can(drive: Served) -> None:
    (export,) = json.loads(ran("nbdinfo", "--json", "--list", drive.uri))["exports"]
    assert export["export-name"] == "p4800x"
    assert export["export-size"] == 16 * MIB
    for ability in ("can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn"):
        assert export[ability], ability
    assert not export["is_read_only"]
    assert export["block_size_minimum"] == 512


def test_no_other_export_is_there(drive: Served) -> None:
    other = drive.uri.replace("p4800x?", "other?")
    done = subprocess.run(["nbdinfo", other], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert ran("nbdinfo", "--size", drive.uri).strip() == str(16 * MIB)


def test_a_file_system_copied_through_it_compares_equal(drive: Served, image: Path, tmp_path: Path) -> None:
    back = tmp_path / "back"
    ran("nbdcopy", "--connections=4", "--flush", image, drive.uri)
    ran("nbdcopy", "--connections=4", drive.uri, back)
    assert back.read_bytes() == image.read_bytes()
    ran("e2fsck", "-f", "-n", back)


def test_qemu_converts_to_it_and_finds_it_the_same(drive: Served, image: Path, tmp_path: Path) -> None:
    ran("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", image, drive.uri)
    assert "identical" in ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, drive.uri)
    back = tmp_path / "back.qcow2"
    ran("qemu-img", "convert", "-f", "raw", "-O", "qcow2", drive.uri, back)
    assert "identical" in ran("qemu-img", "compare", "-f", "raw", "-F", "qcow2", image, back)


def test_a_file_holds_what_was_copied_when_the_server_is_gone(image: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    arguments = ("--tcp=127.0.0.1:0", f"--dilate={DILATION}", "--size=16m", "--store", store)
    with served("p4800x", *arguments) as serving:
        ran("nbdcopy", image, serving.uri)
        # Nobody else may write to it meanwhile.
        with pytest.raises(AssertionError, match="did not begin"), served("p4800x", *arguments):
            pass
    assert store.read_bytes() == image.read_bytes()
    with served("p4800x", *arguments, "--read-only") as serving:
        ran("qemu-img", "compare", "-f", "raw", "-F", "raw", image, serving.uri)
        assert json.loads(ran("nbdinfo", "--json", serving.uri))["exports"][0]["is_read_only"]


FIO = ("--name=x", "--bs=4k", "--size=16m", "--norandommap", "--time_based", "--group_reporting")


def median_ns(printed: str) -> dict[str, float]:
    """Medians of clat in fio's JSON, whatever was printed before it, by direction."""
    (job,) = json.loads(printed[printed.index("{") :])["jobs"]
    sides = {rw: job[rw]["clat_ns"] for rw in ("read", "write") if job[rw]["total_ios"]}
    return {rw: side["percentile"]["50.000000"] for rw, side in sides.items()}


@pytest.mark.parametrize(
    "load",
    [
        ("--rw=randread", "--iodepth=1"),
        ("--rw=randread", "--iodepth=4", "--numjobs=4", "--thread"),
        ("--rw=randwrite", "--iodepth=1"),
    ],
    ids=["read QD1", "read 4x4", "write QD1"],
)
def test_fio_sees_the_medians_of_virtual_time(drive: Served, load: tuple[str, ...]) -> None:
    real = ran(
        "fio", "--ioengine=nbd", f"--uri={drive.uri}", *FIO, *load, "--runtime=4", "--output-format=json"
    )
    virtual = ran(
        *(sys.executable, "-m", "iogauge", "run", "--no-ceiling", "--output-format=json"),
        *("--ioengine=libaio", "--direct=1", "--filename=model:p4800x@ideal", *FIO, *load, "--runtime=100ms"),
    )
    seen = {rw: ns / DILATION for rw, ns in median_ns(real).items()}
    assert seen == pytest.approx(median_ns(virtual), rel=0.10)
