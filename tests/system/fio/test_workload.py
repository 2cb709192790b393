"""Job files mean to iogauge what they mean to fio, by the trace of fio's parser, its summary and its JSON.

Every job file here is our own. Where fio's package brings example files, each of them gives fio's values as well, or
is refused. Needs fio, and neither root nor a device: jobs that run use the null engine.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.workload import from_arguments, load, parse, to_command, to_fio
from tests.fio_parser import AMOUNTS, DIRECTIONS, ENVIRON, SCALARS, assert_like_fio, fio

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")

OURS = Path(__file__).resolve().parents[3] / "examples"
EXAMPLES = Path("/usr/share/doc/fio/examples")

FILES = {
    "globals": """
        ; several [global]s add up, and only for what comes after them
        [global]
        bs=8k,32k
        runtime=1m          ; minutes
        rate=,62500k
        [one]
        rw=randread
        [global]
        bs=16k
        group_reporting
        # a whole line
        [two]
        rw=randwrite:8
        rate=1m,
        [three]
        rw=trimwrite
        bs=,,64k
    """,
    "suffixes": """
        [plain]
        size=1000000
        [binary]
        size=1m
        io_size=3gb
        offset=2Ki
        offset_increment=1mi
        number_ios=10K
        [decimal]
        size=1kib
        bs=1000
        io_size=2MiB
        offset=1gib
        [hex]
        size=0x100000
        randseed=0xff
        [percent]
        size=10%
        io_size=50%
        offset=25%
        offset_increment=5%
        [bytes]
        size=4096B
        fsync=1k
        [reversed]
        kb_base=1000
        size=10k
        offset=10kib
        io_size=1mi
    """,
    "times": """
        [plain]
        runtime=90
        thinktime=250
        thinktime_spin=50
        ramp_time=5
        startdelay=3
        [units]
        runtime=1500ms
        ramp_time=2m
        startdelay=500ms-2s
        thinktime=2ms
        thinktime_spin=100us
        thinktime_blocks=16
        thinktime_blocks_type=issue
        [long]
        runtime=1h
        time_based
        ramp_time=250usec
        startdelay=5-10
        thinktime=1s
        thinktime_iotime=2
        [longer]
        runtime=2d
        time_based=1
        log_avg_msec=500
        log_hist_msec=1k
    """,
    "directions": """
        [one]
        bs=4k
        rate=10m
        percentage_random=30
        ba=8k
        rw=randrw
        [two]
        bs=4k,8k
        rate=,10m
        rate_min=,1m
        percentage_random=50,100
        [three]
        bs=4k,,16k
        rate_iops=100,200,300
        rate_iops_min=10,20
        ba=512,4096,4096
        norandommap
        rw=randread
        [partly]
        bs=8k,
        rate_iops=,500,
        rw=rw
        rwmixwrite=30
    """,
    "depth": """
        [global]
        ioengine=io_uring
        iodepth=32
        fixedbufs
        registerfiles=1
        [polled]
        hipri
        iodepth_batch=8
        iodepth_batch_complete_min=4
        iodepth_batch_complete_max=16
        iodepth_low=8
        [sqpoll]
        sqthread_poll=1
        sqthread_poll_cpu=0
        fixedbufs=0
        [aio]
        ioengine=libaio
        iodepth_batch_submit=4
        iodepth_batch_complete=2
        [sync]
        ioengine=pvsync2
        iodepth=1
        hipri=1
    """,
    "flags": """
        [global]
        thread
        norandommap=1
        [a]
        buffered=0
        stonewall
        zero_buffers
        scramble_buffers=0
        invalidate=0
        clat_percentiles=0
        slat_percentiles=1
        lat_percentiles=1
        [b]
        direct=1
        wait_for_previous
        new_group
        norandommap=0
        randrepeat=0
        loops=3
        fsync=16
        fdatasync=32
        sync=dsync
        continue_on_error=io
        percentile_list=50:99:99.9:99.99999
        [c]
        allrandrepeat=1
        buffer_compress_percentage=40
        dedupe_percentage=30
        sync=1
        write_bw_log
        write_lat_log=mylog
        log_avg_msec=250
    """,
    "distributions": """
        [zoned]
        rw=randread
        random_distribution=zoned:60/10:30/20:8/30:2/40
        [halves]
        rw=randrw
        rwmixread=75
        random_distribution=zoned:50/:50/
        [filled]
        rw=randwrite
        random_distribution=zoned:70/:30/
        [zipf]
        rw=randread
        random_distribution=zipf:1.2:0.25
        [pareto]
        random_distribution=pareto
        [normal]
        random_distribution=normal:20
    """,
    "substitution": """
        [global]
        name=a label
        include common.inc
        [job]
        ioengine=io_uring
        iodepth=${IOGAUGE_TEST_DEPTH}
        directory=.
        numjobs=$ncpus
        size=16*$pagesize
        offset=$pagesize
        include more.inc
    """,
    "spelled_out_defaults": """
        [global]
        gtod_reduce=0
        disable_lat=0
        disable_clat=0
        disable_slat=0
        disable_bw=0
        create_on_open=0
        verify=0
        nrfiles=1
        unified_rw_reporting=none
        [job]
        rw=randread
        fallocate=native
        end_fsync=0
    """,
    "files": """
        [global]
        rw=randread
        [several]
        nrfiles=3
        size=1m
        pre_read=1
        file_service_type=random:2
        filename_format=data-$jobnum.$filenum
        [sized]
        nr_files=2
        filesize=64k
        openfiles=1
        file_service_type=sequential
    """,
    "zones_and_steadiness": """
        [global]
        rw=randread
        size=64m
        [zoned]
        zonemode=strided
        zonesize=256k
        zonerange=1m
        zoneskip=768k
        [implied]
        zonesize=1m
        zonemode=strided
        [steady]
        ss=iops_slope:0.3%
        ss_dur=10
        ss_ramp=5
        runtime=1m
        time_based
        [searched]
        latency_target=50
        latency_window=200ms
        latency_percentile=99.5
        [searched-again]
        latency_target=1ms
        latency_window=2
        latency_run=1
        max_latency=,2ms
        [limited]
        max_latency=50
    """,
    "memory": """
        [global]
        ioengine=libaio
        [huge]
        mem=mmaphuge
        hugepage-size=2m
        lockmem=1m
        iomem_align=4k
        nowait=1
        [shared]
        iomem=shm
        ioengine=pvsync2
        uncached=1
        nowait=0
        [other]
        mem=mmapshared
    """,
    "around": """
        [global]
        rw=write
        size=1m
        exitall_on_error
        exit_what=stonewall
        [first]
        create_only=1
        exec_prerun=true
        [second]
        wait_for=first
        unlink=1
        exec_postrun=false
        ignore_error=EIO,ENOSPC:28
        [third]
        stonewall
        unlink_each_loop=1
        write_lat_log
        log_offset=1
        log_prio=1
        log_entries=2048
        clocksource=clock_gettime
        significant_figures=6
        log_compression=64k
        [fourth]
        wait_for=third
        write_hist_log
        log_hist_msec=100
        log_hist_coarseness=3
        log_max_value=1
        io_submit_mode=offload
        ioengine=libaio
    """,
    "priorities_and_ends": """
        [global]
        ioengine=psync
        rw=randwrite
        [job]
        nice=-5
        prioclass=2
        prio=7
        end_fsync=1
        [other]
        fsync_on_close=1
        prioclass=1
    """,
}  # fmt: skip


def write_files(folder: Path) -> None:
    (folder / "common.inc").write_text("bs=16k ; from a file\n\n# nothing\nrw=randwrite\n")
    (folder / "more.inc").write_text("runtime=10\ninclude deeper.inc\n")
    (folder / "deeper.inc").write_text("time_based\n")


def dedented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("name", FILES)
def test_values_are_those_of_fios_parser(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    path = tmp_path / f"{name}.fio"
    path.write_text(dedented(FILES[name]))
    assert assert_like_fio(path)


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_means_the_same_to_fio(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    jobs = parse(dedented(FILES[name]), source=name, base=tmp_path, environ=ENVIRON)
    path = tmp_path / "written.fio"
    path.write_text(to_fio(jobs))
    assert load(path).jobs == jobs.jobs
    assert_like_fio(path)


# With several [global] sections fio's command has the options of the second at the job before it, and it does not
# quote a blank in a name.
SHOWN = sorted(FILES.keys() - {"globals", "substitution"})


@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_of_fio_and_of_iogauge_are_the_same_jobs(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.fio"
    path.write_text(dedented(FILES[name]))
    jobs = load(path, environ=ENVIRON)
    theirs = shlex.split(fio("--showcmd", str(path), cwd=tmp_path).stdout)
    assert theirs[0] == "fio"
    assert from_arguments(theirs[1:]).jobs == from_arguments(to_command(jobs)).jobs == jobs.jobs
    assert fio("--parse-only", *to_command(jobs), cwd=tmp_path).returncode == 0


def test_every_numeric_option_is_compared(tmp_path: Path) -> None:
    compared: set[str] = set()
    write_files(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / f"{name}.fio"
        path.write_text(dedented(text))
        compared |= assert_like_fio(path)
    assert (SCALARS.keys() | AMOUNTS.keys() | DIRECTIONS.keys()) <= compared


SUMMARIES = """
    [global]
    ioengine=null
    size=1m
    number_ios=2
    [fixed]
    rw=randread
    bs=8k,32k
    [range]
    rw=randwrite
    bsrange=4k-64k,8k:16k
    iodepth=16
    [split]
    stonewall
    rw=randrw
    bssplit=4k/30:16k/70,8k/50:64k/,32k
    [mixed]
    bs=16k
    bssplit=,4k/10:8k/90,
    new_group
