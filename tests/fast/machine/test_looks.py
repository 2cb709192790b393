"""What is read of the machine: counters, facts, extents, samples, processes; from made-up trees and real files."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine import extents
from iogauge.machine.compress import sample_data
from iogauge.machine.extents import unwritten_share
from iogauge.machine.facts import cgroup_limits, machine_facts, virtualised
from iogauge.machine.interference import foreign_bytes, other_processes
from iogauge.machine.stat import difference, differences, parse_stat, read_counters, uncounted_commands
from iogauge.machine.watch import Watch
from iogauge.schema import Code, DeviceStat, EngineKind, FilePlan, Rw, StagePlan
from iogauge.target import open_target
from iogauge.target.users.sysfs import Host
from tests import builders, plans

MIB = 1 << 20


def tree(root: Path, files: dict[str, str]) -> Host:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Host(root / "sys", root / "proc")


# --- Counters ------------------------------------------------------------------------------------------------

COLUMNS_17 = "100 1 2000 30 200 2 4000 60 0 70 90 5 0 500 6 7 8"


@pytest.mark.parametrize("columns", [11, 15, 17])
def test_stat_files_of_all_kernels(columns: int) -> None:
    text = " ".join(COLUMNS_17.split()[:columns])
    zeros = parse_stat(" ".join(["0"] * columns))
    stats = difference("sda", zeros, parse_stat(f"   {text}\n"))
    assert (stats.read_ios, stats.read_bytes, stats.read_ns) == (100, 2000 * 512, 30_000_000)
    assert (stats.write_ios, stats.write_bytes, stats.write_ns) == (200, 4000 * 512, 60_000_000)
    assert (stats.read_merges, stats.write_merges) == (1, 2)
    assert (stats.busy_ns, stats.queue_ns) == (70_000_000, 90_000_000)
    assert (stats.trim_ios, stats.trim_ns) == ((5, 6_000_000) if columns >= 15 else (0, 0))
    assert (stats.flush_ios, stats.flush_ns) == ((7, 8_000_000) if columns >= 17 else (0, 0))


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e f g h i j k"])
def test_what_is_no_stat_file(text: str) -> None:
    with pytest.raises(ValueError, match=r"columns|invalid literal"):
        parse_stat(text)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_time_that_wrapped(before: int, passed: int) -> None:
    early = parse_stat(f"0 0 0 {before} 0 0 0 0 0 0 0")
    late = parse_stat(f"0 0 0 {(before + passed) % 2**32} 0 0 0 0 0 0 0")
    assert difference("sda", early, late).read_ns == passed * 10**6


def test_devices_are_read_once_and_told_of_only_where_they_count(tmp_path: Path) -> None:
    host = tree(
        tmp_path,
        {
            "sys/class/block/sda/stat": COLUMNS_17,
            "sys/class/block/sdb/stat": COLUMNS_17,
            "sys/class/block/sdb/queue/iostats": "0",
        },
    )
    targets = [builders.target(f"/x{name}", device=name) for name in ("sda", "sda", "sdb", "gone", None)]
    counters = read_counters(targets, host)
    assert list(counters) == ["sda", "sdb"]
    assert differences(counters, {}, host) == ()
    assert [one.device for one in differences(counters, counters, host)] == ["sda"]
    moved = {name: (*columns[:-1], columns[-1] + 1) for name, columns in counters.items()}
    assert [one.device for one in differences(counters, moved, host)] == ["sda", "sdb"]


@pytest.mark.parametrize(("attribute", "counted"), [("1", True), ("0", False), (None, False)])
def test_commands_are_counted_where_the_kernel_says_so(
    tmp_path: Path, attribute: str | None, counted: bool
) -> None:
    files = {"sys/class/block/nvme0n1/stat": COLUMNS_17}
    if attribute is not None:
        files["sys/class/block/nvme0n1/queue/iostats_passthrough"] = attribute
    host = tree(tmp_path, files)
    targets = [builders.target("/n", device="nvme0n1")]
    for kind, uncounted in ((EngineKind.IO_URING_CMD, not counted), (EngineKind.IO_URING, False)):
        plan = plans.plan(plans.worker(engine=plans.engine(kind=kind), files=(plans.file("/n"),)))
        assert uncounted_commands(plan, targets, host) == (
            frozenset({"nvme0n1"}) if uncounted else frozenset()
        )
        watch = Watch(machine=builders.machine(), host=host)
        watch.started(plan, targets)
        run = builders.record([], target_facts=targets[0], plan=plan.model_dump())
        stats = watch.finished(run, ()).device_stats
        assert [stat.device for stat in stats] == ([] if uncounted else ["nvme0n1"])


def firmware(vendor: str, product: str) -> dict[str, str]:
    return {"sys/class/dmi/id/sys_vendor": f"{vendor}\n", "sys/class/dmi/id/product_name": f"{product}\n"}


# --- Facts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, None),
        ({"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme\n"}, None),
        ({"proc/cpuinfo": "flags\t\t: fpu hypervisor lm\n"}, "the CPU's hypervisor flag (maker not named)"),
        (
            {
                "proc/cpuinfo": "flags: hypervisor",
                "sys/class/dmi/id/sys_vendor": "QEMU\n",
                "sys/class/dmi/id/product_name": "Standard PC\n",
            },
            "the CPU's hypervisor flag (QEMU Standard PC)",
        ),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "firmware: Amazon EC2"),
        ({"sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, None),
        # Clouds name themselves in the firmware of machines without a hypervisor, too: x86 tells by its flags.
        ({"proc/cpuinfo": "flags\t\t: fpu vme\n", **firmware("Amazon EC2", "m5.metal")}, None),
        ({"proc/cpuinfo": "flags\t\t: fpu vme\n", **firmware("Google", "Google Compute Engine")}, None),
        ({"proc/cpuinfo": "Features\t: fp asimd\n", **firmware("Amazon EC2", "c7g.metal")}, None),
        ({"proc/cpuinfo": "Features\t: fp asimd\n", **firmware("Amazon EC2", "m8g.metal-24xl")}, None),
        (
            {"proc/cpuinfo": "Features\t: fp asimd\n", **firmware("Amazon EC2", "c7g.xlarge")},
            "firmware: Amazon EC2 c7g.xlarge",
        ),
        (
            {"proc/cpuinfo": "flags\t\t: fpu vme\n", **firmware("QEMU", "Standard PC")},
            "firmware: QEMU Standard PC",
        ),
        (
            {"proc/cpuinfo": "Features\t: fp asimd\n", **firmware("QEMU", "Metallica")},
            "firmware: QEMU Metallica",
        ),
        ({"sys/hypervisor/type": "xen\n"}, "/sys/hypervisor: xen"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\0"}, "device tree: linux,kvm"),
    ],
)
def test_what_says_that_a_machine_is_virtual(
    tmp_path: Path, files: dict[str, str], words: str | None
) -> None:
    assert virtualised(tree(tmp_path, files)) == words


def test_limits_of_every_group_up_to_the_root(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    host = tree(
        tmp_path,
        {
            "proc/self/mountinfo": f"38 31 0:38 / {mount} rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/outer/inner\n",
            "cgroup/outer/inner/cpu.max": "50000 100000\n",
            "cgroup/outer/cpu.max": "max 100000\n",
            "cgroup/outer/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=max\n",
        },
    )
    assert list(cgroup_limits(host)) == [
        "cpu.max=50000 100000 (in /outer/inner)",
        "io.max=8:0 rbps=1048576 wbps=max riops=max wiops=max (in /outer)",
    ]


def test_limits_of_the_older_hierarchy(tmp_path: Path) -> None:
    mount = tmp_path / "cpu"
    host = tree(
        tmp_path,
        {
            "proc/self/mountinfo": f"32 31 0:29 / {mount} rw - cgroup cgroup rw,cpu,cpuacct\n",
            "proc/self/cgroup": "2:cpu,cpuacct:/jail\n1:name=systemd:/\n",
            "cpu/jail/cpu.cfs_quota_us": "25000\n",
            "cpu/cpu.cfs_quota_us": "-1\n",
        },
    )
    assert list(cgroup_limits(host)) == ["cpu.cfs_quota_us=25000 (in /jail)"]


def test_this_machine() -> None:
    facts = machine_facts()
    assert facts.hostname == os.uname().nodename
    assert os.uname().release in facts.kernel
    assert 1 <= facts.cpus_allowed <= facts.cpus
    assert facts.memory_bytes > 100 * MIB


# --- Never-written extents -----------------------------------------------------------------------------------


@pytest.fixture(params=["fiemap", "seek"])
def asking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to ask a filesystem."""
    if request.param == "seek":

        def unsupported(*_: object) -> None:
            raise OSError(errno.EOPNOTSUPP, "")

        monkeypatch.setattr(fcntl, "ioctl", unsupported)
    return str(request.param)


