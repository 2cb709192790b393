"""Written jobs are read back as the same jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema import (
    Amount,
    BlockSize,
    Job,
    JobFile,
    NormalDistribution,
    PerDirection,
    UniformDistribution,
)
from iogauge.workload import OPTIONS, parse, to_fio

SIZE = st.sampled_from(["4k", "1000", "64k", "1m", "3g", "7", "1kib", "(3*8k)"])
PERCENT = st.integers(0, 100).map(str)
COUNT = st.integers(1, 10**6).map(str)
TIME = st.sampled_from(["1", "90", "250ms", "17us", "2m", "1h", "1500ms"])
SWITCH = st.sampled_from(["0", "1"])
BLOCK = st.sampled_from(["512", "4k", "8k", "12k", "64k", "1m"])
AMOUNT = st.one_of(
    SIZE.map(lambda size: f"{size}" if size != "7" else "1m"), PERCENT.map(lambda percent: f"{percent}%")
)


def directions(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        value,
        st.tuples(value, value).map(",".join),
        st.tuples(value, value, value).map(",".join),
        value.map(lambda text: f",{text}"),
        value.map(lambda text: f"{text},"),
        value.map(lambda text: f",,{text}"),
        value.map(lambda text: f",{text},"),
    )


def words(*values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


VALUES: dict[str, st.SearchStrategy[str]] = {
    "description": words("a job", "x=y"),
    "numjobs": st.integers(1, 64).map(str),
    "thread": SWITCH, "stonewall": SWITCH, "new_group": SWITCH, "exitall": words("1"), "group_reporting": SWITCH,
    "continue_on_error": words("none", "read", "write", "io", "verify", "all"),
    "filename": words("/dev/x", "a:b", r"a\:b:c"), "directory": words("/mnt", "sub/dir", r"/a:/b\:c"),
    "nrfiles": st.integers(1, 9).map(str), "filename_format": words("x.$filenum", "$jobname/$jobnum"),
    "filesize": words("1m", "3g", "1m-8m"),
    "file_service_type": words(
        "roundrobin:4", "random", "random:3", "sequential", "zipf", "zipf:1.2:0.25", "pareto:0.3", "normal",
        "gauss:10:0.2",
    ),
    "openfiles": words("0", "2", "16"), "fadvise_hint": words("0", "1", "random", "sequential"),
    "create_only": SWITCH, "unlink": SWITCH, "unlink_each_loop": SWITCH,
    "exitall_on_error": words("1"), "exit_what": words("group", "stonewall", "all"),
    "ignore_error": words("EIO", "EIO:5:ENOSPC,28", ",EBUSY:4000"),
    "exec_prerun": words("sync", "echo a > b"), "exec_postrun": words("true"),
    "steadystate": words("iops:5%", "iops_slope:0.3", "bw:10m", "bw_slope:1%", "lat:100us", "lat_slope:3%"),
    "sync_file_range": words("write", "wait_before,write,wait_after:8", "wait_after:3"),
    "steadystate_duration": words("10", "4s", "1m"), "steadystate_ramp_time": TIME,
    "steadystate_check_interval": words("1", "2s"),
    "latency_target": TIME, "latency_window": TIME, "latency_percentile": words("99.9", "100", "0"),
    "latency_run": SWITCH, "max_latency": words("50", "1ms,2ms", ",3s", "10,20,30"),
    "io_submit_mode": words("inline", "offload"), "uncached": words("0", "1"), "nowait": words("0", "1", "3"),
    "mem": words("malloc", "mmap", "mmapshared", "shm", "mmaphuge", "shmhuge"),
    "hugepage-size": words("2m", "1g"), "iomem_align": words("0", "512", "4k"), "lockmem": SIZE,
    "numa_cpu_nodes": words("0", "0-1,3"),
    "numa_mem_policy": words("default", "local", "prefer:1", "bind:0-1", "interleave:0,2"),
    "log_hist_coarseness": st.integers(0, 6).map(str), "log_max_value": words("avg", "max", "both", "0", "1"),
    "log_offset": SWITCH, "log_prio": SWITCH, "log_entries": words("1024", "4096"), "log_compression": words("64m"),
    "log_compression_cpus": words("0-1"), "clocksource": words("cpu", "gettimeofday", "clock_gettime"),
    "gtod_cpu": words("0"), "significant_figures": st.integers(1, 10).map(str),
    "rw": words("read", "write", "randread:8", "randwrite:-3", "randrw:", "randrw", "rw:4k", "write:-8k",
                "trimwrite", "randtrim"),
    "bs": directions(BLOCK),
    "ba": directions(BLOCK),
    "rwmixread": PERCENT, "rwmixwrite": PERCENT, "percentage_random": directions(PERCENT),
    "random_distribution": words("random", "zipf:1.2", "pareto:0.3:0.5", "normal:10", "zoned:50/10:50/90",
                                 "zoned:60/10:40/90,50/50:50/50"),
    "norandommap": SWITCH, "randrepeat": SWITCH, "randseed": COUNT,
    "size": AMOUNT, "io_size": AMOUNT, "offset": AMOUNT, "offset_increment": AMOUNT, "number_ios": COUNT,
    "loops": COUNT,
    "runtime": TIME, "ramp_time": TIME, "startdelay": words("5", "5-10", "20ms-3s"),
    "iodepth": st.integers(1, 256).map(str), "iodepth_batch": st.integers(0, 300).map(str),
    "iodepth_batch_complete_min": st.integers(0, 64).map(str),
    "iodepth_batch_complete_max": st.integers(0, 64).map(str),
    "iodepth_low": st.integers(0, 300).map(str),
    "read_iolog": words("a.log", "/t.trace"), "write_iolog": words("b.log"),
    "read_iolog_chunked": SWITCH, "replay_no_stall": SWITCH,
    "replay_redirect": words("/dev/x", "a:b"), "replay_scale": st.integers(1, 64).map(str),
    "replay_align": words("0", "512", "4096"), "replay_time_scale": words("1", "100", "250"),
    "replay_skip": words("read", "write,sync", "trim"),
    "replay_pacing": words("timed", "closed", "think", "dependent"), "replay_addresses": words("keep", "fold", "fit"),
    "cmdprio_class": words("2", "1,3"), "cmdprio": words("7", "1,0"),
    "cmdprio_percentage": words("10", "10,20", ",5"), "cmdprio_bssplit": words("4k/10:8k/20/2/7,4k/5", "64k/100"),
    "hipri": SWITCH, "fixedbufs": SWITCH, "registerfiles": SWITCH, "sqthread_poll": words("1"),
    "sqthread_poll_cpu": words("0"),
    "rate": directions(SIZE), "rate_process": words("linear", "poisson"),
    "flow": words("0", "5", "1000"), "flow_id": words("0", "7"), "flow_sleep": words("0", "50"),
    "thinktime": TIME, "thinktime_spin": TIME, "thinktime_blocks": COUNT,
    "thinktime_blocks_type": words("complete", "issue"), "thinktime_iotime": TIME,
    "buffer_pattern": words("0xdeadbeef", '"text"-12', "0x1"),
    "refill_buffers": SWITCH, "zero_buffers": SWITCH, "scramble_buffers": SWITCH, "buffer_compress_percentage": PERCENT,
    "dedupe_percentage": PERCENT,
    "verify": words("crc32c", "crc32c-intel", "md5", "sha3-512", "meta", "null", "0"), "do_verify": SWITCH,
    "verify_only": SWITCH, "verify_interval": words("512", "1k", "4k"), "verify_offset": words("100", "0"),
    "verify_pattern": words("0xab", '"text"%o-12', "%o"),
    "verify_pattern_interval": words("0", "512", "4089"), "verify_backlog": COUNT, "verify_backlog_batch": COUNT,
    "trim_percentage": st.integers(0, 100).map(str), "trim_verify_zero": SWITCH, "trim_backlog": COUNT,
    "trim_backlog_batch": COUNT, "verify_state_save": SWITCH, "verify_state_load": SWITCH,
    "verify_write_sequence": SWITCH, "verify_fatal": SWITCH, "verify_dump": SWITCH, "verifysort": SWITCH,
    "experimental_verify": SWITCH,
    "verify_async": st.integers(0, 9).map(str), "verify_async_cpus": words("0-1"),
    "stamp_log": words("stamps.log"),
    "verifysort_nr": COUNT,
    "cpus_allowed": words("0", "0-3,8"), "cpus_allowed_policy": words("shared", "split"), "cpumask": words("5"),
    "direct": SWITCH, "buffered": SWITCH, "invalidate": SWITCH, "pre_read": SWITCH,
    "sync": words("none", "sync", "dsync", "0", "1"),
    "fsync": COUNT, "fdatasync": COUNT, "end_fsync": SWITCH, "fsync_on_close": SWITCH,
    "nice": st.integers(-20, 19).map(str), "prio": st.integers(0, 7).map(str), "prioclass": st.integers(0, 3).map(str),
    "percentile_list": words("50:99.9", "99.9999999", "100"),
    "clat_percentiles": SWITCH, "slat_percentiles": SWITCH, "lat_percentiles": SWITCH,
    "write_bw_log": words("x"), "write_lat_log": words("y"), "write_iops_log": words("z"),
    "gtod_reduce": SWITCH, "disable_lat": SWITCH, "disable_clat": SWITCH, "disable_slat": SWITCH,
    "disable_bw_measurement": SWITCH, "unified_rw_reporting": words("none", "mixed", "both", "0", "1", "2"),
    "per_job_logs": SWITCH, "log_avg_msec": COUNT, "log_hist_msec": COUNT,
}  # fmt: skip
"""Valid values of all options but the special ones, which exclude or need others."""
SPECIAL = {
    "random_generator",
    "name",
    "ioengine",
    "kb_base",
    "bsrange",
    "bssplit",
    "rate_iops",
    "rate_min",
    "rate_iops_min",
    "time_based",
    "write_hist_log",
    "atomic",
    "wait_for",
    "zonemode",
    "zonesize",
    "zonerange",
    "zoneskip",
}

LINES = st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), max_size=12).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in names})
)
EXTRA = st.sampled_from([
    [], ["rate_iops=,500"], ["rate_min=1"], ["rate_iops_min=2"], ["runtime=5", "time_based"],
    ["bsrange=4k-64k,", "rate_iops=100,200"],
    ["bssplit=4k/10:64k/90,8k/50:16k/50,4k"], ["bssplit=,512:1k:2k,"], ["bsrange=,1k-9k", "write_bw_log"],
    ["write_hist_log", "log_hist_msec=500", "write_lat_log"], ["write_hist_log=h", "log_hist_msec=1"],
    ["direct=1", "atomic=1"], ["zonesize=64m", "zoneskip=1m"], ["zonemode=strided", "zonesize=1m", "zonerange=2m"],
])  # fmt: skip


def test_every_option_has_values_or_is_special() -> None:
    assert VALUES.keys() | SPECIAL == {option.name for option in OPTIONS}


@given(st.lists(st.tuples(LINES, EXTRA), min_size=1, max_size=3))
def test_written_jobs_read_back(
    sections: list[tuple[dict[str, str], list[str]]],
) -> None:
    text = ""
    for index, (options, extra) in enumerate(sections):
        lines = ["ioengine=io_uring", *(f"{name}={value}" for name, value in options.items()), *extra]
        text += f"[job {index}]\n" + "\n".join(lines) + "\n"
    try:
        jobs = parse(text, source="a", environ={})
    except IogaugeError:
        return  # Options drawn at random may exclude each other.
    written = to_fio(jobs)
    assert parse(written, source="b", environ={}).jobs == jobs.jobs
    assert to_fio(parse(written, source="b", environ={})) == written


def test_a_written_job_is_short() -> None:
    assert to_fio(Job(name="r")) == "[r]\nrw=read\nbs=4k\nioengine=psync\n"


def test_several_jobs_are_several_sections() -> None:
    file = JobFile(jobs=(Job(name="a"), Job(name="b", stonewall=True)), source="x", options=({}, {}))
    assert to_fio(file).count("[") == 2
    assert parse(to_fio(file), source="y").jobs == file.jobs


SIZES = PerDirection[BlockSize].same(BlockSize(minimum_bytes=512, maximum_bytes=512))
UNWRITABLE = {
    "a name that is [global]": Job(name="global"),
    "a name with a comment": Job(name="a;b"),
    "no name": Job(name=""),
    "a comment in a file's name": Job(name="j", filenames=("/tmp/a#b",)),
    "a variable in a file's name": Job(name="j", filenames=("/tmp/${HOME}",)),
    "a line break": Job(name="j", description="a\nb"),
    "a fraction of a percent": Job(name="j", rwmix_read_percent=33.3),
    "a fraction of a percent of a file": Job(name="j", size=Amount(percent=0.5)),
    "half a microsecond": Job(name="j", thinktime_ns=1500),
    "part of a millisecond": Job(name="j", log_avg_ns=1500),
    "distributions by direction": Job(
        name="j",
        random_distribution=PerDirection(
            read=UniformDistribution(),
            write=NormalDistribution(deviation_percent=5),
            trim=UniformDistribution(),
        ),
    ),
}


@pytest.mark.parametrize("job", UNWRITABLE.values(), ids=UNWRITABLE)
def test_unwritable_jobs_are_errors(job: Job) -> None:
    with pytest.raises(IogaugeError) as caught:
        to_fio(job)
    assert caught.value.hint