"""
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20}


def in_bytes(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(\w+)", text)
    assert match, text
    return float(match[1]) * UNITS[match[2]]


def test_block_sizes_and_groups_are_those_of_fios_summary(tmp_path: Path) -> None:
    path = tmp_path / "summary.fio"
    path.write_text(dedented(SUMMARIES))
    shown = fio(str(path), cwd=tmp_path).stdout
    groups = 0
    for job in load(path).jobs:
        match = re.search(
            rf"^{job.name}: \(g=(\d+)\): rw=(\w+), bs=(.*), ioengine=(\w+), iodepth=(\d+)$", shown, re.M
        )
        assert match, shown
        groups += job.stonewall or job.new_group
        rw = {"readwrite": "rw"}.get(job.rw.value, job.rw.value)
        assert (int(match[1]), match[2], match[4], int(match[5])) == (groups, rw, job.ioengine, job.iodepth)
        theirs = [
            in_bytes(end)
            for low_high in re.findall(r"\([RWT]\) (\S+?)(?:,|$)", match[3])
            for end in low_high.split("-")
        ]
        sizes = (job.bs.read, job.bs.write, job.bs.trim)
        assert theirs == [end for size in sizes for end in (size.minimum_bytes, size.maximum_bytes)]


def test_options_are_those_of_fios_json(tmp_path: Path) -> None:
    path = tmp_path / "options.fio"
    path.write_text(dedented(SUMMARIES))
    shown = json.loads(fio("--output-format=json", str(path), cwd=tmp_path).stdout)
    jobs = load(path)
    assert jobs.global_options == shown["global options"]
    for mine, theirs in zip(jobs.options, shown["jobs"], strict=True):
        # fio leaves bare flags out.
        assert {name: value for name, value in mine.items() if value} == {
            **shown["global options"],
            **theirs["job options"],
        }


REFUSED_BY_BOTH = (
    "iodepht=4", "rw=ranread", "rw = randread", "direct", "direct=2", "iodepth=", "iodepth=0", "size=", "filename=",
    "bsrange=4k", "sync=2", "rwmixread=101", "percentage_random=120", "rate_process=sometimes", "hipri",
    "fixedbufs", "percentile_list=101", "percentile_list=a", "runtime",
    "random_distribution=zoned:50/50:60/50", "random_distribution=pareto:2", "random_distribution=zipf:1",
    "random_distribution=zipf:1.2:3", "bssplit=4k/x:z/50", "percentage_sequential=1", "buffer_compress_percentage=101",
)  # fmt: skip


@pytest.mark.parametrize("line", REFUSED_BY_BOTH)
def test_what_fio_refuses_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.fio"
    path.write_text(f"[job]\n{line}\n")
    with pytest.raises(IogaugeError) as caught:
        load(path)
    assert f"{path}:2: [job]" in str(caught.value)
    assert caught.value.hint
    assert fio("--parse-only", str(path), cwd=tmp_path).returncode != 0


TOGETHER = ("rate=1m\nrate_iops=5", "size=1k\nbs=4k", "rate=1m\nrate_min=2m")


@pytest.mark.parametrize("lines", TOGETHER)
def test_what_fio_refuses_together_is_refused(lines: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.fio"
    path.write_text(f"[job]\nioengine=null\n{lines}\n")
    with pytest.raises(IogaugeError, match=r"bad\.fio:"):
        load(path)
    assert fio(str(path), cwd=tmp_path).returncode != 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.fio")), ids=lambda path: path.name)
def test_fios_own_examples_agree_or_are_refused(path: Path) -> None:
    try:
        load(path, environ=ENVIRON)
    except IogaugeError:
        return
    assert_like_fio(path)


@pytest.mark.parametrize("path", sorted(OURS.glob("*.fio")), ids=lambda path: path.name)
def test_our_examples_mean_the_same_to_fio(path: Path) -> None:
    assert assert_like_fio(path)