def share_of(path: Path, start: int, length: int) -> float | None:
    with path.open("rb") as file:
        return unwritten_share(file.fileno(), offset_bytes=start, length_bytes=length)


def test_a_sparse_file_is_unwritten_where_it_has_holes(tmp_path: Path, asking: str) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(8 * MIB)
        file.seek(2 * MIB)
        file.write(os.urandom(2 * MIB))
        file.flush()
        os.fsync(file.fileno())
    assert share_of(path, 0, 8 * MIB) == pytest.approx(0.75)
    assert share_of(path, 2 * MIB, 2 * MIB) == 0
    assert share_of(path, 3 * MIB, 2 * MIB) == pytest.approx(0.5)
    assert share_of(path, 4 * MIB, 4 * MIB) == 1
    assert share_of(path, 0, 0) is None


def test_a_preallocated_file_is_unwritten(tmp_path: Path, asking: str) -> None:
    path = tmp_path / "preallocated.bin"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 4 * MIB)
        os.pwrite(file.fileno(), os.urandom(MIB), 0)
        os.fsync(file.fileno())
        # Where the filesystem preallocates by writing zeros, every block is written and nothing is to be found.
        if os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 4 * MIB:
            pytest.skip("this filesystem does not mark preallocated extents")
    assert share_of(path, 0, 4 * MIB) == pytest.approx(0.75)


def test_a_file_that_iogauge_made_is_written(tmp_path: Path, asking: str) -> None:
    with open_target(str(tmp_path / "ours.bin"), write=False, size_bytes=4 * MIB) as target:
        assert unwritten_share(target.fd, length_bytes=4 * MIB) == 0


def test_many_extents_are_looked_at_within_bounds(
    tmp_path: Path, asking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extents, "_BATCH", 4)
    monkeypatch.setattr(extents, "_MOST_EXTENTS", 16)
    path = tmp_path / "holes.bin"
    step = 64 << 10
    with path.open("wb") as file:
        for index in range(64):
            os.pwrite(file.fileno(), b"x" * (step // 2), index * step)
        os.ftruncate(file.fileno(), 64 * step)
        os.fsync(file.fileno())
    assert share_of(path, 0, 64 * step) == pytest.approx(0.5, abs=0.04)


# --- Samples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "zeros", "saved", "repeated"),
    [
        (bytes(MIB), 1.0, 0.99, 0.98),
        (os.urandom(MIB), 0.0, 0.0, 0.0),
        (b"".join(os.urandom(2048) + bytes(2048) for _ in range(256)), 0.0, 0.49, 0.0),
        (os.urandom(4096) * 256, 0.0, 0.0, 0.98),
        (os.urandom(MIB // 2) + bytes(MIB // 2), 0.5, 0.5, 0.48),
    ],
    ids=["zeros", "random", "half of each block", "one block again and again", "half of the file"],
)
def test_samples(tmp_path: Path, data: bytes, zeros: float, saved: float, repeated: float) -> None:
    path = tmp_path / "data"
    path.write_bytes(data)
    with path.open("rb") as file:
        sample = sample_data(file.fileno(), length_bytes=len(data))
    assert sample
    assert sample.blocks == 64
    assert sample.zero_share == zeros
    assert sample.saved_share == pytest.approx(saved, abs=0.02)
    assert sample.repeated_share == pytest.approx(repeated, abs=0.02)


def test_a_sample_stays_in_its_region(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(MIB) + os.urandom(MIB) + bytes(MIB))
    with path.open("rb") as file:
        sample = sample_data(file.fileno(), offset_bytes=MIB, length_bytes=MIB)
        assert sample
        assert sample.zero_share == 0
        assert sample == sample_data(file.fileno(), offset_bytes=MIB, length_bytes=MIB)
        assert sample_data(file.fileno(), offset_bytes=9 * MIB, length_bytes=MIB) is None
        small = sample_data(file.fileno(), length_bytes=10_007)
        assert small
        assert small.blocks == 2


# --- Somebody else -------------------------------------------------------------------------------------------


def test_another_process_with_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "shared.bin"
    path.write_bytes(b"x")
    link = tmp_path / "link"
    link.symlink_to(path)
    program = "import sys; file = open(sys.argv[1]); print(flush=True); input()"
    with (
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other,
        path.open(),
    ):
        assert other.stdout
        assert other.stdin
        other.stdout.readline()
        users = other_processes([builders.target(str(link)), builders.target(str(tmp_path / "gone"))])
        other.stdin.close()
    assert list(users) == [str(link)]
    (name,) = users[str(link)]
    assert f"(pid {other.pid})" in name


def counted(read: int, written: int) -> DeviceStat:
    fields = dict.fromkeys(DeviceStat.model_fields, 0)
    return DeviceStat.model_validate({**fields, "device": "sda", "read_bytes": read, "write_bytes": written})


@pytest.mark.parametrize(
    ("read", "written", "filesystem", "beyond"),
    [
        (100 * MIB, 100 * MIB, False, (0, 0)),
        (104 * MIB, 104 * MIB, False, (0, 0)),
        (120 * MIB, 100 * MIB, False, (20 * MIB, 0)),
        (100 * MIB, 150 * MIB, False, (0, 50 * MIB)),
        (100 * MIB, 150 * MIB, True, (0, 0)),
        (100 * MIB, 250 * MIB, True, (0, 150 * MIB)),
        (50 * MIB, 0, False, (0, 0)),
    ],
)
def test_bytes_that_were_not_ours(read: int, written: int, filesystem: bool, beyond: tuple[int, int]) -> None:
    foreign = foreign_bytes(
        counted(read, written),
        own_read_bytes=100 * MIB,
        own_write_bytes=100 * MIB,
        through_filesystem=filesystem,
    )
    assert foreign == beyond


# --- Around a run --------------------------------------------------------------------------------------------


def test_a_watch_adds_what_it_saw(tmp_path: Path) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(MIB)
    with open_target(str(path), write=False) as target:
        plan = plans.plan(plans.worker(files=(plans.file(str(path), fd=target.fd),)))
        run = builders.record([], target_facts=target.facts, plan=plan.model_dump())
        watch = Watch(machine=builders.machine())
        watch.started(plan, (target.facts,))
        record = watch.finished(run, ())
    codes = [one.code for one in record.warnings]
    assert Code.UNWRITTEN in codes
    assert Code.COMPRESSIBLE in codes
    assert {one.device for one in record.device_stats} <= {target.facts.device}
    assert record.result == run.result


@pytest.mark.parametrize(
    ("written", "looked_at"),
    [
        ([], True),
        ([(0, MIB)], False),
        ([(MIB // 2, MIB), (0, MIB // 2)], False),
        ([(0, MIB // 2)], True),
        ([(4096, MIB)], True),
    ],
)
def test_what_an_earlier_stage_writes_is_not_unwritten(
    tmp_path: Path, written: list[tuple[int, int]], looked_at: bool
) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(2 * MIB)
    with open_target(str(path), write=False) as target:

        def region(offset_bytes: int, length_bytes: int) -> FilePlan:
            bounds = {"region_offset_bytes": offset_bytes, "region_bytes": length_bytes}
            return plans.file(str(path), fd=target.fd, **bounds)

        reader = plans.worker(files=(region(0, MIB),))
        writers = tuple(plans.worker("w", rw=Rw.WRITE, files=(region(*bounds),)) for bounds in written)
        stages = (StagePlan(workers=writers), StagePlan(workers=(reader,)))
        plan = plans.plan().model_copy(update={"stages": stages})
        watch = Watch(machine=builders.machine())
        watch.started(plan, (target.facts,))
        run = builders.record([], target_facts=target.facts, plan=plan.model_dump())
        codes = {one.code for one in watch.finished(run, ()).warnings}
    assert (Code.UNWRITTEN in codes) == (Code.COMPRESSIBLE in codes) == looked_at
